"""Rule `empty-table`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.contract.nothing_found import says_nothing_found
from remit.contract.result_data import Table
from remit.rules.base import Case, Example, Fault, Rule


class EmptyTable(Rule):
    """A required table is empty, and the Summary does not state that nothing was found.

    An empty table can mean "there is nothing" or "I did not look". The Summary must state which.
    """

    name = "empty-table"
    code = "KND003"
    level = "L2"
    requires = ("block-missing", "wrong-column", "summary-missing")
    help = "Fill in the table, or state in the Summary that nothing was found."
    prompt = "If nothing was found, the Summary begins with that and names where you looked; tables may be empty."
    good = (
        Example(
            "verification",
            edits=(
                (
                    "| Unknown users get nothing | `app/login.py:10` | VERIFIED |\n| Tokens are unpredictable | `app/session.py:10` | UNVERIFIED |\n",
                    "",
                ),
                (
                    "Two claims about the login were checked against the code. One holds and one does not.",
                    "There were no claims in `app/`. All files were read.",
                ),
            ),
        ),
    )
    bad = (
        Example(
            "verification",
            edits=(
                (
                    "| Unknown users get nothing | `app/login.py:10` | VERIFIED |\n| Tokens are unpredictable | `app/session.py:10` | UNVERIFIED |\n",
                    "",
                ),
            ),
            expect=("empty-table",),
        ),
        Example(
            "exploration",
            edits=(
                (
                    "| Entry | File:Line | Type |\n| --- | --- | --- |\n| login | `app/login.py:7` | function |\n",
                    "There are none.\n",
                ),
            ),
            expect=("empty-table",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for group in case.kind.required_groups():
            if group[0].form != "table":
                continue
            present = [(spec, block) for spec in group for block in blocks(case.result, spec.key)]
            filled = [
                block for _, block in present if any(table.rows for table in block.content if isinstance(table, Table))
            ]
            if present and not filled and not says_nothing_found(case.result.summary):
                spec, block = present[0]
                yield Fault(line=block.line, message=f"the table of {spec.name} is empty", mark=block.heading)
