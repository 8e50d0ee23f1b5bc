"""Rule `change-unseen`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class ChangeUnseen(Rule):
    """The result says that a file was written, and nothing shows it.

    The snapshot from before the run, or the receipts, deny it.
    """

    name = "change-unseen"
    code = "EVD014"
    needs = "changes"
    level = "L1"
    requires = ("no-tool-calls",)
    help = "Write the file, or take the row out."
    good = (Example("document", receipts="everything"),)
    bad = (Example("document", expect=("change-unseen",), receipts="only-read"),)

    def check(self, case: Case) -> Iterator[Fault]:
        for change in case.evidence.changes:
            if change.denied:
                yield Fault(
                    line=change.at,
                    message=f"{change.path} is said to be {change.claim}: {change.why}",
                    mark=change.path,
                )
