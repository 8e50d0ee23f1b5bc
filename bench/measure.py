"""Measure speed as a ratio to a named baseline, both timed alternately in the same run.

A number of seconds depends on the machine more than on the code; a ratio does not.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

#: Set by --long: parts with a size then use the full one.
LONG = "REMIT_BENCH_LONG"


def sized(full: int, short: int) -> int:
    """Return the size of a part: the full one takes minutes and is measured with --long."""
    return full if os.environ.get(LONG) else short


#: Work that takes this many seconds is called once in each measurement.
SLOW = 1.0


class NotMeasured(Exception):
    """Something that a figure needs is not on this machine."""


class Bench(NamedTuple):
    """Something to measure. A `goal` is its maximum; negative: its minimum; None: no goal, only printed."""

    name: str
    baseline: str
    unit: str
    goal: float | None
    measure: Callable[[], float]
    #: Printed under the table: where the time goes.
    explain: Callable[[], list[str]] | None = None
    #: Takes minutes: measured only with --long.
    is_long: bool = False


def seconds(work: Callable[[], object], repeats: int = 15, clock: Callable[[], float] = time.process_time) -> float:
    """Return the median time of one call; quick work is repeated within each measurement."""
    return statistics.median(_timed([work], repeats, clock)[0])


def ratio(
    work: Callable[[], object],
    baseline: Callable[[], object],
    repeats: int = 15,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Return how many times as long `work` takes as `baseline`: the medians of alternating measurements."""
    own, base = medians([work, baseline], repeats, clock)
    return own / base


def medians(
    works: Sequence[Callable[[], object]], repeats: int = 15, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return the median time of one call of each, from alternating measurements."""
    return [statistics.median(times) for times in _timed(works, repeats, clock)]


def _timed(works: Sequence[Callable[[], object]], repeats: int, clock: Callable[[], float]) -> list[list[float]]:
    calls = [_calls(work, clock) for work in works]
    taken: list[list[float]] = [[] for _ in works]
    gc.disable()
    try:
        for _ in range(repeats):
            for times, work, number in zip(taken, works, calls, strict=True):
                started = clock()
                for _ in range(number):
                    work()
                times.append((clock() - started) / number)
            gc.collect()
    finally:
        gc.enable()
    return taken


def _calls(work: Callable[[], object], clock: Callable[[], float], enough: float = 0.02) -> int:
    """Return how often to call within one measurement, so that the clock's resolution does not matter.

    The first call shows this only for slow work: it also loads modules and compiles expressions.
    """
    started = clock()
    work()
    number = 1
    while clock() - started < SLOW:
        started = clock()
        for _ in range(number):
            work()
        taken = clock() - started
        if taken >= enough:
            break
        number = max(number * 2, int(number * enough / max(taken, 1e-6)))
    return number
