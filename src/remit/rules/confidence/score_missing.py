"""Rule `score-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import tables
from remit.contract.headings import column_index
from remit.contract.lines import is_none_text, plain_text
from remit.contract.nothing_found import is_none_row
from remit.contract.section_fields import is_not_applicable
from remit.rules.base import Case, Example, Fault, Rule


class ScoreMissing(Rule):
    """A row of a table with a Confidence column has no score.

    A merge gives such a row 70 points, which is below the usual threshold, so the finding is dropped.
    """

    name = "score-missing"
    code = "CNF009"
    since = "0.2"
    level = "L2"
    in_short_form = False
    help = "Write the confidence of this row as a number from 0 to 100."
    good = (Example("review", edits=(("| Minor | 85 |", "| Minor | 0 |"),)),)
    bad = (
        Example("review", edits=(("| Severity | Confidence |", "| Severity | Effort |"),), expect=("wrong-column",)),
        Example("review", edits=(("| Minor | 85 |", "| Minor | n/a |"),), expect=("score-missing",)),
        Example("review", edits=(("| Minor | 85 |", "| Minor |  |"),), expect=("score-missing",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for table in tables(case.result, "issues_detected"):
            column = column_index(table.columns, "confidence")
            for row in table.rows if column is not None else ():
                score = plain_text(row.cells[column or 0])
                if not is_none_row(row) and (is_none_text(score) or is_not_applicable(score)):
                    yield Fault(line=row.line, message=_message(score), mark=score)


def _message(score: str) -> str:
    return f"the row has no confidence, only {score!r}" if score.strip() else "the row has no confidence"
