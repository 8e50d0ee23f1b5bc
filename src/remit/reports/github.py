"""Verdicts as GitHub annotations: one workflow command for each violation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.checking import Verdict
from remit.reports.visible import visible

_COMMAND = {"L1": "error", "L2": "warning", "L3": "notice"}


def check_github(verdicts: Sequence[Verdict]) -> str:
    """The report; empty if there is nothing to say."""
    return "\n".join(line for verdict in verdicts for line in _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    for violation in verdict.violations:
        title = f"{violation.rule} ({violation.level})"
        message = f"{violation.message}. {violation.help}"
        yield (
            f"::{_COMMAND[violation.level]} file={_property(verdict.path)},line={violation.line},"
            f"title={_property(title)}::{_data(message)}"
        )


def _data(text: str) -> str:
    return visible(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
