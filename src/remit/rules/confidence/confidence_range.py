"""Rule `confidence-range`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import tables
from remit.contract.headings import column_index
from remit.contract.lines import is_none_text, plain_text
from remit.contract.render import format_number
from remit.contract.section_fields import is_not_applicable, read_score
from remit.rules.base import Case, Example, Fault, Rule


class ConfidenceRange(Rule):
    """A confidence is not a number from 0 to 100.

    Words such as "high" cannot be compared, merged or checked against a threshold.
    """

    name = "confidence-range"
    code = "CNF002"
    level = "L1"
    in_short_form = False
    help = "Write every confidence as one number from 0 to 100."
    prompt = "Each confidence is a number from 0 to 100."
    good = (
        Example("generic", edits=(("90 - every", "**90%** - every"),)),
        Example(
            "generic",
            edits=(
                ("90 - every", "0 - every"),
                ("verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n", ""),
                ("### Next Steps", "### Uncertainty\nIs any of it so?\n\n### Next Steps"),
            ),
        ),
        Example(
            "generic",
            edits=(
                ("90 - every", "100 - every"),
                (
                    "verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90",
                    "verified_confidence: 100\ninferred_confidence: 100",
                ),
                ("**Score**: 90", "**Score**: 100"),
            ),
        ),
    )
    bad = (
        Example("review", edits=(("| Minor | 85 |", "| Minor | 150 |"),), expect=("confidence-range",)),
        Example("review", edits=(("| Minor | 85 |", "| Minor | high |"),), expect=("confidence-range",)),
        Example("review", edits=(("| Minor | 85 |", "| Minor | -4 |"),), expect=("confidence-range",)),
        Example("generic", edits=(("90 - every", "high - every"),), expect=("confidence-range",)),
        Example("generic", edits=(("90 - every", "101 - every"),), expect=("confidence-range",)),
        Example("generic", edits=(("90 - every", "-1 - every"),), expect=("confidence-range",)),
        Example(
            "generic", edits=(("inferred_confidence: 85", "inferred_confidence: quite"),), expect=("confidence-range",)
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        yield from self._headline(case)
        for table in tables(case.result, "issues_detected"):
            column = column_index(table.columns, "confidence")
            for row in table.rows if column is not None else ():
                cell = row.cells[column or 0]
                score = read_score(cell)[0] if plain_text(cell) and not is_none_text(cell) else 0.0
                if isinstance(score, str) or not 0 <= score <= 100:
                    stated = plain_text(cell)
                    yield Fault(
                        line=row.line, message=f"the confidence {stated!r} is not a number from 0 to 100", mark=stated
                    )

    def _headline(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if confidence is None:
            return
        scores = {
            "score": confidence.score,
            "verified_confidence": confidence.verified,
            "inferred_confidence": confidence.inferred,
            "combined_confidence": confidence.combined,
        }
        for name, score in scores.items():
            if score is None or (name != "score" and is_not_applicable(score)):
                continue
            if isinstance(score, str) or not 0 <= score <= 100:
                what = "confidence" if name == "score" else name
                yield Fault(
                    line=confidence.line,
                    message=f"the {what} {format_number(score)!r} is not a number from 0 to 100",
                    mark=format_number(score),
                )
