"""Rule `status-unknown`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import lines_of
from remit.contract.result_data import STATUSES
from remit.rules.base import Case, Example, Fault, Rule


class StatusUnknown(Rule):
    """The Status is not SUCCESS, PARTIAL or FAILED.

    Merging, retries and the gate accept only these three words.
    """

    name = "status-unknown"
    code = "RES003"
    level = "L1"
    requires = ("status-missing",)
    help = "Write exactly one of SUCCESS, PARTIAL or FAILED under `### Status`."
    bad = (
        Example("review", edits=(("### Status\nSUCCESS", "### Status\nDONE"),), expect=("status-unknown",)),
        Example("review", edits=(("### Status\nSUCCESS", "### Status\nSUCCESS\nFAILED"),), expect=("status-unknown",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        status = case.result.status
        if status not in STATUSES:
            line = next(iter(lines_of(section.content))).line if (section := case.document.section("status")) else 1
            yield Fault(line=line, message=f"the status {status!r} is not SUCCESS, PARTIAL or FAILED", mark=status)
