"""Rule `status-form`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import lines_of
from remit.rules.base import Case, Example, Fault, Rule


class StatusForm(Rule):
    """The Status is right but not written as the bare word.

    Case, an emoji or words in brackets are understood, and other readers may not be as patient.
    """

    name = "status-form"
    code = "RES004"
    level = "L3"
    requires = ("status-missing", "status-unknown")
    help = "Write the status as the bare word in capitals, alone on its line."
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
                yield Fault(line=lines[0].line, message=f"the status is written {lines[0].text!r}", mark=lines[0].text)
