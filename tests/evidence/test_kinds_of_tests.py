"""ExUnit counts tests, doctests and properties apart: their sum is the number of tests."""

from __future__ import annotations

import pytest

from remit.evidence.judge_statements import StatementJudge
from remit.evidence.kept_output import kept_output
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.run_outcomes import line_counts


def outcome(text: str, output: str) -> str:
    run = Receipt("Bash", {"command": "mix test"}, exit=0, output=kept_output("mix test", output))
    judge = StatementJudge(ReceiptIndex([run], "/"))
    [statement] = read_statements(text)
    return judge.judge(statement).outcome


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("All 23 tests pass.", "3 doctests, 20 tests, 0 failures", "verified"),
        ("All 20 tests pass.", "3 doctests, 20 tests, 0 failures", "verified"),
        ("All 21 tests pass.", "3 doctests, 20 tests, 0 failures", "contradicted"),
        ("All 18 tests pass.", "2 doctests, 4 properties, 12 tests, 0 failures, 1 skipped", "verified"),
        ("All 14 tests pass.", "4 properties, 12 tests, 0 failures", "contradicted"),
        ("All tests pass.", "4 properties, 12 tests, 0 failures", "verified"),
        ("All tests pass.", "4 properties, 12 tests, 2 failures", "contradicted"),
        ("All tests pass.", "0 properties, 0 tests, 0 failures", "unchecked"),
    ],
)
def test_the_number_of_tests_is_the_sum_of_all_kinds(text: str, output: str, expected: str) -> None:
    assert outcome(text, f"Finished in 0.4 seconds\n{output}\n") == expected


@pytest.mark.parametrize("line", ["2 failed, 10 tests, 0 failures", "5 examples, 0 failures", "10 tests, 0 failures"])
def test_a_summary_of_one_kind_is_counted_as_it_is(line: str) -> None:
    assert line_counts(line)["total"] in (5, 10)
