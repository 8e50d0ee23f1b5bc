"""Rule `reference-ambiguous`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class ReferenceAmbiguous(Rule):
    """Several files end with the path of a reference.

    A reader cannot tell which of them is meant, and the claim cannot be checked.
    """

    name = "reference-ambiguous"
    code = "EVD018"
    since = "0.2"
    needs = "repository"
    level = "L2"
    help = "Write the full path."
    good = (Example("generic", edits=(("where a user comes in", "see `app/__init__.py:1`"),)),)
    bad = (
        Example("generic", edits=(("where a user comes in", "see `__init__.py:1`"),), expect=("reference-ambiguous",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for reference in case.evidence.references:
            if reference.reason == "several-files" and case.evidence.text == "report":
                yield Fault(
                    line=reference.at, message=f"{reference.display_text}: {explain(reference)}", mark=reference.text
                )
