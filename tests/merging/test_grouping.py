from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest
from building import row
from hypothesis import given
from hypothesis import strategies as st

from remit.merging import grouping
from remit.merging.grouping import group_rows
from remit.merging.merge import merge
from remit.merging.merge_data import Report, ReportedFinding
from remit.merging.titles import SAME_TITLE, folded_title, title_similarity


def grouped(rows: list[ReportedFinding]) -> list[list[ReportedFinding]]:
    return list(group_rows(rows))


_numbers = itertools.count()


def at(first: int, last: int | None = None, **rest: object) -> ReportedFinding:
    """A row of a separate agent, so that only its location counts."""
    return row(**{"agent": f"agent-{next(_numbers)}", "line": first, "end": last, **rest})  # type: ignore[arg-type]


def test_the_same_line_of_the_same_file_and_category_is_one_finding() -> None:
    assert len(grouped([at(10), at(10, agent="bandit")])) == 1


def test_another_category_at_the_same_place_stays_apart() -> None:
    assert len(grouped([at(10), at(10, category="security", title="Something else")])) == 2


def test_another_file_stays_apart() -> None:
    assert len(grouped([at(10), at(10, path="b.py")])) == 2


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ((10, 13), (12, 15), False),  # 2 of 4 is half, not more than half
        ((10, 13), (11, 14), True),  # 3 of 4
        ((10, 12), (12, 14), False),  # 1 of 3
        ((10, 12), (11, 13), True),  # 2 of 3
        ((10, 19), (12, 12), True),  # a line inside a range
        ((10, 19), (20, 20), False),
        ((10, 20), (12, 12), False),  # a range of over ten lines is no place
        ((10, 20), (10, 20), False),
    ],
)
def test_ranges_are_one_place_if_they_overlap_by_more_than_half_of_the_shorter(
    one: tuple[int, int], other: tuple[int, int], together: bool
) -> None:
    assert len(grouped([at(*one), at(*other, title="Else")])) == (1 if together else 2)


def test_a_long_range_groups_with_an_equal_title_that_it_overlaps() -> None:
    long = at(10, 40, category="security", title="Search: SQL Injection")
    assert len(grouped([long, at(38, title="SQL injection in search")])) == 1
    assert len(grouped([long, at(38), at(41, title="SQL injection in search")])) == 3
    assert len(grouped([long, at(30, 60, title="SQL injection in search")])) == 1
    assert len(grouped([at(10, 40, fingerprint="f"), at(12, fingerprint="f", title="Else")])) == 2


def test_a_long_range_joins_what_it_overlaps_in_a_crowded_file() -> None:
    rows = [at(line, title=f"w{line}") for line in range(1, 400)]
    long = [at(1, 500, title="w7"), at(2, 500, title="No other has it")]
    groups = grouped([*rows, *long])
    assert sorted(len(members) for members in groups)[-2:] == [1, 2]
    assert len(groups) == 400


def test_groups_are_connected_components() -> None:
    chain = [at(10, 13), at(11, 14), at(12, 15)]
    assert len(grouped(chain)) == 1


def test_a_finding_without_a_line_meets_only_its_own_title() -> None:
    there, same, other = at(10), row(line=None, title="A  BUG"), row(line=None, title="Else")
    assert len(grouped([there, same, row(line=None, title="a bug"), other])) == 3


def test_the_same_code_is_the_same_place_although_the_line_moved() -> None:
    assert len(grouped([at(10, fingerprint="f"), at(90, fingerprint="f")])) == 1


def brute_force(spans: list[tuple[int, int]]) -> list[list[int]]:
    """Components by comparing every pair."""
    sets = [{index} for index in range(len(spans))]
    for first in range(len(spans)):
        for other in range(first):
            shared = min(spans[first][1], spans[other][1]) - max(spans[first][0], spans[other][0]) + 1
            shorter = min(last - first + 1 for first, last in (spans[first], spans[other]))
            if shared * 2 > shorter and all(last - begin < 10 for begin, last in (spans[first], spans[other])):
                joined = next(s for s in sets if first in s) | next(s for s in sets if other in s)
                sets = [s for s in sets if not s & joined] + [joined]
    return sorted(sorted(members) for members in sets)


