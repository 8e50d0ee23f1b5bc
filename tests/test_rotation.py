"""The part of the tests that a run of one day has: no case is left out on every day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.rotation import tests_of_part as part_of


class Case(NamedTuple):
    """What the rotation reads of a test."""

    nodeid: str
    marks: tuple[pytest.Mark, ...]

    @property
    def path(self) -> Path:
        return Path(self.nodeid.partition("::")[0])

    def iter_markers(self) -> Iterator[pytest.Mark]:
        return iter(self.marks)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)


def cases(path: str, count: int, *marks: Any) -> list[Any]:
    return [Case(f"{path}::test_it[{number}]", tuple(mark.mark for mark in marks)) for number in range(count)]


ALL = [
    *cases("tests/a/test_one.py", 3, pytest.mark.process),
    *cases("tests/a/test_two.py", 13, pytest.mark.database),
    *cases("tests/a/test_three.py", 2, pytest.mark.process, pytest.mark.slow),
    *cases("tests/a/test_four.py", 6, pytest.mark.process, pytest.mark.rotating(6)),
    *cases("tests/a/test_plain.py", 3),
    *cases("tests/b/test_alone.py", 4, pytest.mark.slow),
    *cases("tests/b/test_many.py", 30),
]


def test_every_case_has_its_day() -> None:
    days = [part_of(ALL, day, 1, ()) for day in range(30)]
    assert {case.nodeid for day in days for case in day} == {case.nodeid for case in ALL}


def test_a_day_has_all_plain_tests_and_a_third_of_the_modules_with_long_ones() -> None:
    for day in range(6):
        kept = [case.path.name for case in part_of(ALL, day, 1, ())]
        assert kept.count("test_plain.py") == 3
        assert kept.count("test_four.py") == 1
        assert kept.count("test_alone.py") == 1
        assert kept.count("test_many.py") == 6
        assert len({"test_one.py", "test_two.py", "test_three.py"} & set(kept)) == 1


def test_changed_tests_run_with_all_cases_on_any_day() -> None:
    for day in range(6):
        kept = [case.path.name for case in part_of(ALL, day, 1, ("tests/a/test_two.py", "tests/b"))]
        assert (kept.count("test_two.py"), kept.count("test_many.py")) == (13, 30)
