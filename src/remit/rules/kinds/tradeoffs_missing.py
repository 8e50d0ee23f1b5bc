"""Rule `tradeoffs-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.rules.base import Case, Example, Fault, Rule


class TradeoffsMissing(Rule):
    """A design does not name any trade-offs.

    Rejected alternatives are part of a design. Without them the next person considers them again.
    """

    name = "tradeoffs-missing"
    code = "KND008"
    level = "L3"
    requires = ("findings-missing",)
    help = "Add `### Trade-offs Considered` with the alternatives that you rejected and the reasons."
    good = (
        Example(
            "design",
            edits=(
                (
                    "### Trade-offs Considered\n- A separate table for expiry times: rejected, two tables would have to agree\n\n",
                    "",
                ),
                ("#### Build Sequence", "#### Trade-offs\n- One table or two: one\n\n#### Build Sequence"),
            ),
        ),
    )
    bad = (
        Example(
            "design",
            edits=(
                (
                    "### Trade-offs Considered\n- A separate table for expiry times: rejected, two tables would have to agree\n\n",
                    "",
                ),
            ),
            expect=("tradeoffs-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        in_findings = any(block.content for block in blocks(case.result, "tradeoffs"))
        if case.kind.name == "design" and not case.result.tradeoffs and not in_findings:
            yield Fault(line=case.document.title_line, message="the design does not name any trade-offs")