SPANS = st.tuples(st.integers(1, 40), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1]))


@given(st.lists(SPANS, max_size=14) | st.lists(SPANS, min_size=2, max_size=2))
def test_grouping_is_what_comparing_every_pair_gives(spans: list[tuple[int, int]]) -> None:
    marked = [at(first, last, name=str(index), title=_different(index)) for index, (first, last) in enumerate(spans)]
    groups = sorted(sorted(int(s.opinion.id) for s in members) for members in grouped(marked))
    assert groups == brute_force(spans)


def _different(index: int) -> str:
    """A title that is like no other."""
    return "".join(chr(ord("a") + (index * 7 + step * step * (index + 3)) % 26) for step in range(12))


def test_a_line_number_may_have_any_size() -> None:
    rows = [at(2**70), at(2**70), at(2**70 + 9), at(3)]
    assert [[row.opinion.line for row in members] for members in grouped(rows)] == [[3], [2**70, 2**70], [2**70 + 9]]
    reports = [Report(agent=row.opinion.agent, status="SUCCESS", verdict=None, rows=(row,)) for row in rows]
    merged = merge(reports)
    assert [finding.line for finding in merged.findings] == [2**70, 3, 2**70 + 9]


def test_ten_thousand_ranges_on_top_of_each_other_are_one_group() -> None:
    nested = [at(1 + index % 7, 10, title=f"{index:x}") for index in range(10_000)]
    random.Random(1).shuffle(nested)
    assert len(grouped(nested)) <= 2


def test_six_hundred_vulnerabilities_of_a_lock_file_match_by_rule() -> None:
    rows = [
        row(tool, path="package-lock.json", line=1, rule=f"CVE-2021-{number}", title=f"{tool} found number {number}")
        for tool in ("grype", "trivy")
        for number in range(600)
    ]
    groups = grouped(rows)
    assert len(groups) == 600
    assert all({member.opinion.agent for member in members} == {"grype", "trivy"} for members in groups)


HOSTILE: dict[str, Callable[[int], ReportedFinding]] = {
    "one line, one agent": lambda n: row("a", title=f"title {n}", line=1),
    "one line, many agents": lambda n: row(f"a{n}", title=f"title {n}", line=1),
    "nested ranges": lambda n: row(f"a{n % 3}", title=f"title {n % 50}", line=1 + n, end=100_000 - n),
    "one rule": lambda n: row("a", rule="X1", title=f"title {n}", line=1),
    "words shared by pairs": lambda n: row("ab"[n % 2], title=f"w{n // 2} w{n // 3} w{n // 5} w{n // 7}", line=1),
    "no line": lambda n: row("abc"[n % 3], rule=f"R{n}", title="the same", line=None),
}


@pytest.mark.parametrize("shape", HOSTILE)
def test_the_number_of_comparisons_grows_with_the_number_of_rows(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    candidates = grouping._candidates

    def counted(rows: list[ReportedFinding]) -> Iterator[tuple[int, int]]:
        nonlocal calls
        for pair in candidates(rows):
            calls += 1
            yield pair

    monkeypatch.setattr(grouping, "_candidates", counted)
    needed = []
    for size in (200, 2_000):
        calls = 0
        assert sum(map(len, grouped([HOSTILE[shape](number) for number in range(size)]))) == size
        needed.append(calls)
    assert needed[1] <= 12 * needed[0]
    assert needed[1] <= 80 * 2_000


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SQL injection in search", "Search: SQL Injection", True),
        ("Total is rounded twice", "The total is rounded", True),
        ("Password is logged", "Index is missing for the query", False),
        ("Unused import", "Query built from user input", False),
        ("検索文字列がSQLに連結される", "検索文字列がSQLへ連結される", True),
        ("", "", True),
        ("", "a bug", False),
    ],
)
def test_titles_are_compared_by_their_words(one: str, other: str, same: bool) -> None:
    folded = folded_title(one), folded_title(other)
    assert (title_similarity(*folded) >= SAME_TITLE) is same
    assert title_similarity(*folded) == title_similarity(*reversed(folded))
