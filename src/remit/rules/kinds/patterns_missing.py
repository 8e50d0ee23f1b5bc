"""Rule `patterns-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.rules.base import Case, Example, Fault, Rule


class PatternsMissing(Rule):
    """A design does not name the patterns it follows.

    A design that ignores the patterns of the existing code rarely fits it.
    """

    name = "patterns-missing"
    code = "KND009"
    level = "L3"
    requires = ("findings-missing",)
    help = "Add the block `#### Pattern Analysis` with a table Pattern | Example | Recommendation."
    bad = (
        Example(
            "design",
            edits=(
                (
                    "#### Pattern Analysis\n| Pattern | Example | Recommendation |\n| --- | --- | --- |\n| Functions over a table | `app/session.py:5` | keep it for expiry times |\n\n",
                    "",
                ),
            ),
            expect=("patterns-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.kind.name == "design" and not any(block.content for block in blocks(case.result, "pattern_analysis")):
            yield Fault(line=case.document.line_of("findings"), message="the design has no Pattern Analysis")
