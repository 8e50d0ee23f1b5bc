"""Findings that a person dismissed, in a file that a team commits: `.remit-dismissals.toml`.

A dismissal matches by the rule or title of a finding, its path and the cited code, not by its line. If the code
changes, or the finding becomes more severe, it no longer matches. A dismissed finding stays in the merge, as dropped.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from remit.checking import Verdict
from remit.contract.findings import Severity
from remit.errors import UsageError
from remit.merging.adjust import build_report
from remit.merging.merge import merge_reports, revise
from remit.merging.merge_data import SCALE, Merge, MergedFinding, MergeSettings
from remit.merging.naming import leading_opinion
from remit.merging.titles import folded_title
from remit.workspace.files import SourceFile, Workspace

FILE = ".remit-dismissals.toml"
DISMISSED = "dismissed"
MAX_BYTES = 4 * 1024 * 1024
#: The most lines of a range that are part of a fingerprint.
_MAX_LINES = 50
_ID_LENGTH = 12
#: The fewest characters of a fingerprint that identify it.
MIN_PREFIX = 4
_HEAD = """# Findings that a person dismissed. Commit this file. Entries match by rule or title, path and code.
# `remit dismiss ID --why TEXT` adds an entry, `remit restore ID` removes it.
"""
_TOML_ESCAPES = re.compile("[\x7f]")


class Dismissal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    #: How many lines were cited.
    lines: int = 0
    severity: Severity | None = None
    why: str
    by: str = ""
    on: str = ""

    @property
    def reason(self) -> str:
        """Return why a finding is dropped."""
        by, on = f" by {self.by}" if self.by else "", f" on {self.on}" if self.on else ""
        return f"dismissed{by}{on}: {self.why}"


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
    """Write a string, a number or a list of strings; JSON strings are TOML strings, except for one character."""
    return _TOML_ESCAPES.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def new_dismissal(finding: MergedFinding, workspace: Workspace | None, why: str, by: str, on: str) -> Dismissal:
    """Return the dismissal of a finding."""
    code, lines = cited_code(finding, workspace)
    return Dismissal(
        id=finding.fingerprint or fingerprint_of(finding, workspace),
        finding=finding.id,
        path=finding.path or "",
        title=finding.title,
        rules=tuple(sorted({opinion.rule for opinion in finding.opinions if opinion.rule})),
        titles=tuple(sorted({folded_title(opinion.title) for opinion in finding.opinions if not opinion.rule})),
        code=code,
        lines=lines,
        severity=finding.severity,
        why=" ".join(why.split()),
        by=" ".join(by.split()),
        on=on,
    )


def fingerprint_of(finding: MergedFinding, workspace: Workspace | None) -> str:
    """Identify a finding by its path, its rule or title, and the cited code."""
    rule = leading_opinion(finding).rule if finding.opinions else ""
    subject = rule or folded_title(finding.title)
    whole = "\0".join((finding.path or "", subject, cited_code(finding, workspace)[0]))
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_ID_LENGTH]


def cited_code(finding: MergedFinding, workspace: Workspace | None) -> tuple[str, int]:
    """Return a digest of the cited lines without white space, and their number; an empty digest without code."""
    if workspace is None or not finding.path or finding.line is None or finding.line < 1:
        return "", 0
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile) or finding.line > len(file.lines):
        return "", 0
    last = min(max(finding.line, finding.end_line or 0), finding.line + _MAX_LINES - 1, len(file.lines))
    cited = file.lines[finding.line - 1 : last]
    return _digest(cited), len(cited)


def _digest(lines: Sequence[str]) -> str:
    code = "".join("".join(lines).split())
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()[:16] if code else ""


def apply_dismissals(merge: Merge, dismissals: Sequence[Dismissal], workspace: Workspace | None) -> Merge:
    """Give each finding its fingerprint, and drop those that a person dismissed."""
    by_path: dict[str, list[Dismissal]] = defaultdict(list)
    for dismissal in dismissals:
        by_path[dismissal.path].append(dismissal)

    def judge(finding: MergedFinding) -> MergedFinding:
        mark = fingerprint_of(finding, workspace)
        dismissal = next(
            (candidate for candidate in by_path.get(finding.path or "", ()) if matches(candidate, finding, workspace)),
            None,
        )
        if dismissal is None:
            return msgspec.structs.replace(finding, fingerprint=mark)
        flags = tuple(sorted({*finding.flags, DISMISSED}))
        return msgspec.structs.replace(finding, fingerprint=mark, reason=dismissal.reason, flags=flags)

    return revise(merge, judge)


def dismissed_in(
    verdict: Verdict, dismissals: Sequence[Dismissal], workspace: Workspace | None
) -> tuple[MergedFinding, ...]:
    """Return the findings of one checked result that a person dismissed, each with the reason."""
    if not dismissals or not verdict.document.findings:
        return ()
    merge = merge_reports([build_report(verdict, workspace)], MergeSettings(threshold=0))
    return tuple(
        finding for finding in apply_dismissals(merge, dismissals, workspace).dropped if DISMISSED in finding.flags
    )


def matches(dismissal: Dismissal, finding: MergedFinding, workspace: Workspace | None) -> bool:
    """Return whether a dismissal is about a finding, and the finding is not worse than it was."""
    rules = {opinion.rule for opinion in finding.opinions if opinion.rule}
    titles = {folded_title(opinion.title) for opinion in finding.opinions if not opinion.rule}
    is_same = bool(rules.intersection(dismissal.rules) or titles.intersection(dismissal.titles))
    is_worse = _rank(finding.severity) > _rank(dismissal.severity)
    return is_same and not is_worse and cited_code(finding, workspace)[0] == dismissal.code


def _rank(severity: Severity | None) -> int:
    return SCALE.index(severity) if severity else -1


def is_expired(dismissal: Dismissal, workspace: Workspace) -> bool:
    """Return whether the dismissed code no longer exists in its file."""
    if not dismissal.code or not dismissal.path:
        return False
    file = workspace.read(dismissal.path)
    if not isinstance(file, SourceFile):
        return True
    size = max(1, dismissal.lines)
    return all(
        _digest(file.lines[start : start + size]) != dismissal.code for start in range(len(file.lines) - size + 1)
    )


def find_finding(merge: Merge, name: str) -> MergedFinding:
    """Return the finding with an id, a location or a fingerprint; raise UsageError unless there is exactly one.

    Findings with the same fingerprint count as one: they are dismissed together.
    """
    everything = (*merge.findings, *merge.dropped)
    matching = [finding for finding in everything if finding.id.lower() == name.lower()]
    matching = matching or [finding for finding in everything if name == f"{finding.path}:{finding.line}"]
    matching = matching or [
        finding for finding in everything if len(name) >= MIN_PREFIX and finding.fingerprint.startswith(name.lower())
    ]
    if not matching:
        raise UsageError(f"no finding {name!r} in this report; use its id, path:line, or what follows # in the text")
    if len({finding.fingerprint for finding in matching}) > 1:
        each = ", ".join(
            f"{finding.id} ({finding.path}:{finding.line}, #{finding.fingerprint})" for finding in matching[:5]
        )
        raise UsageError(f"{len(matching)} findings match {name!r}; use one of these ids: {each}")
    return matching[0]


def find_dismissals(entries: Iterable[Dismissal], name: str) -> list[Dismissal]:
    """Return the entries with a fingerprint, or with the id that their finding had in its report."""
    folded = name.lower()
    return [
        entry
        for entry in entries
        if folded in (entry.id, entry.finding.lower()) or (len(name) >= MIN_PREFIX and entry.id.startswith(folded))
    ]
