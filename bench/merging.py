"""The cost of merging many reports."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from copy import copy
from functools import cache, partial
from typing import NamedTuple

from measure import Bench, medians

from remit.merging.agree import combine
from remit.merging.conflicts import conflicts_of
from remit.merging.grouping import group_findings
from remit.merging.merge import merge_reports, row_order
from remit.merging.merge_data import Merge, MergeSettings, Opinion, Report, ReportedFinding


@cache
def _reports(results: int, findings: int, files: int = 200) -> tuple[Report, ...]:
    """Return reports of agents on the same files, each with its own findings."""
    chance = random.Random(11)
    return tuple(
        Report(
            agent=f"agent-{number % 10}",
            status="SUCCESS",
            verdict="accept",
            rows=tuple(_reported_finding(chance, f"agent-{number % 10}", index, files) for index in range(findings)),
        )
        for number in range(results)
    )


def _reported_finding(chance: random.Random, agent: str, index: int, files: int = 200) -> ReportedFinding:
    line = chance.randrange(1, 20_000)
    return ReportedFinding(
        opinion=Opinion(
            agent=agent,
            id=f"QA-{index:03}",
            severity=chance.choice(("critical", "important", "minor")),
            confidence=float(chance.randrange(50, 100)),
            line=line,
            title=f"Finding {index}",
        ),
        path=f"module_{chance.randrange(files)}.py",
        end_line=line + 5 if chance.random() < 0.3 else None,
        category=chance.choice(("quality", "security")),
        verified=True,
    )


def _group_by(reports: tuple[Report, ...]) -> int:
    """The baseline: the same keys, nothing computed."""
    groups: dict[tuple[str | None, str, int | None], list[ReportedFinding]] = defaultdict(list)
    for report in reports:
        for row in report.rows:
            groups[(row.path, row.category, row.opinion.line)].append(row)
    return len([sorted(group, key=lambda s: s.opinion.confidence) for group in groups.values()])


def _grouped_and_made(reports: tuple[Report, ...]) -> int:
    """The floor of a merge: the group-by, and one object for each finding that it returns."""
    return _group_by(reports) + len(list(map(copy, _merged(reports))))


@cache
def _merged(reports: tuple[Report, ...]) -> list[object]:
    return list(_merge(reports).findings)


def _merge(reports: tuple[Report, ...]) -> Merge:
    return merge_reports(reports, MergeSettings())


def _sort(reports: tuple[Report, ...]) -> list[list[int]]:
    """Sort rows by file and line, and compare those that may agree."""
    return list(group_findings([row for report in reports for row in report.rows], row_order))


def _agree(reports: tuple[Report, ...]) -> int:
    """The same, and what rows on the same lines need: a comparison, and a finding and its conflicts if they agree."""
    rows = [row for report in reports for row in report.rows]
    groups = ([rows[at] for at in numbers] for numbers in group_findings(rows, row_order))
    return sum(len(conflicts_of(combine(members, MergeSettings(), 10))) for members in groups)


def _ten_merges(reports: tuple[Report, ...]) -> int:
    """A tenth of the reports, ten times: the same rows without what they have in common."""
    size = len(reports) // 10
    return sum(len(_merge(reports[start : start + size]).findings) for start in range(0, len(reports), size))


class _Times(NamedTuple):
    """Seconds for ten times the findings and for one time."""

    merge: float
    small_merge: float
    group_by: float
    small_group_by: float
    made: float
    small_made: float
    sort: float
    small_sort: float
    agree: float
    small_agree: float
    #: Ten times the findings only.
    ten_merges: float
    more_files: float

    @property
    def more_agreement(self) -> float:
        """How many small merges the agreement takes that ten of them do not have."""
        return (self.agree - self.sort - 10 * (self.small_agree - self.small_sort)) / self.small_merge

    @property
    def floor(self) -> float:
        """How much a merge grows that never waits for memory: ten small ones, and the agreement of the large one."""
        return self.ten_merges / self.small_merge + self.more_agreement


@cache
def _times() -> _Times:
    small, large = _reports(100, 100), _reports(1000, 100)
    pairs = [
        partial(work, own) for work in (_merge, _group_by, _grouped_and_made, _sort, _agree) for own in (large, small)
    ]
    _merged(small), _merged(large)
    more_files = _reports(1000, 100, 2000)
    return _Times(*medians([*pairs, partial(_ten_merges, large), partial(_merge, more_files)], repeats=5))


def _calls(reports: tuple[Report, ...]) -> int:
    """Return how many functions a merge calls: its work without the time for memory that is not in a cache."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        _merge(reports)
    finally:
        sys.setprofile(None)
    return calls


def _explained() -> list[str]:
    times = _times()
    merges = [_merge(_reports(count, 100)) for count in (100, 1000)]
    several = [sum(len(one.members) > 1 for one in (*merge.findings, *merge.dropped)) for merge in merges]
    calls = _calls(_reports(1000, 100)) / _calls(_reports(100, 100))
    more, group_by, made = times.more_agreement, times.group_by / times.small_group_by, times.made / times.small_made
    return [
        f"counted, which no load changes: a merge of ten times the reports calls {calls:.1f} x as many functions",
        f"more reports on the same files agree more: {several[0]} findings of several rows, then {several[1]}",
        f"its floor: ten merges of 100 take {times.ten_merges / times.small_merge:.1f} x, more agreement {more:.1f} x",
        "the rest: 100,000 rows and their findings do not fit into the processor's caches",
        f"on ten times the files, where they agree as rarely: {times.more_files / times.small_merge:.1f} x",
        "besides a group-by: a finding for each row, its unique id and place, and what agrees on its lines",
        f"a group-by of the same rows grows {group_by:.1f} x, with one object for each finding {made:.1f} x",
    ]


def benches() -> list[Bench]:
    """What is measured here."""
    return [
        Bench(
            "merging 1,000 reports of 100 findings",
            "merging 100 of them",
            "x",
            11,
            lambda: _times().merge / _times().small_merge,
            _explained,
        ),
        Bench(
            "this merge, its floor: ten merges of 100, and its agreement",
            "merging 100 of them",
            "x",
            None,
            lambda: _times().floor,
        ),
        Bench(
            "a plain group-by of 1,000 reports",
            "a group-by of 100 of them",
            "x",
            None,
            lambda: _times().group_by / _times().small_group_by,
        ),
        Bench(
            "merging 1,000 reports of 100 findings",
            "a plain group-by on the same keys",
            "x",
            5,
            lambda: _times().merge / _times().group_by,
        ),
        Bench(
            "merging, its floor: the group-by and one object a finding",
            "a plain group-by on the same keys",
            "x",
            None,
            lambda: _times().made / _times().group_by,
        ),
    ]
