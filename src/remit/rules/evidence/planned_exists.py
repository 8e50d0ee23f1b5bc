"""Rule `planned-exists`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.tables import planned_rows
from remit.rules.base import Case, Example, Fault, Rule


class PlannedExists(Rule):
    """A file that the design creates is already there.

    Either the design did not look, or it means to replace the file: it should say so.
    """

    name = "planned-exists"
    code = "EVD010"
    needs = "repository"
    level = "L3"
    requires = ("wrong-column",)
    help = "Look at the file that is there; write Modify, or say that it is replaced."
    bad = (
        Example(
            "design",
            edits=(("| Clock | `app/clock.py` | Create |", "| Clock | `app/store.py` | Create |"),),
            expect=("planned-exists",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for path, line in planned_rows(case.document):
            there = [r for r in case.evidence.references if r.at == line and r.outcome == "verified"]
            if there:
                yield Fault(line=line, message=f"{path} is to be created, but it exists", mark=path)
