"""Rule `summary-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class SummaryMissing(Rule):
    """The result has no Summary.

    The orchestrator reads the summary first, and often nothing else.
    """

    name = "summary-missing"
    code = "RES005"
    level = "L1"
    help = "Add `### Summary` with two or three sentences about what you did or found."
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "### Summary\nThe login module is ready to be released. Its files were read and nothing waits for review.\n\n",
                    "",
                ),
            ),
            expect=("summary-missing",),
        ),
        Example(
            "generic",
            edits=(
                ("The login module is ready to be released. Its files were read and nothing waits for review.\n", ""),
            ),
            expect=("summary-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if not case.result.summary:
            section = case.document.section("summary")
            what = "the Summary section is empty" if section else "there is no Summary section"
            yield Fault(line=case.document.line_of("summary"), message=what)
