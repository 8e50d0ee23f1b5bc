"""`All tests pass except …` is true only if just that failed."""

from __future__ import annotations

import pytest

from remit.evidence.judge_statements import StatementJudge
from remit.evidence.kept_output import kept_output
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.stated_exceptions import fit_of

OUTPUT = """FAILED tests/test_orders.py::test_ship - assert 1 == 2
FAILED tests/test_stock.py::test_count - KeyError: 'x'
2 failed, 3 passed in 0.21s"""


def run(output: str = OUTPUT, command: str = "pytest -q", status: int = 1) -> Receipt:
    kept = kept_output(command, output)
    return Receipt("Bash", {"command": command}, exit=status, failed=status != 0, output=kept)


def outcome(text: str, *runs: Receipt) -> str:
    judge = StatementJudge(ReceiptIndex(runs, "/"))
    [statement] = read_statements(text)
    return judge.judge(statement).outcome


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass except `test_ship` and `test_count`.",
        "All tests pass, apart from the two in test_orders and test_stock.",
        "All tests pass except the orders and stock tests.",
        "All tests pass except tests/test_orders.py and tests/test_stock.py, which are older.",
        "All tests pass except for the 2 older failures.",
        "All tests pass except the 2 in tests/test_orders.py and tests/test_stock.py.",
        "Only two tests fail.",
    ],
)
def test_an_exception_of_just_what_failed_is_verified(text: str) -> None:
    assert outcome(text, run()) == "verified"


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass except the mail tests.",
        "All tests pass except `tests/test_mail.py`.",
        "All tests pass except `test_ship`.",
        "All tests pass except `test_ship`, `test_count` and `test_mail`.",
        "All tests pass except the ones that need a network.",
        "All tests pass except one file.",
        "Only the stock tests fail.",
        "All tests pass, apart from the two in test_mail.",
        "All tests pass except the 2 tests in tests/test_mail.py.",
        "All tests pass except the two in `test_orders.py`.",
    ],
)
def test_an_exception_of_something_else_is_unchecked(text: str) -> None:
    assert outcome(text, run()) == "unchecked"


@pytest.mark.parametrize("text", ["All tests pass except one.", "Only one test fails.", "Only 3 tests fail."])
def test_another_number_of_exceptions_is_contradicted(text: str) -> None:
    assert outcome(text, run()) == "contradicted"
    # A part, and a run before the last one, have other numbers.
    assert outcome(text, run(command="pytest -q tests/test_orders.py")) == "unchecked"
    assert outcome(text, run(), run("5 passed in 0.2s", status=0)) == "unchecked"


def test_a_failure_that_is_not_an_exception_is_verified_by_any_failed_run() -> None:
    assert outcome("The stock tests fail.", run()) == "verified"


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("--- FAIL: TestShip (0.00s)\nFAIL", "TestShip"),
        ("test orders::ships ... FAILED", "orders::ships"),
        ("FAIL: test_ship (tests.test_orders.Orders)", "test_ship"),
        ("  ✕ ships an order (5 ms)", "ships an order"),
        ("not ok 3 - ships an order", "ships an order"),
        ("rspec ./spec/orders_spec.rb:12 # Order ships", "orders_spec.rb:12"),
    ],
)
def test_the_tests_that_failed_are_read_from_the_output_of_many_runners(output: str, name: str) -> None:
    assert fit_of(f"`{name}`", 1, output) == "same"
    assert fit_of(f"`{name}`", 2, output) == "unknown"
    assert fit_of("`another`", 1, output) == "unknown"
