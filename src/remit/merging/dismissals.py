"""Findings that a person dismissed, in a file that a team commits: `.remit-dismissals.toml`.

A dismissal covers exactly the titles and rules that the person saw, never a higher severity, and only while the cited
code is the same; its line may change. A finding that has something else as well is shown again, with that remark.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from remit.contract.findings import Severity
from remit.errors import UsageError
from remit.merging.findings import is_kept, low_score
from remit.merging.merge_data import DISMISSED, DISMISSED_BEFORE, Merge, MergedFinding, rank
from remit.merging.titles import folded_title
from remit.workspace.files import SourceFile, Workspace

FILE = ".remit-dismissals.toml"
MAX_BYTES = 4 * 1024 * 1024
#: The most lines of a range that are compared.
_MAX_LINES = 50
_ID_LENGTH = 12
_HEAD = """# Findings that a person dismissed. Commit this file. Entries match by rule or title, path and code.
# `remit dismiss ID --why TEXT` adds an entry, `remit dismiss ID --undo` removes it.
"""
_TOML_ESCAPES = re.compile("[\x7f]")


class Dismissal(msgspec.Struct, frozen=True, kw_only=True):
    """One dismissed finding."""

    id: str
    #: The id of the finding in the report that it was dismissed from.
    finding: str = ""
    path: str = ""
    title: str = ""
    rules: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    #: A digest of the cited lines, without white space; empty if there was no code.
    code: str = ""
    severity: Severity | None = None
    why: str
    by: str = ""
    on: str = ""

    @property
    def subjects(self) -> frozenset[str]:
        """The rules and titles that the person saw."""
        return frozenset({*map(_of_rule, self.rules), *self.titles})

    @property
    def reason(self) -> str:
        """Why a finding is dropped."""
        by, on = f" by {self.by}" if self.by else "", f" on {self.on}" if self.on else ""
        return f"{DISMISSED}{by}{on}: {self.why}"


class _DismissalFile(msgspec.Struct, forbid_unknown_fields=True):
    dismissal: list[Dismissal] = []


def read_dismissals(data: bytes, name: str = FILE) -> list[Dismissal]:
    """Read the entries of a file; raise UsageError if it is not valid."""
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: {len(data) >> 20} MiB; the limit is {MAX_BYTES >> 20} MiB")
    try:
        return msgspec.convert(tomllib.loads(data.decode("utf-8")), _DismissalFile).dismissal
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not a file of dismissals: {error}") from error


def render_dismissals(dismissals: Iterable[Dismissal]) -> str:
    """Return the text of the file, sorted, so that two people who dismiss something rarely conflict."""
    entries = []
    for dismissal in sorted(
        dismissals, key=lambda dismissal: (dismissal.path, dismissal.id, msgspec.json.encode(dismissal))
    ):
        values = {key: value for key, value in msgspec.to_builtins(dismissal).items() if value}
        entries.append("[[dismissal]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items()))
    return "\n".join([_HEAD, *entries]) if entries else _HEAD


def _toml(value: object) -> str:
    """Write a string or a list of strings; JSON strings are TOML strings, except for one character."""
    return _TOML_ESCAPES.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def new_dismissal(finding: MergedFinding, workspace: Workspace | None, why: str, by: str, on: str) -> Dismissal:
    """Return the dismissal of a finding."""
    code = _cited_code(finding, workspace)
    whole = "\0".join((finding.path or "", *sorted(_subjects(finding)), code))
    return Dismissal(
        id=hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_ID_LENGTH],
        finding=finding.id,
        path=finding.path or "",
        title=finding.title,
        rules=tuple(sorted({opinion.rule for opinion in finding.opinions if opinion.rule})),
        titles=tuple(sorted({folded_title(t) for o in finding.opinions if not o.rule for t in o.titles})),
        code=code,
        severity=finding.severity,
        why=" ".join(why.split()),
        by=" ".join(by.split()),
        on=on,
    )


def _of_rule(rule: str) -> str:
    """Return a rule as a subject; a folded title has no colon."""
    return f"rule: {rule}"


def _subjects(finding: MergedFinding) -> frozenset[str]:
    """Return what a finding is about: the rule of each tool, and each title of an agent."""
    rules = {_of_rule(opinion.rule) for opinion in finding.opinions if opinion.rule}
    return frozenset(rules.union(*({folded_title(t) for t in o.titles} for o in finding.opinions if not o.rule)))


def _cited_code(finding: MergedFinding, workspace: Workspace | None) -> str:
    """Return a digest of the cited lines without white space; empty without code."""
    if workspace is None or not finding.path or finding.line is None or finding.line < 1:
        return ""
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile) or finding.line > len(file.lines):
        return ""
    last = min(max(finding.line, finding.end_line or 0), finding.line + _MAX_LINES - 1)
    code = "".join("".join(file.lines[finding.line - 1 : last]).split())
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()[:16] if code else ""


def apply_dismissals(
    findings: Iterable[MergedFinding], dismissals: Sequence[Dismissal], workspace: Workspace | None, threshold: float
) -> list[MergedFinding]:
    """Return findings; those that a person dismissed are dropped, and only those."""
    by_path: dict[str, list[Dismissal]] = defaultdict(list)
    for dismissal in dismissals:
        by_path[dismissal.path].append(dismissal)
    return [_judged(_undismissed(f, threshold), by_path.get(f.path or "", ()), workspace) for f in findings]


def _undismissed(finding: MergedFinding, threshold: float) -> MergedFinding:
    """Return a finding of an earlier merge as if no person had dismissed it."""
    old = {DISMISSED, DISMISSED_BEFORE}.intersection(finding.flags)
    if not old:
        return finding
    reason = finding.reason
    if DISMISSED in old:
        reason = msgspec.UNSET if is_kept(finding, threshold) else low_score(finding, threshold)
    return replace(finding, reason=reason, flags=tuple(flag for flag in finding.flags if flag not in old))


def _judged(finding: MergedFinding, dismissals: Sequence[Dismissal], workspace: Workspace | None) -> MergedFinding:
    subjects = _subjects(finding) if dismissals else frozenset()
    about = [each for each in dismissals if subjects & each.subjects]
    about = [each for each in about if each.code == _cited_code(finding, workspace)]
    covering = [e for e in about if subjects <= e.subjects and rank(finding.severity) <= rank(e.severity)]
    if covering:
        return replace(finding, reason=covering[0].reason, flags=tuple(sorted({*finding.flags, DISMISSED})))
    return replace(finding, flags=tuple(sorted({*finding.flags, DISMISSED_BEFORE}))) if about else finding


def find_finding(merge: Merge, name: str) -> MergedFinding:
    """Return the finding with an id or a location; raise UsageError unless there is exactly one."""
    everything = (*merge.findings, *merge.dropped)
    matching = [finding for finding in everything if finding.id.lower() == name.lower()]
    matching = matching or [finding for finding in everything if name == f"{finding.path}:{finding.line}"]
    if not matching:
        raise UsageError(f"no finding {name!r} in this report; use its id or path:line")
    if len(matching) > 1:
        raise UsageError(f"{len(matching)} findings match {name!r}; use one of {', '.join(f.id for f in matching[:5])}")
    return matching[0]


def find_dismissal(entries: Sequence[Dismissal], name: str) -> Dismissal:
    """Return the entry with an id, or with the id that its finding had; raise UsageError unless there is one."""
    found = [entry for entry in entries if name.lower() in (entry.id, entry.finding.lower())]
    if len(found) != 1:
        named = ", ".join(f"{one.finding or 'no id'} ({one.id})" for one in (found or entries)[:10])
        what = f"{len(found)} dismissals" if found else "no dismissal"
        raise UsageError(f"{what} {name!r}{f'; dismissed: {named}' if named else '; nothing is dismissed'}")
    return found[0]
