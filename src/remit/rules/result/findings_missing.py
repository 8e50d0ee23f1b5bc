"""Rule `findings-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class FindingsMissing(Rule):
    """The result has no Findings.

    Findings are the content of a result. Only a FAILED result may omit them, and one that states in its Summary that
    nothing was found.
    """

    name = "findings-missing"
    code = "RES008"
    level = "L1"
    in_short_form = False
    help = "Add `### Findings`, and below it the blocks of your kind of result."
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "### Findings\n\nThe login has one entry, `app/login.py:7`, and one place that makes tokens, `app/session.py:8`.\n\n",
                    "",
                ),
            ),
            expect=("findings-missing",),
        ),
        Example("exploration", edits=(("### Findings\n\n", ""),), expect=("findings-missing",)),
        Example(
            "generic",
            edits=(
                (
                    "The login has one entry, `app/login.py:7`, and one place that makes tokens, `app/session.py:8`.\n\n",
                    "",
                ),
            ),
            expect=("findings-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        section = case.document.section("findings")
        if case.failed or case.found_nothing:
            return
        if section is None or not section.heading:
            yield Fault(line=case.document.title_line, message="there is no Findings section")
        elif not case.result.findings:
            yield Fault(line=section.line, message="the Findings section is empty", mark=section.heading)
