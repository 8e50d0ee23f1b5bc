"""Rule `confidence-arithmetic`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.contract.result_data import Confidence
from remit.contract.section_fields import is_not_applicable
from remit.rules.base import Case, Example, Fault, Rule

#: "± 1", plus the rounding error of floating-point numbers.
TOLERANCE = 1 + 1e-9


def mean_of(confidence: Confidence) -> float | None:
    """Return the mean of verified and inferred, or None if it cannot be computed."""
    if not isinstance(confidence.verified, float):
        return None
    if isinstance(confidence.inferred, float):
        return (confidence.verified + confidence.inferred) / 2
    return confidence.verified if is_not_applicable(confidence.inferred) else None


class ConfidenceArithmetic(Rule):
    """The parts of the confidence are inconsistent.

    Combined is the mean of verified and inferred, and the score equals combined, each within ± 1. If nothing was
    inferred (`n/a`), combined equals verified.
    """

    name = "confidence-arithmetic"
    code = "CNF005"
    level = "L1"
    in_short_form = False
    requires = ("confidence-range", "confidence-breakdown")
    help = "Set combined_confidence to the mean of verified_confidence and inferred_confidence, and the score to the same value."
    good = (
        Example("generic", edits=(("combined_confidence: 90", "combined_confidence: 91"),)),
        Example("generic", edits=(("combined_confidence: 90\n", ""),)),
        Example(
            "generic", edits=(("verified_confidence: 95", "verified_confidence: 97"), ("combined_confidence: 90\n", ""))
        ),
        Example(
            "generic",
            edits=(
                ("inferred_confidence: 85", "inferred_confidence: n/a"),
                ("verified_confidence: 95", "verified_confidence: 91"),
            ),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(("combined_confidence: 90", "combined_confidence: 91.04"),),
            expect=("confidence-arithmetic",),
        ),
        Example(
            "generic",
            edits=(
                ("90 - every", "92 - every"),
                ("combined_confidence: 90", "combined_confidence: 92"),
                ("**Score**: 90", "**Score**: 92"),
            ),
            expect=("confidence-arithmetic",),
        ),
        Example(
            "generic",
            edits=(("combined_confidence: 90", "combined_confidence: 92"),),
            expect=("confidence-arithmetic",),
        ),
        Example(
            "generic",
            edits=(("verified_confidence: 95", "verified_confidence: 98"), ("combined_confidence: 90\n", "")),
            expect=("confidence-arithmetic",),
        ),
        Example(
            "generic",
            edits=(
                ("verified_confidence: 95", "verified_confidence: 98"),
                ("combined_confidence: 90", "combined_confidence: 91.5"),
            ),
            expect=("confidence-arithmetic",),
        ),
        Example(
            "generic",
            edits=(
                ("inferred_confidence: 85", "inferred_confidence: n/a"),
                ("verified_confidence: 95", "verified_confidence: 92"),
                ("combined_confidence: 90\n", ""),
            ),
            expect=("confidence-arithmetic",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if confidence is None or isinstance(confidence.score, str):
            return
        expected = mean_of(confidence)
        stated = confidence.combined if isinstance(confidence.combined, float) else None
        if expected is not None and stated is not None and abs(stated - expected) > TOLERANCE:
            yield Fault(
                line=confidence.line,
                message=f"combined_confidence is {format_number(stated)}, but the mean of its parts is {format_number(expected)}",
                mark=f"combined_confidence: {format_number(stated)}",
            )
            return
        combined = expected if stated is None else stated
        if combined is not None and abs(confidence.score - combined) > TOLERANCE:
            yield Fault(
                line=confidence.line,
                message=f"the score is {format_number(confidence.score)}, but combined_confidence is {format_number(combined)}",
                mark=format_number(confidence.score),
            )
