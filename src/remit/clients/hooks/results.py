"""Store the reports of subagents with their verdicts, in private files that are limited in size and number.

A report has files with one base name: `.md` (the text without secrets), `.check.json` (the verdicts), `.merge.json`
(its part in a merge) and `.json` (the entry). The entry is written last, so every listed report is complete.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from remit.clients.hooks.project import CLAIMS
from remit.contract.profiles import PROFILES
from remit.gate.record_store import digest_of, make_private
from remit.gate.session_store import KEPT_DAYS, safe_name
from remit.gate.tool_use import MAX_NAME_LENGTH
from remit.regular_files import read_regular
from remit.secrets.scan import redact, redact_all
from remit.workspace.atomic_write import replace_file

SCHEMA: Literal["remit.kept/1"] = "remit.kept/1"
#: `returned`: sent back for its one correction. `observed`: the report was not checked.
OUTCOMES = ("accepted", "returned", "rejected", "failed", "observed")
#: A longer text is truncated, and its entry has `whole` false.
MAX_TEXT_BYTES = 16_000_000
MAX_CHECK_BYTES = 4_000_000
#: Remit never writes a larger entry.
_MAX_ENTRY_BYTES = 4_000_000
#: The limits of a session: number of reports, and bytes of all their files. The oldest are removed first.
MAX_REPORTS = 200
MAX_SESSION_BYTES = 100_000_000
_MAX_VIOLATIONS = 60
_MAX_FILES = 500
_MAX_REVIEWS = 20
_PATHS = ("files", "changed")
#: The rules whose violations of level L1 are claims that do not hold.
CLAIM_RULES = (PROFILES[CLAIMS].only or frozenset()) - {"unreadable"}
#: Characters of the verified part of a report.
_MAX_PARTIAL = 20_000
#: Characters beyond a limit that are searched for secrets before the text is cut.
_MARGIN = 10_000
_SUFFIXES = (".json", ".check.json", ".merge.json", ".md")


class KeptResult(msgspec.Struct, kw_only=True):
    """The entry of a stored report."""

    schema: Literal["remit.kept/1"] = SCHEMA
    agent: str = ""
    agent_id: str = ""
    outcome: str = ""
    verdict: str = ""
    attempt: int = 1
    at: float = 0.0
    #: Each has rule, line, level, message and help.
    violations: list[dict[str, Any]] = []
    #: The files that an accepted report covers.
    files: list[str] = []
    #: The files that the subagent had edited, if the report was not accepted.
    changed: list[str] = []
    #: The locations that an accepted report cites, each as path and line.
    cited: list[tuple[str, int]] = []
    #: The lines of a report that was not accepted whose claims hold.
    partial: str = ""
    #: The profile that it was checked with; empty for reports of earlier versions.
    profile: str = ""
    #: The failure that a valid report states (Status FAILED), and whether a retry may help.
    failure: str = ""
    recoverable: bool = True
    #: Why the orchestrator has to look at an accepted report: PARTIAL, a low score, blockers.
    reviews: list[str] = []
    digest: str = ""
    #: An estimate: the tokens of the report, and with the first attempt those of the instructions.
    tokens: int = 0
    findings: int = 0
    #: The commit of the project, and the digest of the agent's definition and its model, if they were known.
    commit: str = ""
    definition: str = ""
    model: str = ""
    #: The client's `stop_hook_active`: whether a hook had already made the subagent continue.
    active: bool = False
    whole: bool = True
    has_text: bool = False
    has_check: bool = False
    has_merge: bool = False
    #: The path of its files without their endings.
    base: str = ""

    @property
    def path(self) -> str:
        """The file with its text; empty without one."""
        return self.base + ".md" if self.has_text else ""

    @property
    def check(self) -> str:
        """The file with its verdicts; empty without one."""
        return self.base + ".check.json" if self.has_check else ""

    @property
    def merge(self) -> str:
        """The file with its part in a merge; empty without one."""
        return self.base + ".merge.json" if self.has_merge else ""

    @property
    def is_final(self) -> bool:
        """Whether no corrected report is expected."""
        return self.outcome != "returned"

    @property
    def untrue(self) -> list[str]:
        """What does not hold of its claims, a sentence for each."""
        return [str(claim.get("message")) for claim in untrue_claims(self.violations)]

    @property
    def is_outside_contract(self) -> bool:
        """Whether only its claims were checked: its agent was never asked for a form."""
        return self.profile == CLAIMS


def untrue_claims(violations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the stored violations of claims that do not hold, and not of the form, each once."""
    untrue = [
        violation
        for violation in violations
        if violation.get("level") == "L1" and str(violation.get("rule")) in CLAIM_RULES
    ]
    return list(
        {
            tuple(str(violation.get(name)) for name in ("rule", "line", "message")): violation for violation in untrue
        }.values()
    )


