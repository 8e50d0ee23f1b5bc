"""Rule `reference-abbreviated`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.model import format_location
from remit.rules.base import Case, Example, Fault, Rule


class ReferenceAbbreviated(Rule):
    """A reference states only the end of a file's path.

    One file of the repository ends with this path, so the reference holds. A second file with that name would make it
    ambiguous.
    """

    name = "reference-abbreviated"
    code = "EVD017"
    since = "0.2"
    needs = "repository"
    level = "L3"
    help = "Write the path from the root of the repository."
    bad = (
        Example("generic", edits=(("where a user comes in", "see `login.py:7`"),), expect=("reference-abbreviated",)),
        Example(
            "exploration",
            edits=(("`app/store.py:14` (find_user)", "`store.py:14` (find_user)"),),
            expect=("reference-abbreviated",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        reported: set[str] = set()
        for reference in case.evidence.references:
            if reference.outcome == "abbreviated" and reference.found is not None and reference.path not in reported:
                reported.add(reference.path)
                yield Fault(
                    line=reference.at,
                    message=f"{reference.display_text}: the file is {reference.found.path}",
                    mark=reference.text,
                    help=f"Write {format_location(reference.found)}.",
                )
