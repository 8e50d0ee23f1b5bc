"""Rule `status-form`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import lines_of
from remit.rules.base import Case, Example, Fault, Rule


class StatusForm(Rule):
    """The Status is valid but not written as a bare word.

    Remit accepts another case, an emoji or words in brackets. Other programs may not.
    """

    name = "status-form"
    code = "RES004"
    level = "L3"
    requires = ("status-missing", "status-unknown")
    help = "Write the status as one word in capitals, with nothing else on the line."
    bad = (
        Example("review", edits=(("### Status\nSUCCESS", "### Status\nSuccess ✅"),), expect=("status-form",)),
        Example(
            "review", edits=(("### Status\nSUCCESS", "### Status\nSUCCESS (all files read)"),), expect=("status-form",)
        ),
        Example(
            "review",
            edits=(("### Status\nSUCCESS", "### Status\nSUCCESS\n\nAll files were read."),),
            expect=("status-form",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        section = case.document.section("status")
        if section is not None:
            lines = list(lines_of(section.content))
            if lines[0].text != case.result.status or len(lines) > 1:
                yield Fault(
                    line=lines[0].line, message=f"the status is written as {lines[0].text!r}", mark=lines[0].text
                )
