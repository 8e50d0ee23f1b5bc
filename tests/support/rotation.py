"""Which tests run on which day: the long ones take turns.

A run of `dev.py test` has a part of the long tests. The part is the number of the day, so that consecutive days run
everything.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

#: A test that is slow or has this many cases runs one case in five, unless it has the mark `rotating`.
_MANY_CASES = 12
_PARTS_OF_LONG_TESTS = 5
#: Of the modules of a folder with tests that are marked as database, process or slow, every third one runs these tests,
#: the others on the next days. Tests with the mark `rotating` and modules next to this file run every day instead.
_PARTS_OF_MODULES = 3
_LONG_MARKS = frozenset({"database", "process", "slow"})
#: Tests that run all their cases on the day of their module: a kill at each step of a job.
_ALL_CASES = ("tests/dispatch/crash/", "tests/orchestrate/test_killed_driver.py")
#: A test with a case for each provider of models runs one of them.
_PROVIDER_CASE = re.compile(r"\[.*\b(?:anthropic|openai)\b")


def function_of(item: pytest.Item) -> str:
    """Return the name of a test without its case."""
    return item.nodeid.partition("[")[0]


def tests_of_part(items: list[pytest.Item], part: int, parts: int, whole: tuple[str, ...]) -> list[pytest.Item]:
    """Return the tests of a part: what is in turn of the long tests, and one in `parts` of all others."""
    sizes, places = Counter(map(function_of, items)), Counter[str]()
    modules = _turns_of_modules(items)
    kept = []
    for place, item in enumerate(items):
        function = function_of(item)
        in_turn = min(_turns(item, sizes[function]), sizes[function])
        module, days = modules[item.path] if _takes_turns(item) else (0, 1)
        # Each time a module is in turn, the next cases of its tests are.
        is_in_part = (module + part) % days == 0 and (places[function] + part // days) % in_turn == 0
        is_in_part = is_in_part and (place + part) % parts == 0
        if is_in_part or (whole and item.nodeid.startswith(whole)):
            kept.append(item)
        places[function] += 1
    return kept


def _takes_turns(item: pytest.Item) -> bool:
    """Return whether a test runs on the days of its module only."""
    marks = {mark.name for mark in item.iter_markers()}
    return bool(marks & _LONG_MARKS) and "rotating" not in marks and item.nodeid.count("/") > 1


def _turns_of_modules(items: list[pytest.Item]) -> dict[Path, tuple[int, int]]:
    """Return for each module with long tests its place in its folder, and in how many days the folder runs all."""
    folders: dict[Path, set[Path]] = {}
    for item in items:
        if _takes_turns(item):
            folders.setdefault(item.path.parent, set()).add(item.path)
    return {
        path: (place, min(_PARTS_OF_MODULES, len(paths)))
        for paths in folders.values()
        for place, path in enumerate(sorted(paths))
    }


def _turns(item: pytest.Item, cases: int) -> int:
    """Return in how many parts the cases of a test are run."""
    if mark := item.get_closest_marker("rotating"):
        return int(mark.args[0])
    if _PROVIDER_CASE.search(item.nodeid):
        return 2
    is_long = item.get_closest_marker("slow") or cases >= _MANY_CASES
    return _PARTS_OF_LONG_TESTS if is_long and not item.nodeid.startswith(_ALL_CASES) else 1
