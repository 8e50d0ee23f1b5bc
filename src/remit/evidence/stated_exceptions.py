"""What a statement excepts from the tests that passed, and whether just that failed.

`All tests pass except the login tests` names tests, `only one test fails` has their number.
"""

from __future__ import annotations

import re
from typing import Literal

from remit.evidence.kept_output import without_escapes
from remit.lazy import lazy_pattern

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = lazy_pattern(
    rf"\W*(?:(?:the|these|those|for|a single)\s)*(?P<number>\d{{1,6}}|{'|'.join(_NUMBERS)})\b"
    # The number of files is not that of their tests.
    r"(?!\s(?:[\w-]+\s){0,2}(?:files?|suites?|modules?|class(?:es)?|packages?|groups?)\b)",
    re.IGNORECASE,
)
#: What ends the words for the exception, and what is between two of them.
_END = lazy_pattern(
    r"[;)）。]|[.,]\s?$|\.\s|,\s(?!`|and\b|or\b|test)|\s[—–-]\s|\b(?:because|since|which|but|so|due)\b", re.IGNORECASE
)
_AND = lazy_pattern(r",|\b(?:and|or)\b|&", re.IGNORECASE)
_WORD = lazy_pattern(r"\w[\w.:/-]*\w|\w")
#: A name of a test or of a file, and no word of prose: `test_login`, `tests/login.py`.
_IDENTIFIER = lazy_pattern(r"\w[_.:/]+\w")
_PARTS = lazy_pattern(r"[^\W_]+")
#: Words that name no test.
_CLOSED = frozenset(
    """
    a all an any are by case cases fail failed failing fails failure failures file files for from in is its now of on
    only ones our single spec specs still suite suites test tests that the their these those two was were
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
) | frozenset(_NUMBERS)
#: The lines that name a test that failed, of pytest, Go, Cargo, unittest, jest, vitest, node and RSpec.
_FAILED_TEST = lazy_pattern(
    r"^(?:(?:FAILED|ERROR) (\S+)|\s*--- FAIL: (\S+)|test (\S+) \.\.\. FAILED|(?:FAIL|ERROR): (\w+ \(\S+\))"
    r"|\s*(?:[✕✗×✖●]|not ok \d+ -) (.{1,300}?)(?: \(?[\d.]+ ?m?s\)?)?|rspec (\S+:\d+).*)\s*(?: - .*|\([\d.]+s\))?$",
    re.MULTILINE,
)

Fit = Literal["same", "other number", "unknown"]


def exception_of(words: str) -> str:
    """Return the words for what is excepted, from the beginning of a text."""
    end = _END.search(words)
    return words[: end.start() if end else len(words)].strip()


def fit_of(exception: str, failed: int | None, output: str) -> Fit:
    """Return whether the tests that failed are those that are excepted: by their number and their names.

    A word of prose next to a number may name no test: `the 2 older failures`.
    """
    number = _NUMBER.match(exception)
    if number is not None:
        word = number["number"].lower()
        stated = int(word) if word.isdecimal() else _NUMBERS.index(word)
        if failed is None:
            return "unknown"
        if stated != failed:
            return "other number"
        if not any(map(_IDENTIFIER.search, _WORD.findall(exception))):
            return "same"
        exception = exception[number.end() :]
    names = _failed_tests(output)
    phrases = [phrase for part in _AND.split(exception) if (phrase := _names_in(part))]
    if not phrases or not names or len(names) != failed:
        return "unknown"
    is_each_named = all(any(phrase <= name for phrase in phrases) for name in names)
    is_each_failed = all(any(phrase <= name for name in names) for phrase in phrases)
    return "same" if is_each_named and is_each_failed else "unknown"


def _failed_tests(output: str) -> list[frozenset[str]]:
    """Return the tests that an output names as failed, each as the words of its name."""
    found = _FAILED_TEST.finditer(without_escapes(output))
    names = dict.fromkeys(name for match in found for name in match.groups() if name)
    return [_parts_of(name) for name in names]


def _names_in(phrase: str) -> frozenset[str]:
    words = [word for word in _WORD.findall(phrase) if word.lower() not in _CLOSED]
    return frozenset().union(*map(_parts_of, words))


def _parts_of(name: str) -> frozenset[str]:
    return frozenset(part.lower() for part in _PARTS.findall(name))
