"""Rule `next-steps-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class NextStepsMissing(Rule):
    """The result has no Next Steps.

    The agent is in the best position to state what should follow its work. A FAILED result uses Recovery Options
    instead.
    """

    name = "next-steps-missing"
    code = "RES016"
    level = "L3"
    in_short_form = False
    help = "Add `### Next Steps` with one to three concrete actions."
    bad = (Example("generic", edits=(("\n### Next Steps\n1. Tag the release\n", ""),), expect=("next-steps-missing",)),)

    def check(self, case: Case) -> Iterator[Fault]:
        if not case.failed and not case.result.next_steps:
            yield Fault(line=case.document.line_of("next_steps"), message="there are no Next Steps")
