"""Rule `resolution-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import is_none_text
from remit.rules.base import Case, Example, Fault, Rule


class ResolutionMissing(Rule):
    """A blocker does not state what would resolve it.

    The reader of a blocker has to act on it. What would resolve it is often known only to the agent that met it.
    """

    name = "resolution-missing"
    code = "RES022"
    level = "L3"
    since = "0.2"
    help = "Add `| Resolution: what would resolve it` to the blocker, on its line or the next one."
    good = (
        Example(
            "generic",
            edits=(("### Next Steps", "### Blockers\n- No key\n  Resolution: ask for one\n\n### Next Steps"),),
        ),
        Example("generic", edits=(("### Next Steps", "### Blockers\n- None\n\n### Next Steps"),)),
    )
    bad = (
        Example(
            "generic",
            edits=(("### Next Steps", "### Blockers\n- No key for the release\n\n### Next Steps"),),
            expect=("resolution-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for blocker in case.result.blockers:
            if not is_none_text(blocker.text) and not blocker.resolution.strip():
                yield Fault(line=blocker.line, message=f"the blocker {blocker.text[:60]!r} has no resolution")
