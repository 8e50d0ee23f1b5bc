"""Which runs a statement about tests may mean: all tests, some of them, those of a file, or those that failed."""

from __future__ import annotations

import re

from remit.evidence.find_runs import RunOutcome
from remit.evidence.model import WorkStatement
from remit.evidence.run_history import Ran
from remit.evidence.statement_words import EVERY, PART
from remit.lazy import lazy_pattern

_NUMBER_OF_TESTS = lazy_pattern(r"(?<![\d.,])(\d{1,6})\s(?:\w+\s)?(?:tests?|specs?)\b", re.IGNORECASE)
_TEST_FILE = lazy_pattern(
    r"[\w.-]*(?:test|spec)[\w.-]*\.(?:py|[cm]?[jt]sx?|rb|php|go|rs|java|sh|bats|t)\b", re.IGNORECASE
)
_CODE = lazy_pattern(r"`[^`]{0,300}`")
#: Tests with a word before them, which may name some of them: `the stress tests`.
_MODIFIED = lazy_pattern(
    r"(?<![\w-])(?!(?:all|the|our|my|any|these|those|existing|remaining|other|of|your|full|entire|whole|complete|and|both"
    r"|every|each|test|running|ran|run|that|now|no)\b)[A-Za-z][\w-]*\s(?:tests?|specs?|suites?)\b",
    re.IGNORECASE,
)
#: The parts of a command that may be the name of a file.
_NAME = lazy_pattern(r"[\w.@+-]{1,250}")


def is_of_another(statement: WorkStatement, ran: Ran, outcome: RunOutcome) -> bool:
    """Return whether a failed run of one script or file may not be what a sentence is about.

    The sentence names another file, or it has a number, and only the exit status of a script shows a failure.
    """
    run = ran.run
    if run is None or statement.check != "test":
        return False
    names = _TEST_FILE.findall(statement.text)
    if names and _TEST_FILE.search(run.words) and not any(name in run.words for name in names):
        return True
    return not outcome.line and run.is_indirect and bool(statement.counts) and not EVERY.search(statement.text)


def is_about_failures(statement: WorkStatement, printed: dict[str, int]) -> bool:
    """Return whether a number of tests is that of the failed ones: `38 red tests` of 38 failed and 670 passed."""
    failed, passed = printed.get("failed", 0), printed.get("passed", 0)
    if not 0 < passed != failed:
        return False
    numbers = _NUMBER_OF_TESTS.findall(statement.text)
    return str(failed) in numbers and str(passed) not in numbers


def is_about_all(statement: WorkStatement) -> bool:
    """Return whether a statement is about all tests, without their number or the command that ran them."""
    is_specific = statement.is_part or bool(statement.command) or "passed" in dict(statement.counts)
    text = statement.text
    return statement.check == "test" and not is_specific and bool(EVERY.search(text)) and not PART.search(text)


def shows_all(ran: Ran, statement: WorkStatement) -> bool:
    """Return whether a run was of all tests, or of those that the statement names."""
    if ran.run is None or not ran.run.is_part:
        return True
    return any(
        _NAME.fullmatch(name) and name in statement.text for name in re.split(r"[\s/]", ran.run.words) if "." in name
    )


def is_sum(stated: int, totals: list[int]) -> bool:
    """Return whether a number is the sum of the last totals: a project may have several suites."""
    total = 0
    for number in reversed(totals[-12:]):
        total += number
        if total == stated:
            return True
    return len(totals) <= 60 and any(a + b == stated for at, a in enumerate(totals) for b in totals[at + 1 :])


def has_modifier(statement: WorkStatement) -> bool:
    """Return whether a word before `tests` may name some of them: `the stress tests`."""
    return _MODIFIED.search(_CODE.sub("", statement.text)) is not None
