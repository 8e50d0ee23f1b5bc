"""Rule `placeholder-left`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.template import filled_lines, find_placeholders
from remit.rules.base import Case, Example, Fault, Rule


class PlaceholderLeft(Rule):
    """A `[placeholder]` of the template was not filled in.

    A placeholder looks like an answer but has no content.
    """

    name = "placeholder-left"
    code = "RES019"
    level = "L1"
    help = "Replace the placeholder with the content it asks for, or remove the line."
    good = (
        Example(
            "generic",
            edits=(
                (
                    "1. Tag the release",
                    "1. Tag the release of `app/[name]` and see [1] and [Name](https://example.com)",
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
        Example(
            "generic",
            edits=(("| login | `app/login.py:7` |", "| login | `[path/to/file:line]` |"),),
            expect=("placeholder-left",),
        ),
        Example(
            "implementation",
            edits=(("$ python -m pytest tests\n2 passed in 0.01s", "[the command and its output, in a fence]"),),
            expect=("placeholder-left",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for text, line in filled_lines(case.document):
            placeholders = list(find_placeholders(text))
            if placeholders:
                noun = "placeholder" if len(placeholders) == 1 else "placeholders"
                names = ", ".join(placeholders[:5]) + (", ..." if len(placeholders) > 5 else "")
                yield Fault(line=line, message=f"unfilled template {noun}: {names}", mark=placeholders[0])
