"""Rule `no-tool-calls`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class NoToolCalls(Rule):
    """The result cites code, but the agent made no tool call.

    References to files that were never opened are invented.
    """

    name = "no-tool-calls"
    code = "EVD012"
    needs = "receipts"
    level = "L1"
    help = "Open the files that you cite, and write the result from what you read."
    good = (Example("error", edits=(("`tests/test_login.py:1`", "the set-up step"),), receipts="nothing"),)
    bad = (Example("generic", expect=("no-tool-calls",), receipts="nothing"),)

    def check(self, case: Case) -> Iterator[Fault]:
        cited = sum(not reference.is_elsewhere for reference in case.evidence.references)
        if case.evidence.tool_calls == 0 and cited:
            yield Fault(
                line=case.document.title_line,
                message=f"{cited} locations are cited, but no tool was used",
            )
