"""Reports of subagents as they were sent, with their verdicts: private files, bounded in size and number.

A report is three files of one name: `.md` the text to the byte, `.check.json` what the check said of it, and `.json`
the entry, which is written last, so that what is listed is complete.
"""

# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import json
import os
import time

from remit.gate.model import LONGEST_NAME
from remit.gate.session_store import KEPT_DAYS, make_private, safe_name
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

SCHEMA = "remit.kept/1"
#: `returned`: sent back for its one correction; `observed`: nobody was held to anything.
OUTCOMES = ("accepted", "returned", "rejected", "failed", "observed")
#: Bytes of one text; the rest is cut, and the entry says so.
LARGEST_TEXT = 16_000_000
LARGEST_CHECK = 4_000_000
#: More than the longest entry that can be written.
_LARGEST_ENTRY = 4_000_000
#: Of a session: reports, and bytes of all their files; the oldest go first.
MOST_REPORTS = 200
MOST_BYTES = 100_000_000
_MOST_VIOLATIONS = 60
_MOST_FILES = 500
_ENDINGS = (".json", ".check.json", ".md")


class KeptResult:
    """A report that was kept. `path` and `check` are empty where there is no text or no check."""

    __slots__ = (
        "active",
        "agent",
        "agent_id",
        "at",
        "attempt",
        "changed",
        "check",
        "digest",
        "files",
        "outcome",
        "path",
        "verdict",
        "violations",
        "whole",
        "would",
    )

    def __init__(self, values: Mapping[str, Any], base: str) -> None:
        self.agent = _text(values.get("agent"))
        self.agent_id = _text(values.get("agent_id"))
        attempt, at = values.get("attempt"), values.get("at")
        self.attempt = attempt if isinstance(attempt, int) else 1
        self.at = float(at) if isinstance(at, int | float) else 0.0
        self.outcome = _text(values.get("outcome"))
        self.verdict = _text(values.get("verdict"))
        #: What would have followed, had anybody been held to the contract.
        self.would = _text(values.get("would"))
        #: Each {rule, line, level, message, help}, as the check says them.
        self.violations: list[dict[str, Any]] = _tables(values.get("violations"))
        #: The files that an accepted report covers.
        self.files = [path for path in values.get("files") or () if isinstance(path, str)]
        #: The files that it had written by then.
        self.changed = [path for path in values.get("changed") or () if isinstance(path, str)]
        self.digest = _text(values.get("digest"))
        #: Whether the client said that a hook had already made the subagent go on.
        self.active = values.get("active") is True
        self.whole = values.get("whole") is not False
        self.path = base + ".md" if values.get("has_text") is True else ""
        self.check = base + ".check.json" if values.get("has_check") is True else ""

    @property
    def final(self) -> bool:
        """Whether nothing more is waited for."""
        return self.outcome != "returned"


def keep_result(
    folder: str,
    session: str,
    *,
    agent: str,
    agent_id: str,
    outcome: str,
    text: str | None = None,
    check: str = "",
    **about: Any,
) -> KeptResult:
    """Keep a report; `folder` is the gate's. `about`: attempt, verdict, would, violations, files, changed, active."""
    if outcome not in OUTCOMES:
        raise ValueError(f"a report is kept as one of {', '.join(OUTCOMES)}, not as {outcome!r}")
    place = _place(folder, session)
    if not os.path.isdir(place):
        remove_expired(folder)
    for each in (os.path.dirname(place), place):
        make_private(each)
    data = None if text is None else text.encode("utf-8", "surrogatepass")
    entry = {
        "schema": SCHEMA,
        "agent": agent[:LONGEST_NAME],
        "agent_id": agent_id[:LONGEST_NAME],
        "outcome": outcome,
        "digest": digest(text or ""),
        "at": round(time.time(), 3),
        "has_text": data is not None,
        "has_check": bool(check) and len(check) <= LARGEST_CHECK,
        "whole": data is None or len(data) <= LARGEST_TEXT,
        **about,
        "violations": [_cut(one) for one in list(about.get("violations") or ())[:_MOST_VIOLATIONS]],
        "files": [path[:LONGEST_NAME] for path in list(about.get("files") or ())[:_MOST_FILES]],
        "changed": [path[:LONGEST_NAME] for path in list(about.get("changed") or ())[:_MOST_FILES]],
    }
    base = _fresh(place, agent_id)
    if data is None:
        _remove([base + ".md"])
    else:
        _write(base + ".md", data[:LARGEST_TEXT])
    if entry["has_check"]:
        _write(base + ".check.json", check.encode("utf-8", "surrogatepass"))
    _write(base + ".json", json.dumps(entry).encode("ascii"))
    _prune(place, newest=os.path.basename(base))
    return KeptResult(entry, base)


