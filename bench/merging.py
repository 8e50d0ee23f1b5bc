"""The time and the memory of merging many reports."""

from __future__ import annotations

import random
import time
import tracemalloc
from functools import cache

from measure import Bench

from remit.merging.merge import merge
from remit.merging.merge_data import Opinion, Report, ReportedFinding


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
            claimed=90.0,
            line=line,
            title=f"Finding {index}",
        ),
        path=f"module_{chance.randrange(files)}.py",
        end_line=line + 5 if chance.random() < 0.3 else None,
        category=chance.choice(("quality", "security")),
        verified=True,
    )


def _seconds(reports: tuple[Report, ...]) -> float:
    started = time.process_time()
    merge(reports)
    return time.process_time() - started


def _megabytes(reports: tuple[Report, ...]) -> float:
    """Return the memory that a merge takes besides its inputs."""
    tracemalloc.start()
    try:
        merge(reports)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def benches() -> list[Bench]:
    """What is measured here."""
    return [
        Bench("merging 100,000 findings of 1,000 reports", "", "s", 20, lambda: _seconds(_reports(1000, 100))),
        Bench("the memory for it, besides its inputs", "", "MB", 400, lambda: _megabytes(_reports(1000, 100))),
        Bench(
            "merging 1,000 reports of 100 findings",
            "merging 100 of them",
            "x",
            14,
            lambda: _seconds(_reports(1000, 100)) / _seconds(_reports(100, 100)),
        ),
    ]
