"""Rule `partial-but-complete`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

_INCOMPLETE = lazy_pattern(
    r"\b(?:incomplete|could not|couldn't|unable|not (?:yet )?(?:reviewed|read|checked|finished)|remains?|ran out|partial)\b"
    r"|未完|できません|できなかった|未完成|无法",
    re.IGNORECASE,
)


class PartialButComplete(Rule):
    """A complete review has the status PARTIAL.

    PARTIAL means that the task is incomplete. A review that found bugs and covered its whole scope is a SUCCESS.
    """

    name = "partial-but-complete"
    code = "RES020"
    level = "L3"
    help = "Write SUCCESS if the review is complete. If it is not, state under Blockers what is missing."
    good = (
        Example(
            "review",
            edits=(
                ("### Status\nSUCCESS", "### Status\nPARTIAL"),
                ("### Next Steps", "### Blockers\n- app/store.py is missing | Resolution: send it\n\n### Next Steps"),
            ),
        ),
    )
    bad = (
        Example(
            "review",
            edits=(("### Status\nSUCCESS", "### Status\nPARTIAL"),),
            expect=("blockers-missing", "partial-but-complete"),
        ),
        Example(
            "review",
            edits=(
                ("### Status\nSUCCESS", "### Status\nPARTIAL"),
                ("Both can be fixed in one line each.", "The store could not be read."),
            ),
            expect=("blockers-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.kind.name != "review" or case.result.status != "PARTIAL" or case.document.section("blockers"):
            return
        if case.findings and not _INCOMPLETE.search(case.result.summary + case.result.uncertainty):
            yield Fault(
                line=case.document.line_of("status"),
                message="the review is PARTIAL but does not state what is incomplete",
            )
