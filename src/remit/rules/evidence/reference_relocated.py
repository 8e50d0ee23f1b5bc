"""Rule `reference-relocated`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class ReferenceRelocated(Rule):
    """The symbol of a reference is on another line of the file.

    A reader who opens the cited line finds other code.
    """

    name = "reference-relocated"
    code = "EVD007"
    needs = "repository"
    level = "L2"
    help = "Change the line to the one that was found."
    good = (
        Example("exploration", edits=(("`app/login.py:17` (check_password)", "`app/login.py:12` (check_password)"),)),
        Example("exploration", edits=(("`app/store.py:14` (find_user)", "`app/store.py:9` (find_user)"),)),
    )
    bad = (
        Example(
            "exploration",
            edits=(("`app/store.py:14` (find_user)", "`app/store.py:8` (find_user)"),),
            expect=("reference-relocated",),
        ),
        Example(
            "exploration",
            edits=(("`app/store.py:14` (find_user)", "`app/store.py:99` (find_user)"),),
            expect=("reference-relocated",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for reference in case.evidence.references:
            is_own = reference.fails and not reference.is_quote_location
            if reference.outcome == "relocated" and is_own and reference.found is not None:
                location = f"{reference.found.path}:{reference.found.line}"
                yield Fault(
                    line=reference.at,
                    message=f"{reference.display_text}: {explain(reference)}",
                    mark=reference.text,
                    help=f"Cite {location} instead.",
                )
