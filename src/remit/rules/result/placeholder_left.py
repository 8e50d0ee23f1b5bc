"""Rule `placeholder-left`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.template import find_placeholders, written_lines
from remit.rules.base import Case, Example, Fault, Rule


class PlaceholderLeft(Rule):
    """A `[placeholder]` of the template was not filled in.

    It looks like an answer and says nothing.
    """

    name = "placeholder-left"
    code = "RES019"
    level = "L1"
    help = "Replace the placeholder by what it asks for, or leave the line out."
    good = (
        Example(
            "generic",
            edits=(
                (
                    "1. Tag the release",
                    "1. Tag the release of `app/[name]/page.py` and see [1] and [Name](https://example.com)",
                ),
            ),
        ),
    )
    bad = (
        Example("generic", edits=(("1. Tag the release", "1. [Recommended action 1]"),), expect=("placeholder-left",)),
        Example(
            "generic",
            edits=(("### Status\nSUCCESS", "### Status\n[SUCCESS | PARTIAL | FAILED]"),),
            expect=("placeholder-left",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for text, line in written_lines(case.document):
            found = list(find_placeholders(text))
            if found:
                those = "placeholder" if len(found) == 1 else "placeholders"
                yield Fault(line=line, message=f"unfilled {those} of the template: {', '.join(found)}", mark=found[0])
