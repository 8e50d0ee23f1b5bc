"""Write verdicts as JSON and GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remit.checking import Verdict
from remit.evidence.claims import claims_of
from remit.merging.merge_data import Merge, MergedFinding
from remit.reports.accusations import unchecked_lines
from remit.reports.layout import escape_control
from remit.reports.shapes import FixShape, check_shape
from remit.rules.base import Violation

NO_CLAIMS = "The text states nothing about the code that can be checked, and --require-claims asks for claims."
_COMMAND = {"L1": "error", "L2": "warning", "L3": "notice"}


def check_json(
    verdicts: Sequence[Verdict],
    repository: str | None = None,
    fixes: list[FixShape] | None = None,
    dismissed: Sequence[Sequence[MergedFinding]] = (),
) -> str:
    """Return the report in the shape `remit.check/1`. `dismissed` has the dismissed findings of each verdict."""
    return format_json(check_shape(verdicts, repository, fixes, dismissed))


def format_json(value: Any) -> str:
    """Format JSON with indentation; keys keep their order and non-ASCII text stays as it is."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def json_parts(shell: Any, lists: Mapping[str, Iterable[Any]]) -> Iterator[str]:
    """Yield the parts of the text of `format_json`, so that long lists are never in memory as a whole.

    `lists` has the items of lists that are empty in `shell`, by their keys, which occur once.
    """
    for line in format_json(shell).splitlines(keepends=True):
        key = line.lstrip(" ").partition('": []')[0].removeprefix('"')
        if key not in lists or '": []' not in line:
            yield line
            continue
        margin = " " * (len(line) - len(line.lstrip(" ")))
        before = f'{margin}"{key}": [\n'
        for item in lists[key]:
            text = format_json(item).replace("\n", f"\n{margin}  ")  # a line end in a string is escaped
            yield f"{before}{margin}  {text}"
            before = ",\n"
        yield line if before != ",\n" else f"\n{margin}]{line.partition('[]')[2]}"


def merge_json_parts(merge: Merge) -> Iterator[str]:
    """Yield the parts of a merge as JSON."""
    shell = msgspec.structs.replace(merge, findings=(), dropped=())
    return json_parts(shell, {"findings": merge.findings, "dropped": merge.dropped})


def check_github(verdicts: Sequence[Verdict], *, require_claims: bool = False) -> str:
    """Return one workflow command per violation, and notices for what was not checked; maybe empty.

    `require_claims`: a text without claims fails.
    """
    return "\n".join(line for verdict in verdicts for line in _lines(verdict, require_claims=require_claims))


def _lines(verdict: Verdict, *, require_claims: bool) -> Iterator[str]:
    if require_claims and verdict.accepted and _has_no_claims(verdict):
        yield f"::error file={_property(verdict.path)},line=1,title=no claims found::{_data(NO_CLAIMS)}"
    for violation in verdict.violations:
        title = f"{violation.rule} ({violation.level})"
        message = _with_help(violation)
        yield (
            f"::{_COMMAND[violation.level]} file={_property(verdict.path)},line={violation.line},"
            f"title={_property(title)}::{_data(message)}"
        )
    if unchecked := unchecked_lines(claims_of(verdict.evidence)):
        yield f"::notice file={_property(verdict.path)},line=1,title=not checked::{_data('; '.join(unchecked))}"


def _has_no_claims(verdict: Verdict) -> bool:
    return not claims_of(verdict.evidence)


def _data(text: str) -> str:
    return escape_control(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _with_help(violation: Violation) -> str:
    """Return a violation's message and help as sentences; a question has its own mark."""
    return f"{violation.message}{'' if violation.message.endswith(('?', '.')) else '.'} {violation.help}"
