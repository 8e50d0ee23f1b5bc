"""Rule `tradeoffs-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.rules.base import Case, Example, Fault, Rule


class TradeoffsMissing(Rule):
    """A design names no trade-offs.

    What was weighed and rejected is half of a design: without it the next person weighs it again.
    """

    name = "tradeoffs-missing"
    code = "KND008"
    level = "L3"
    requires = ("findings-missing",)
    help = "Add `### Trade-offs Considered` with what was rejected and why."
    good = (
        Example(
            "design",
            edits=(
                (
                    "### Trade-offs Considered\n- A table of its own for expiry times: rejected, two tables would have to agree\n\n",
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
                    "### Trade-offs Considered\n- A table of its own for expiry times: rejected, two tables would have to agree\n\n",
                    "",
                ),
            ),
            expect=("tradeoffs-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        weighed = any(block.content for block in blocks(case.result, "tradeoffs"))
        if case.kind.name == "design" and not case.result.tradeoffs and not weighed:
            yield Fault(line=case.document.title_line, message="the design names no trade-offs")
