"""Write verdicts as JSON and GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from remit.checking import Verdict
from remit.evidence.claims import claims_of
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
) -> str:
    """Return the report in the shape `remit.check/1`."""
    return format_json(check_shape(verdicts, repository, fixes))


def format_json(value: Any) -> str:
    """Format JSON with indentation; keys keep their order and non-ASCII text stays as it is."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


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
