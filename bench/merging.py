"""The cost of merging many reports."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from copy import copy
from functools import cache, partial
from typing import NamedTuple

from measure import Bench, medians

from remit.merging.merge import merge_reports
from remit.merging.model import Merge, MergeSettings, Opinion, Report, ReportedFinding


@cache
def _reports(results: int, findings: int) -> tuple[Report, ...]:
    """Return reports of agents on the same 200 files, each with its own findings."""
    chance = random.Random(11)
    return tuple(
        Report(
            agent=f"agent-{number % 10}",
            status="SUCCESS",
            verdict="accept",
            rows=tuple(_reported_finding(chance, f"agent-{number % 10}", index) for index in range(findings)),
        )
        for number in range(results)
    )


def _reported_finding(chance: random.Random, agent: str, index: int) -> ReportedFinding:
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
        path=f"module_{chance.randrange(200)}.py",
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


class _Times(NamedTuple):
    """Seconds for ten times the findings and for one time; of a merge, a group-by, and one that makes the findings."""

    merge: float
    small_merge: float
    group_by: float
    small_group_by: float
    made: float
    small_made: float


@cache
def _times() -> _Times:
    small, large = _reports(100, 100), _reports(1000, 100)
    works = [partial(work, reports) for work in (_merge, _group_by, _grouped_and_made) for reports in (large, small)]
    _merged(small), _merged(large)
    return _Times(*medians(works, repeats=3))


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
    several = [sum(len(one.members) > 1 for one in _merge(_reports(count, 100)).findings) for count in (100, 1000)]
    floor = f"{times.group_by / times.small_group_by:.1f} x"
    made = f"{times.made / times.small_made:.1f} x"
    calls = _calls(_reports(1000, 100)) / _calls(_reports(100, 100))
    return [
        f"counted, which no load changes: a merge of ten times the reports calls {calls:.1f} x as many functions",
        f"the floor: a group-by of the same rows grows {floor}, because they do not fit into the processor's caches",
        f"the floor with one object made for each finding grows {made}",
        f"more reports on the same files also agree more: {several[0]} findings of several rows, then {several[1]}",
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
