"""Rule `confidence-breakdown`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.rules.base import Case, Example, Fault, Rule

THRESHOLD = 75


class ConfidenceBreakdown(Rule):
    """A confidence of 75 or more has no breakdown into verified and inferred.

    Verified is what the agent read or ran. Inferred is what it concluded from that. A high score without this
    breakdown hides guesses.
    """

    name = "confidence-breakdown"
    code = "CNF004"
    level = "L1"
    in_short_form = False
    levels = {"v1": None}
    requires = ("confidence-range",)
    help = "Add the lines `verified_confidence: NN` and `inferred_confidence: NN` under the score."
    prompt = "At 75 or more, give verified_confidence for what you read or ran, and inferred_confidence for what you concluded. The score is their mean."
    good = (
        Example(
            "generic",
            edits=(
                ("90 - every", "74 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
            ),
        ),
        Example(
            "generic",
            edits=(
                ("inferred_confidence: 85", "inferred_confidence: n/a"),
                ("verified_confidence: 95", "verified_confidence: 90"),
            ),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),),
            expect=("confidence-breakdown",),
        ),
        Example(
            "generic",
            edits=(
                ("90 - every", "75 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
            ),
            expect=("confidence-breakdown",),
        ),
        Example(
            "generic",
            edits=(("verified_confidence: 95", "verified_confidence: n/a"),),
            expect=("confidence-breakdown",),
        ),
        Example("generic", edits=(("inferred_confidence: 85\n", ""),), expect=("confidence-breakdown",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if confidence is None or isinstance(confidence.score, str) or confidence.score < THRESHOLD:
            return
        missing = []
        if confidence.verified is None or isinstance(confidence.verified, str):
            missing.append("verified_confidence")
        if confidence.inferred is None:
            missing.append("inferred_confidence")
        if missing:
            yield Fault(
                line=confidence.line,
                message=f"a confidence of {format_number(confidence.score)} needs {' and '.join(missing)}",
            )
