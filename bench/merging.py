"""The cost of merging many reports."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from functools import cache

from measure import Bench, ratio

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


def _growth(work: Callable[[tuple[Report, ...]], object]) -> float:
    """Return how many times as long ten times the findings take; also for the group-by, as a reference."""
    small, large = _reports(100, 100), _reports(1000, 100)
    return ratio(lambda: work(large), lambda: work(small), repeats=7)


def _merge(reports: tuple[Report, ...]) -> Merge:
    return merge_reports(reports, MergeSettings())


def benches() -> list[Bench]:
    """What is measured here."""
    large = _reports(1000, 100)
    return [
        Bench("merging 1,000 reports of 100 findings", "merging 100 of them", "x", 11, lambda: _growth(_merge)),
        Bench("a plain group-by of 1,000 reports", "a group-by of 100 of them", "x", None, lambda: _growth(_group_by)),
        Bench(
            "merging 1,000 reports of 100 findings",
            "a plain group-by on the same keys",
            "x",
            5,
            lambda: ratio(lambda: _merge(large), lambda: _group_by(large), repeats=7),
        ),
    ]
