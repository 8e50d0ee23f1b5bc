"""Rule `confidence-uncertainty`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.rules.base import Case, Example, Fault, Rule

THRESHOLD = 70


class ConfidenceUncertainty(Rule):
    """A confidence below 70 has no Uncertainty section.

    The reader must know which parts are unreliable.
    """

    name = "confidence-uncertainty"
    code = "CNF007"
    level = "L2"
    levels = {"v1": None, "lenient": "L3"}
    requires = ("confidence-range",)
    help = "Add `### Uncertainty` and state what is uncertain and what would resolve it."
    prompt = "Below 70, add an Uncertainty section."
    good = (
        Example(
            "generic",
            edits=(
                ("90 - every", "70 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
            ),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(
                ("90 - every", "69 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
            ),
            expect=("confidence-uncertainty",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if confidence is None or isinstance(confidence.score, str) or case.result.uncertainty:
            return
        if confidence.score < THRESHOLD:
            yield Fault(
                line=confidence.line,
                message=f"a confidence of {format_number(confidence.score)} needs an Uncertainty section",
            )
