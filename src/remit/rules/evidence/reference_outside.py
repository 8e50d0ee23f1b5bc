"""Rule `reference-outside`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class ReferenceOutside(Rule):
    """A reference points outside the checkout.

    Files outside the checkout cannot be checked, and other readers do not have them. Git's own files count as outside.
    """

    name = "reference-outside"
    code = "EVD003"
    needs = "repository"
    level = "L1"
    help = "Cite files inside the repository, relative to its root."
    good = (Example("generic", edits=(("`app/login.py:7` | where", "`app/../app/login.py:7` | where"),)),)
    bad = (
        Example(
            "generic", edits=(("`app/login.py:7` | where", "`../login.py:7` | where"),), expect=("reference-outside",)
        ),
        Example(
            "generic",
            edits=(("`app/login.py:7` | where", "`/etc/hosts.txt:1` | where"),),
            expect=("reference-outside",),
        ),
        Example(
            "generic", edits=(("`app/login.py:7` | where", "`.git/config:1` | where"),), expect=("reference-outside",)
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for reference in case.evidence.references:
            if reference.outcome == "outside" and reference.fails:
                yield Fault(
                    line=reference.at, message=f"{reference.display_text}: {explain(reference)}", mark=reference.text
                )
