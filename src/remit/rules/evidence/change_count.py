"""Rule `change-count`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class ChangeCount(Rule):
    """A stated number of lines differs from the file or from git.

    Small differences are harmless. Large ones show that the agent did not count.
    """

    name = "change-count"
    code = "EVD011"
    needs = "repository"
    level = "L3"
    help = "Count the lines again, or remove the number."
    bad = (
        Example(
            "implementation",
            edits=(("| tests of the login | 12 |", "| tests of the login | 13 |"),),
            expect=("change-count",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for change in case.evidence.changes:
            if change.stated is not None and change.stated != change.counted:
                yield Fault(
                    line=change.at,
                    message=f"{change.path}: {change.claim}, counted {change.counted}",
                    mark=str(change.stated),
                )