def keep_result(
    folder: str,
    session: str,
    *,
    agent: str,
    agent_id: str,
    outcome: str,
    text: str | None = None,
    check: str = "",
    merge: str = "",
    **about: Any,
) -> KeptResult:
    """Store a report in the gate's folder. `about` has the other fields of `KeptResult`.

    `merge` is the report for a merge as JSON, as it was judged.
    """
    if outcome not in OUTCOMES:
        raise ValueError(f"the outcome of a report must be one of {', '.join(OUTCOMES)}, not {outcome!r}")
    session_folder = _session_folder(folder, session)
    if not os.path.isdir(session_folder):
        remove_expired(folder)
    for path in (os.path.dirname(session_folder), session_folder):
        make_private(path)
    report_digest = digest(text or "")
    is_whole = len((text or "").encode("utf-8", "surrogatepass")) <= MAX_TEXT_BYTES
    if text is not None or about.get("violations"):
        text, about = _without_secrets(text, about)
        check, merge = map(_json_without_secrets, (check, merge))
    judged = {
        ".check.json": check.encode("utf-8", "surrogatepass"),
        ".merge.json": merge.encode("utf-8", "surrogatepass"),
    }
    judged = {ending: document for ending, document in judged.items() if 0 < len(document) <= MAX_CHECK_BYTES}
    data = None if text is None else text.encode("utf-8", "surrogatepass")
    entry = {
        "schema": SCHEMA,
        "agent": agent[:MAX_NAME_LENGTH],
        "agent_id": agent_id[:MAX_NAME_LENGTH],
        "outcome": outcome,
        "digest": report_digest,
        "at": round(time.time(), 3),
        "has_text": data is not None,
        "has_check": ".check.json" in judged,
        "has_merge": ".merge.json" in judged,
        "whole": is_whole,
        **about,
        "violations": [_bounded(violation) for violation in list(about.get("violations") or ())[:_MAX_VIOLATIONS]],
        **{name: [path[:MAX_NAME_LENGTH] for path in list(about.get(name) or ())[:_MAX_FILES]] for name in _PATHS},
        "cited": [[path[:MAX_NAME_LENGTH], line] for path, line in list(about.get("cited") or ())[:_MAX_FILES]],
        "partial": _text(about.get("partial"))[:_MAX_PARTIAL],
        "failure": _text(about.get("failure"))[:MAX_NAME_LENGTH],
        "reviews": [_text(review)[:MAX_NAME_LENGTH] for review in list(about.get("reviews") or ())[:_MAX_REVIEWS]],
    }
    base = _new_base(session_folder, agent_id)
    _write_files(base, data, judged, entry)
    _prune(session_folder, newest=os.path.basename(base))
    return msgspec.convert({**entry, "base": base}, KeptResult)


def _write_files(base: str, report: bytes | None, judged: Mapping[str, bytes], entry: Mapping[str, Any]) -> None:
    """Write the report, its judgements by their endings and, last, the entry that names them."""
    if report is None:
        _remove([base + ".md"])
    else:
        _write(base + ".md", report[:MAX_TEXT_BYTES])
    for ending, document in judged.items():
        _write(base + ending, document)
    _write(base + ".json", json.dumps(entry).encode("ascii"))


