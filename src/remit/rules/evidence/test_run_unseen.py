"""Rule `test-run-unseen`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import statement_message
from remit.rules.base import Case, Example, Fault, Rule


class TestRunUnseen(Rule):
    """The result shows a run that the receipts do not have, or whose outcome differs.

    Of a sentence such as "all tests pass" or "committed", the receipts show the opposite: the last run printed a failure
    and nothing changed since, or the commit was refused.
    """

    name = "test-run-unseen"
    code = "EVD013"
    needs = "receipts"
    level = "L1"
    requires = ("no-tool-calls",)
    help = "Run the tests and report their actual outcome, or state that you did not run them."
    prompt = "State a test run or a change only if you made it, with its actual outcome."
    good = (Example("implementation", receipts="everything"),)
    bad = (
        Example("implementation", expect=("no-tool-calls",), receipts="nothing"),
        Example("implementation", expect=("test-run-unseen",), receipts="no-run"),
        Example("implementation", expect=("test-run-unseen",), receipts="failed-run"),
        Example(
            "implementation",
            edits=(("2 passed in 0.01s", "1 failed, 1 passed in 0.01s"), (" All tests pass.", " One test fails.")),
            expect=("test-run-unseen",),
            receipts="everything",
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        reported: set[str] = set()  # several sentences about one run are one fault
        for checked in case.evidence.statements:
            if checked.fails and not checked.statement.path and checked.why not in reported:
                reported.add(checked.why)
                yield Fault(line=checked.statement.at, message=statement_message(checked), mark=checked.statement.text)
