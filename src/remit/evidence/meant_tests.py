"""Which runs a statement about tests may mean: all tests, some of them, those of a file, or those that failed.

A statement is plain if it can mean only one run: apart from the outcome and what it is of, it has only words that do
not choose, such as `all`, `now` and `the`. `All tests pass` is plain, `the stress tests pass` and `the test shows that
the tree is clean` are not.
"""

from __future__ import annotations

import re
from collections.abc import Container

from remit.evidence.find_runs import find_runs
from remit.evidence.model import Check, WorkStatement
from remit.evidence.run_history import Ran
from remit.evidence.run_outcomes import RunOutcome, line_counts
from remit.evidence.statement_words import EVERY, PART, PASSED, SUBJECT
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

_NUMBER = lazy_pattern(r"\d[\d,./%]*(?:ms|s)?\b")
_CLAUSE_END = lazy_pattern(
    r"[.;!?,，。；！？、]|\b(?:and|but|so|then|while|because|which|since|after|before|although|when|if)\b",
    re.IGNORECASE,
)
_FAILURES = lazy_pattern(r"(?<![\d.,])([1-9]\d{0,5})\s(?:[\w-]+\s){0,2}?fail", re.IGNORECASE)
_BRACKETS = lazy_pattern(r"[(（]([^()（）]{0,200})[)）]")
#: The end of a label, or of what is added to one: `Tests (unit): all pass`.
_LABEL_END = lazy_pattern(r"[:|()—–：（）]|\s-\s")
#: The lines of a run of tests that show a failure of the build.
_BUILD_FAILED = lazy_pattern(r"\berror\b(?!s)|\bERROR\b|BUILD FAIL|Build FAIL|Build failed|\.go:\d|cannot|not found")
#: Words that choose no part of the tests and no other subject.
_CLOSED = frozenset(
    """
    a all already also an are been both by can change changed changes check checks clean cleanly code codebase
    complete completed completely confirm confirmed cross done each entire error errors every everything existing
    failure failures fine finished fixed full fully good great green has have i in is issue issues it its locally my
    no now of ok okay or our overall perfect problem problems project ran re reported reports result results run
    running runs status still successful successfully summary that the these they this total unchanged verification
    verified via warning warnings we whole with without works x yes you zero
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_CLOSED_CJK = lazy_pattern(
    r"[所有全部均都已经也的了现在个项条共我并且次着过得到吗现]|すべて|全て|これで|現在|しました|ました|します|ています|です|[件個のがはもをにでてしたいる]"
)
#: Words that `SUBJECT` takes for the checks.
_WORDS: dict[Check, str] = {"test": "tests", "build": "build", "lint": "linter", "types": "mypy"}
_LETTERS = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_plain(statement: WorkStatement) -> bool:
    """Return whether a statement that a check succeeded can mean only one run."""
    text = _CODE.sub(lambda code: _named_by(code[0]), statement.text)
    text = _NUMBER.sub(" ", text.replace("**", "").replace("__", " "))
    text = _BRACKETS.sub(lambda part: f"({_CLAUSE_END.sub(' ', part[1])})", text)
    before: set[Check] = set()
    for clause in _CLAUSE_END.split(text):
        subjects: set[Check] = set()
        for part in _LABEL_END.split(clause):
            if not _is_closed(part):
                subjects = set()
                break  # what is behind a label is about the label
            checks = _checks_of(part)
            subjects = checks or subjects
            if not PASSED.search(part):
                continue
            meant = subjects or before
            if statement.check in meant or (not meant and bool(statement.counts)):
                return True
        before = subjects if clause.strip() else before
    return False


def _named_by(code: str) -> str:
    """Return words for the checks of a command in code marks; the code itself if it is another command."""
    checks = {check for run in find_runs(code.strip("`")) for check in run.checks}
    return " ".join(_WORDS[check] for check in sorted(checks) if check in _WORDS) or code


def _is_closed(clause: str) -> bool:
    """Return whether a clause has only an outcome, what it is of, and words that do not choose."""
    rest = _CLOSED_CJK.sub(" ", SUBJECT.sub(" ", PASSED.sub(" ", clause)))
    return all(word.lower() in _CLOSED for word in _LETTERS.findall(rest))


def _checks_of(clause: str) -> set[Check]:
    return {
        kind for match in SUBJECT.finditer(clause) for kind in ("build", "lint", "types", "test") if match[kind]
    } | ({"command"} if "checks" in clause.lower() else set())


def stated_failures(text: str) -> frozenset[int]:
    """Return the numbers of failures that a text states: `the 4 failures are older`."""
    return frozenset(int(match[1]) for match in _FAILURES.finditer(text))


def is_of_numbers(statement: WorkStatement, output: str, failures: Container[int]) -> bool:
    """Return whether a statement has the number of tests that passed in an output, or its text that of the failures."""
    passed = dict(statement.counts).get("passed")
    printed = [line_counts(line) for line in output.split("\n")]
    return any(counts.get("failed", 0) in failures or (passed and counts.get("passed") == passed) for counts in printed)


def is_of_another(statement: WorkStatement, ran: Ran, outcome: RunOutcome) -> bool:
    """Return whether a failed run of one script or file may not be what a sentence is about.

    The sentence names another file, or it has a number, and only the exit status of a script shows a failure. Or it is
    about a build or an analysis, and tests failed.
    """
    run = ran.run
    if run is None:
        return False
    if statement.check != "test":
        is_by_the_way = "test" in run.checks and statement.check in ("build", "lint", "types")
        return is_by_the_way and _BUILD_FAILED.search(outcome.line) is None
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
    return len(totals) <= 60 and any(a + b == stated for index, a in enumerate(totals) for b in totals[index + 1 :])


def has_modifier(statement: WorkStatement) -> bool:
    """Return whether a word before `tests` may name some of them: `the stress tests`."""
    return _MODIFIED.search(_CODE.sub("", statement.text)) is not None