def _without_secrets(text: str | None, about: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return a report and the other fields as they are stored: without what looks like a secret.

    Texts are shortened first, to a bit more than what is stored: a search takes time for each character, and a secret
    must not be cut before it is recognised.
    """
    limits = {"partial": _MAX_PARTIAL, "failure": MAX_NAME_LENGTH}
    named: dict[str, Any] = {
        name: redact_all(_text(about[name])[: limit + _MARGIN]) for name, limit in limits.items() if about.get(name)
    }
    if about.get("reviews"):
        cut = [_text(review)[: MAX_NAME_LENGTH + _MARGIN] for review in list(about["reviews"])[:_MAX_REVIEWS]]
        named["reviews"] = redact_all(cut)
    if about.get("violations"):
        violations = list(about["violations"])[:_MAX_VIOLATIONS]
        named["violations"] = redact_all([_bounded(violation, MAX_NAME_LENGTH + _MARGIN) for violation in violations])
    return redact_all(text[: MAX_TEXT_BYTES + _MARGIN] if text else text), {**about, **named}


def _json_without_secrets(document: str) -> str:
    """Return a document as it is stored; one that is too large is not stored."""
    if not document or len(document) > MAX_CHECK_BYTES:
        return document
    # One search of the whole text first: most reports have no secret, and each text of its own costs a search.
    return json.dumps(redact_all(json.loads(document))) if redact(document) != document else document


def list_results(folder: str, session: str) -> list[KeptResult]:
    """Return the reports of a session, the oldest first."""
    session_folder = _session_folder(folder, session)
    return [kept for name in _names(session_folder) if (kept := _load(os.path.join(session_folder, name))) is not None]


def latest_result(folder: str, session: str, agent_id: str) -> KeptResult | None:
    """Return the latest report of one subagent."""
    session_folder, ending = _session_folder(folder, session), "." + safe_name(agent_id)
    for name in reversed(_names(session_folder)):
        if name.endswith(ending) and (kept := _load(os.path.join(session_folder, name))) is not None:
            return kept
    return None


def read_text(kept: KeptResult) -> str:
    """Return the text of a report; "" if no text is stored."""
    return (read_regular(kept.path, MAX_TEXT_BYTES) or b"").decode("utf-8", "replace")


def digest(text: str) -> str:
    """Return a digest by which texts are compared."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


def remove_expired(folder: str, days: float = KEPT_DAYS) -> int:
    """Remove sessions without a new report for this many days, and return their number."""
    oldest = time.time() - days * 86_400
    removed = 0
    try:
        with os.scandir(os.path.join(folder, "results")) as entries:
            old = [
                entry.path
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < oldest
            ]
    except OSError:
        return 0
    for session_folder in old:
        _remove(os.path.join(session_folder, name) for name in _scan(session_folder))
        try:
            os.rmdir(session_folder)
            removed += 1
        except OSError:
            continue
    return removed


def _session_folder(folder: str, session: str) -> str:
    return os.path.join(folder, "results", safe_name(session))


def _new_base(session_folder: str, agent_id: str) -> str:
    """Reserve a new base name and return its path; names sort by time."""
    time_ns = time.time_ns()
    while True:
        base = os.path.join(session_folder, f"{time_ns:020d}.{safe_name(agent_id)}")
        try:
            os.close(os.open(base + ".md", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            time_ns += 1
        else:
            return base


def _write(path: str, data: bytes) -> None:
    replace_file(path, data, mode=0o600, sync=False)


def _scan(session_folder: str) -> list[str]:
    try:
        return sorted(os.listdir(session_folder))
    except OSError:
        return []


def _names(session_folder: str) -> list[str]:
    """Return the base names of complete reports."""
    return [
        name.removesuffix(".json")
        for name in _scan(session_folder)
        if name.endswith(".json") and not name.endswith((".check.json", ".merge.json"))
    ]


def _load(base: str) -> KeptResult | None:
    try:
        kept = msgspec.convert(json.loads(read_regular(f"{base}.json", _MAX_ENTRY_BYTES) or b""), KeptResult)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None
    kept.base = base
    return kept


def _prune(session_folder: str, newest: str) -> None:
    """Remove the oldest reports until the rest is within the limits. The newest report stays in any case."""
    names = [name for name in _names(session_folder) if name != newest]
    sizes = {name: _size(os.path.join(session_folder, name)) for name in (*names, newest)}
    total = sum(sizes.values())
    surplus = len(names) + 1 - MAX_REPORTS
    for name in names:
        if surplus <= 0 and total <= MAX_SESSION_BYTES:
            break
        _remove(os.path.join(session_folder, name + suffix) for suffix in _SUFFIXES)
        surplus -= 1
        total -= sizes[name]


def _size(base: str) -> int:
    """Return the size of all files of a report."""
    total = 0
    for suffix in _SUFFIXES:
        try:
            total += os.stat(base + suffix, follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue


def _bounded(violation: Mapping[str, Any], limit: int = MAX_NAME_LENGTH) -> dict[str, Any]:
    """Return a violation for the entry, with limited texts: some come from the report."""
    texts = {key: str(violation.get(key, ""))[:limit] for key in ("rule", "level", "message", "help")}
    line = violation.get("line")
    return {**texts, "line": line if isinstance(line, int) else 0}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
