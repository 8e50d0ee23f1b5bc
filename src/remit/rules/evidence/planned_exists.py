"""Rule `planned-exists`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.document import planned_rows
from remit.rules.base import Case, Example, Fault, Rule


class PlannedExists(Rule):
    """A file that the design plans to create already exists.

    Either the agent did not check, or the design replaces the file. It should state which.
    """

    name = "planned-exists"
    code = "EVD010"
    needs = "repository"
    level = "L3"
    requires = ("wrong-column",)
    help = "Read the existing file. Then write Modify, or state that the file is replaced."
    bad = (
        Example(
            "design",
            edits=(("| Clock | `app/clock.py` | Create |", "| Clock | `app/store.py` | Create |"),),
            expect=("planned-exists",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for path, line in planned_rows(case.document):
            if any(r.at == line and r.outcome in ("verified", "exists") for r in case.evidence.references):
                yield Fault(line=line, message=f"{path} is to be created, but it already exists", mark=path)
