"""Rule `confidence-reason`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.rules.base import Case, Example, Fault, Rule


class ConfidenceReason(Rule):
    """The confidence has no reason.

    A reader cannot judge a bare number. The text after it states its basis.
    """

    name = "confidence-reason"
    code = "CNF003"
    level = "L2"
    in_short_form = False
    levels = {"v1": "L1"}
    requires = ("confidence-range",)
    help = "Write the reason after the number: `90 - every cited line was read`."
    good = (
        Example(
            "generic",
            edits=(("90 - every cited line was opened and read", "90 (every cited line was opened and read)"),),
        ),
    )
    bad = (
        Example("generic", edits=(("90 - every cited line was opened and read", "90"),), expect=("confidence-reason",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if confidence is not None and not confidence.reason:
            yield Fault(line=confidence.line, message=f"the confidence {format_number(confidence.score)} has no reason")
