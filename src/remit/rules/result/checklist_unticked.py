"""Rule `checklist-unticked`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import plain_text
from remit.rules.base import Case, Example, Fault, Rule


class ChecklistUnticked(Rule):
    """A box of the checklist is not ticked.

    An open box means that the agent skipped a check and knows it.
    """

    name = "checklist-unticked"
    code = "RES011"
    level = "L1"
    in_short_form = False
    levels = {"v1": None}
    requires = ("checklist-missing",)
    help = "Do the check that the open box names and tick it, or report the result as PARTIAL with a blocker."
    good = (
        Example(
            "error",
            edits=(
                (
                    "### Blockers",
                    "### Verification Completed\n- [ ] **File References Valid**: nothing could be opened\n\n### Blockers",
                ),
            ),
        ),
        Example("generic", edits=(("- [x] **File", "- ✅ **File"),)),
    )
    bad = (
        Example("generic", edits=(("- [x] **Code Snippets", "- [ ] **Code Snippets"),), expect=("checklist-unticked",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.failed:
            return
        for tick in case.result.checklist:
            if not tick.ticked:
                yield Fault(line=tick.line, message=f"the box {plain_text(tick.text)[:60]!r} is not ticked", mark="[ ]")
