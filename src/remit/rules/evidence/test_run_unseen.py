"""Rule `test-run-unseen`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import statement_message
from remit.rules.base import Case, Example, Fault, Rule


class TestRunUnseen(Rule):
    """The result states a run that the receipts do not confirm: of tests, a build, a linter or another command.

    The receipts contain no such command, or the outcome of the last one differs. The same applies to files that the
    author states to have read, and to agents that the author states to have asked.
    """

    name = "test-run-unseen"
    code = "EVD013"
    needs = "runs"
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
            if checked.fails and checked.statement.kind != "change" and checked.why not in reported:
                reported.add(checked.why)
                yield Fault(line=checked.statement.at, message=statement_message(checked), mark=checked.statement.text)
