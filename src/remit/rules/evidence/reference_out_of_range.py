"""Rule `reference-out-of-range`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain, suggestion
from remit.rules.base import Case, Example, Fault, Rule


class ReferenceOutOfRange(Rule):
    """A reference names a line that the file does not have.

    Lines are counted from 1. A range must not run backwards or past the end of the file.
    """

    name = "reference-out-of-range"
    code = "EVD002"
    needs = "repository"
    level = "L1"
    help = "Open the file and cite a line that exists."
    good = (
        Example("generic", edits=(("| login | `app/login.py:7` | where", "| the way in | `app/login.py:19` | where"),)),
        Example(
            "generic", edits=(("| login | `app/login.py:7` | where", "| the way in | `app/login.py:1-19` | where"),)
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(("| login | `app/login.py:7` | where", "| the way in | `app/login.py:20` | where"),),
            expect=("reference-out-of-range",),
        ),
        Example(
            "generic",
            edits=(("| login | `app/login.py:7` | where", "| the way in | `app/login.py:0` | where"),),
            expect=("reference-out-of-range",),
        ),
        Example(
            "generic",
            edits=(("| login | `app/login.py:7` | where", "| the way in | `app/login.py:9-7` | where"),),
            expect=("reference-out-of-range",),
        ),
        Example(
            "generic",
            edits=(("| login | `app/login.py:7` | where", "| the way in | `app/login.py:7-20` | where"),),
            expect=("reference-out-of-range",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for reference in case.evidence.references:
            if reference.outcome == "out-of-range" and reference.fails:
                yield Fault(
                    line=reference.at,
                    message=f"{reference.display_text}: {explain(reference)}{suggestion(reference)}",
                    mark=reference.text,
                )
