"""Rule `blockers-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import is_none_text
from remit.rules.base import Case, Example, Fault, Rule


class BlockersMissing(Rule):
    """A result that is not a SUCCESS does not state what blocked it.

    A FAILED result needs Blockers or Recovery Options, so that a person or another agent can resolve the problem. For
    a PARTIAL result, Blockers are advice.
    """

    name = "blockers-missing"
    code = "RES014"
    level = "L1"
    help = "Add `### Blockers` with `- what blocks you | Resolution: what would resolve it`."
    good = (
        Example(
            "error", edits=(("### Blockers\n- The tests cannot run | Resolution: install the development tools\n", ""),)
        ),
        Example(
            "error",
            edits=(
                (
                    "### Recovery Options\n1. Install the tools: run the set-up command once\n\n",
                    "### Recovery Options\n1. Ask\n\n",
                ),
            ),
        ),
        Example(
            "generic",
            edits=(
                ("### Status\nSUCCESS", "### Status\nPARTIAL"),
                (
                    "### Next Steps",
                    "### Blockers\n- No key for the release | Resolution: ask for one\n\n### Next Steps",
                ),
            ),
        ),
    )
    bad = (
        Example(
            "error",
            edits=(
                (
                    "### Recovery Options\n1. Install the tools: run the set-up command once\n\n### Blockers\n- The tests cannot run | Resolution: install the development tools\n",
                    "",
                ),
            ),
            expect=("blockers-missing", "error-details-missing"),
        ),
        Example(
            "error",
            edits=(
                (
                    "### Recovery Options\n1. Install the tools: run the set-up command once\n\n### Blockers\n- The tests cannot run | Resolution: install the development tools\n",
                    "### Blockers\n- None\n",
                ),
            ),
            expect=("blockers-missing", "error-details-missing"),
        ),
        Example("generic", edits=(("### Status\nSUCCESS", "### Status\nPARTIAL"),), expect=("blockers-missing",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        named = [blocker for blocker in case.result.blockers if not is_none_text(blocker.text)]
        if case.failed and not named and not case.result.recovery_options:
            yield Fault(
                line=case.document.title_line, message="a FAILED result has neither Blockers nor Recovery Options"
            )
        if case.result.status == "PARTIAL" and case.document.section("blockers") is None:
            yield Fault(line=case.document.line_of("status"), message="a PARTIAL result has no Blockers", level="L3")
