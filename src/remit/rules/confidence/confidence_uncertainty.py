"""Rule `confidence-uncertainty`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.rules.base import Case, Example, Fault, Rule

THRESHOLD = 70
#: Below this score the result needs a question.
ASKING = 60
_QUESTION_MARKS = ("?", "？")


class ConfidenceUncertainty(Rule):
    """A confidence below 70 has no Uncertainty section, or one below 60 has no question in it.

    The reader must know which parts are unreliable. Below 60 the result is speculation: the orchestrator has to ask a
    person, and needs the question.
    """

    name = "confidence-uncertainty"
    code = "CNF007"
    level = "L2"
    in_short_form = False
    levels = {"v1": None}
    requires = ("confidence-range",)
    help = "Add `### Uncertainty` and state what is uncertain and what would resolve it."
    good = (
        Example(
            "generic",
            edits=(
                ("90 - every", "70 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
            ),
        ),
        Example(
            "generic",
            edits=(
                ("90 - every", "59 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
                ("### Next Steps", "### Uncertainty\nIs the table shared?\n\n### Next Steps"),
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
        Example(
            "generic",
            edits=(
                ("90 - every", "59 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
                ("### Next Steps", "### Uncertainty\nThe table may be shared.\n\n### Next Steps"),
            ),
            expect=("confidence-uncertainty",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        uncertainty = case.result.uncertainty
        if confidence is None or isinstance(confidence.score, str):
            return
        if confidence.score < ASKING and uncertainty and not any(mark in uncertainty for mark in _QUESTION_MARKS):
            yield Fault(
                line=case.document.line_of("uncertainty"),
                message=f"a confidence of {format_number(confidence.score)} needs a question under Uncertainty",
                help="State the question that a person has to answer first, with a question mark.",
            )
        if confidence.score < THRESHOLD and not uncertainty:
            yield Fault(
                line=confidence.line,
                message=f"a confidence of {format_number(confidence.score)} needs an Uncertainty section",
            )
