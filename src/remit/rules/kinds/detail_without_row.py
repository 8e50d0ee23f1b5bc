"""Rule `detail-without-row`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class DetailWithoutRow(Rule):
    """Issue Details describe an ID that is not in the table.

    An issue that is not in the table is not counted, not merged and not fixed.
    """

    name = "detail-without-row"
    code = "KND006"
    level = "L2"
    in_short_form = False
    requires = ("block-missing", "wrong-column", "empty-table")
    help = "Add a row with that ID to Issues Detected, or correct the ID."
    prompt = "Each entry of Issue Details has the ID of a row of Issues Detected."
    kinds = ("review",)
    bad = (
        Example(
            "review",
            edits=(
                (
                    "**SEC-002: Passwords compared in variable time**",
                    "**SEC-003: Passwords compared in variable time**",
                ),
            ),
            expect=("detail-without-row",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        ids = {finding.id.upper() for finding in case.findings}
        for detail in case.details:
            if detail.id.upper() not in ids:
                yield Fault(
                    line=detail.line, message=f"{detail.id} has details but no row in Issues Detected", mark=detail.id
                )
