from __future__ import annotations

import random

import pytest
from building import row
from hypothesis import given
from hypothesis import strategies as st

from remit.merging.grouping import group_findings
from remit.merging.model import ReportedFinding


def grouped(rows: list[ReportedFinding], window: int = 0) -> list[list[ReportedFinding]]:
    return list(group_findings(rows, window))


def places(groups: list[list[ReportedFinding]]) -> list[list[tuple[int | None, int | None]]]:
    return sorted(sorted((s.opinion.line, s.end_line) for s in members) for members in groups)  # type: ignore[type-var]


def at(first: int, last: int | None = None, **rest: object) -> ReportedFinding:
    return row(line=first, end=last, **rest)  # type: ignore[arg-type]


def test_the_same_line_of_the_same_file_and_category_is_one_finding() -> None:
    assert len(grouped([at(10), at(10, agent="bandit")])) == 1


def test_another_category_at_the_same_place_stays_apart() -> None:
    assert len(grouped([at(10), at(10, category="security")])) == 2


def test_another_file_stays_apart() -> None:
    assert len(grouped([at(10), at(10, path="b.py")])) == 2


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ((10, 13), (12, 15), False),  # 2 of 4 is half, not more than half
        ((10, 13), (11, 14), True),  # 3 of 4
        ((10, 12), (12, 14), False),  # 1 of 3
        ((10, 12), (11, 13), True),  # 2 of 3
        ((10, 30), (12, 12), True),  # a line inside a range
        ((10, 30), (31, 31), False),
    ],
)
def test_ranges_are_one_place_if_they_overlap_by_more_than_half_of_the_shorter(
    one: tuple[int, int], other: tuple[int, int], together: bool
) -> None:
    assert len(grouped([at(*one), at(*other)])) == (1 if together else 2)


def test_groups_are_connected_components() -> None:
    chain = [at(10, 13), at(11, 14), at(12, 15)]
    assert len(grouped(chain)) == 1


def test_a_finding_without_a_line_meets_only_its_own_title() -> None:
    there, same, other = at(10), row(line=None, title="A  BUG"), row(line=None, title="Else")
    assert len(grouped([there, same, row(line=None, title="a bug"), other])) == 3


def test_the_same_code_is_the_same_place_although_the_line_moved() -> None:
    assert len(grouped([at(10, fingerprint="f"), at(90, fingerprint="f")])) == 1


def test_a_window_joins_lines_that_are_near() -> None:
    assert len(grouped([at(10), at(12)])) == 2
    assert len(grouped([at(10), at(12)], window=2)) == 1
    assert len(grouped([at(10), at(13)], window=2)) == 2


def brute_force(spans: list[tuple[int, int]], window: int) -> list[list[int]]:
    """Components by comparing every pair."""
    sets = [{index} for index in range(len(spans))]
    for one in range(len(spans)):
        for other in range(one):
            shared = min(spans[one][1], spans[other][1]) - max(spans[one][0], spans[other][0]) + 1
            shorter = min(last - first + 1 for first, last in (spans[one], spans[other]))
            if shared * 2 > shorter or (window and 1 - shared <= window):
                joined = next(s for s in sets if one in s) | next(s for s in sets if other in s)
                sets = [s for s in sets if not s & joined] + [joined]
    return sorted(sorted(members) for members in sets)


SPANS = st.tuples(st.integers(1, 40), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1]))


@given(st.lists(SPANS, max_size=14) | st.lists(SPANS, min_size=2, max_size=2), st.sampled_from([0, 0, 1, 3]))
def test_grouping_is_what_comparing_every_pair_gives(spans: list[tuple[int, int]], window: int) -> None:
    marked = [at(first, last, title=str(index)) for index, (first, last) in enumerate(spans)]
    found = [[int(s.opinion.title) for s in members] for members in grouped(marked, window)]
    assert found == brute_force(spans, window), "groups and their members come in the order of the input"


def test_ten_thousand_ranges_on_top_of_each_other_are_one_group() -> None:
    nested = [at(1 + index, 30_000 - index) for index in range(10_000)]
    random.Random(1).shuffle(nested)
    assert len(grouped(nested)) == 1
