"""Rule `confidence-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class ConfidenceMissing(Rule):
    """The result has no Confidence.

    The orchestrator uses the score to decide whether to act, to ask again or to ask a person.
    """

    name = "confidence-missing"
    code = "CNF001"
    level = "L1"
    in_short_form = False
    help = "Add `### Confidence` with a number from 0 to 100 and the reason: `90 - every cited line was read`."
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "### Confidence\n90 - every cited line was opened and read\nverified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n\n",
                    "",
                ),
            ),
            expect=("confidence-missing",),
        ),
        Example(
            "generic",
            edits=(
                (
                    "90 - every cited line was opened and read\nverified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n",
                    "",
                ),
            ),
            expect=("confidence-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if not case.failed and case.result.confidence is None:
            yield Fault(line=case.document.line_of("confidence"), message="there is no Confidence score")