def list_results(folder: str, session: str) -> list[KeptResult]:
    """What was kept of a session, oldest first."""
    place = _place(folder, session)
    return [kept for name in _names(place) if (kept := _load(os.path.join(place, name))) is not None]


def latest_result(folder: str, session: str, agent_id: str) -> KeptResult | None:
    """The last that was kept of one subagent."""
    place, mark = _place(folder, session), "." + safe_name(agent_id)
    for name in reversed(_names(place)):
        if name.endswith(mark) and (kept := _load(os.path.join(place, name))) is not None:
            return kept
    return None


def read_text(kept: KeptResult) -> str:
    """The text that was kept; nothing where there is none."""
    try:
        with open(os.open(kept.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(LARGEST_TEXT).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def digest(text: str) -> str:
    """Tells one text from another."""
    from remit.lazy import digest as digest_of  # late: a look at the list needs none

    return digest_of(text.encode("utf-8", "surrogatepass"))


def remove_expired(folder: str, days: float = KEPT_DAYS) -> int:
    """Remove sessions in which nothing was kept for so many days; how many that were."""
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
    for place in old:
        _remove(os.path.join(place, name) for name in _scan(place))
        try:
            os.rmdir(place)
            removed += 1
        except OSError:
            continue
    return removed


def _place(folder: str, session: str) -> str:
    return os.path.join(folder, "results", safe_name(session))


def _fresh(place: str, agent_id: str) -> str:
    """A name that nobody has; names sort by time."""
    at = time.time_ns()
    while True:
        base = os.path.join(place, f"{at:020d}.{safe_name(agent_id)}")
        try:
            os.close(os.open(base + ".md", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            at += 1
        else:
            return base


def _write(path: str, data: bytes) -> None:
    replace_file(path, data, mode=0o600, sync=False)


def _scan(place: str) -> list[str]:
    try:
        return sorted(os.listdir(place))
    except OSError:
        return []


def _names(place: str) -> list[str]:
    """The names of complete entries, without their ending."""
    return [
        name.removesuffix(".json")
        for name in _scan(place)
        if name.endswith(".json") and not name.endswith(".check.json")
    ]


def _load(base: str) -> KeptResult | None:
    try:
        with open(os.open(base + ".json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            values = json.loads(file.read(_LARGEST_ENTRY))
    except (OSError, ValueError, RecursionError):
        return None
    return KeptResult(values, base) if isinstance(values, dict) and values.get("schema") == SCHEMA else None


def _prune(place: str, newest: str) -> None:
    """Take the oldest away until the rest is within its bounds; the newest stays, whatever its size."""
    names = [name for name in _names(place) if name != newest]
    sizes = {name: sum(_size(os.path.join(place, name + ending)) for ending in _ENDINGS) for name in (*names, newest)}
    total = sum(sizes.values())
    surplus = len(names) + 1 - MOST_REPORTS
    for name in names:
        if surplus <= 0 and total <= MOST_BYTES:
            break
        _remove(os.path.join(place, name + ending) for ending in _ENDINGS)
        surplus -= 1
        total -= sizes[name]


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue


def _cut(violation: Mapping[str, Any]) -> dict[str, Any]:
    """A violation for the entry; what a report put into it is bounded."""
    words = {key: str(violation.get(key, ""))[:LONGEST_NAME] for key in ("rule", "level", "message", "help")}
    line = violation.get("line")
    return {**words, "line": line if isinstance(line, int) else 0}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tables(value: object) -> list[dict[str, Any]]:
    entries: Sequence[object] = value if isinstance(value, list) else ()
    return [entry for entry in entries if isinstance(entry, dict)]
