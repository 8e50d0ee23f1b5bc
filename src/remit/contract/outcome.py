"""Whether a report states that the work itself failed. Consumers of the work treat that as a failure.

`remit check` judges the document, so it accepts a well-formed FAILED report. A plan, an orchestrator, the gate and
`remit run` ask this module as well.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from remit.contract.parse import parse
from remit.contract.result_data import Result

#: Characters of an error message in one line.
_MAX_MESSAGE = 300


class ReportedFailure(msgspec.Struct, frozen=True):
    """The failure that a report states. A retry is pointless if it is not recoverable."""

    message: str
    is_recoverable: bool

    @property
    def text(self) -> str:
        """The failure in one line, for a person or an orchestrator."""
        why = f": {self.message}" if self.message else ""
        return f"it reported FAILED{why}{'' if self.is_recoverable else ' (not recoverable)'}"


def reported_failure(results: Iterable[Result]) -> ReportedFailure | None:
    """Return the failure that a report states, or None. One failed result makes the whole report a failure.

    Only `Recoverable: false` makes it not recoverable: the rules object to any word but true or false.
    """
    failed = [result for result in results if result.failed]
    if not failed:
        return None
    errors = [error.error for error in failed if error.error is not None]
    message = next((text for error in errors if (text := " ".join(error.message.split()))), "")
    message = message or " ".join(failed[0].summary.split())
    recoverable = not any(error.recoverable.strip().strip("`*.").lower() in ("false", "no") for error in errors)
    return ReportedFailure(message[:_MAX_MESSAGE], recoverable)


def failure_in(text: str | None) -> ReportedFailure | None:
    """Return the failure that the text of a report states, or None."""
    if not text or "FAILED" not in text.upper():
        return None
    return reported_failure(document.result for document in parse(text))


def status_in(text: str | None) -> str | None:
    """Return the status of a report, the worst if it has several results; None if it states none."""
    if not text:
        return None
    results = [document.result for document in parse(text)]
    if any(result.failed for result in results):
        return "FAILED"
    return next(
        (status for status in ("PARTIAL", "SUCCESS") if any(result.status == status for result in results)), None
    )
