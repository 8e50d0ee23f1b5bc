"""An outcome that holds under a condition, or of another run, is not a statement about what happened."""

from __future__ import annotations

import pytest

from remit.evidence.judge_statements import StatementJudge
from remit.evidence.kept_output import kept_output
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import Receipt, ReceiptIndex

OUTPUT = "==== 2 failed, 3 passed in 0.21s ===="


def outcomes(text: str) -> list[str]:
    run = Receipt("Bash", {"command": "pytest"}, exit=1, failed=True, output=kept_output("pytest", OUTPUT))
    judge = StatementJudge(ReceiptIndex([run], "/"))
    return [judge.judge(statement).outcome for statement in read_statements(text)]


@pytest.mark.parametrize(
    "text",
    [
        "If the server is up, all tests pass.",
        "Once the queue is empty, all tests pass.",
        "Once Redis runs, all tests pass.",
        "When the old files are removed, all 5 tests pass.",
        "As soon as the image has been built, all tests pass.",
        "Unless the date is fixed, all tests pass.",
        "After you export `TOKEN`, all tests pass.",
        "Provided that the port is free, all tests pass.",
        "Assuming a fresh clone, all tests pass.",
        "It is slow, and if the port is free, all tests pass.",
        "With `-p no:cacheprovider`, all tests pass.",
        "With `SEED=1`, all tests pass.",
        "All tests pass when started alone.",
        "All tests pass once you start the server.",
        "All tests pass locally if the port is free.",
        "All tests pass as long as the server runs.",
        "According to your log, all tests pass.",
        "According to the pipeline, all tests pass.",
        "Before the change, all tests passed.",
        "All tests passed before my edit.",
    ],
)
def test_a_condition_or_another_run_is_not_a_statement(text: str) -> None:
    assert outcomes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "After the fix, all tests pass.",
        "After fixing the port, all 5 tests pass.",
        "After I removed the old files, all tests pass.",
        "Once I fixed the port, all tests passed.",
        "Once the port was fixed, all tests passed.",
        "Now that the port is free, all tests pass.",
        "When running the suite, all tests pass.",
        "With this change, all tests pass.",
        "With test_cart fixed, all tests pass.",
        "If you have questions, ask; all tests pass.",
        "All tests pass when I run `pytest`.",
        "All tests pass after the fix.",
        "Before committing, all tests passed.",
        "According to the test output, all tests pass.",
    ],
)
def test_what_was_done_before_a_run_is_not_a_condition(text: str) -> None:
    assert outcomes(text) != []
    assert "verified" not in outcomes(text)


@pytest.mark.parametrize(
    "words",
    ["excluding the slow ones", "with the exception of the mail tests", "bar three", "aside from the slow ones"],
)
def test_each_word_for_an_exception_is_one(words: str) -> None:
    [statement] = read_statements(f"All tests pass, {words}.")
    assert statement.exception
    assert outcomes(f"All tests pass, {words}.") != ["verified"]


def test_a_bar_is_not_an_exception() -> None:
    [statement] = read_statements("All tests pass and the bar is green.")
    assert (statement.passed, statement.exception) == (True, "")
