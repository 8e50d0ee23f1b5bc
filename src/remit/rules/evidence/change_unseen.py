"""Rule `change-unseen`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import statement_message
from remit.rules.base import Case, Example, Fault, Rule


class ChangeUnseen(Rule):
    """The result claims that a file was written, but the evidence contradicts it.

    The evidence is the snapshot from before the run, or the receipts.
    """

    name = "change-unseen"
    code = "EVD014"
    needs = "changes"
    level = "L1"
    requires = ("no-tool-calls",)
    help = "Write the file, or remove the row."
    good = (Example("document", receipts="everything"),)
    bad = (Example("document", expect=("change-unseen",), receipts="only-read"),)

    def check(self, case: Case) -> Iterator[Fault]:
        for change in case.evidence.changes:
            if change.denied:
                yield Fault(
                    line=change.at,
                    message=f"{change.path} is reported as {change.claim}, but {change.why}",
                    mark=change.path,
                )
        for checked in case.evidence.statements:
            if checked.fails and checked.statement.path:
                yield Fault(line=checked.statement.at, message=statement_message(checked), mark=checked.statement.text)
