"""Wait for conditions. Tests do not sleep, and no test that passes waits as long as `PATIENCE`."""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import TypeVar

T = TypeVar("T")
#: The longest time in seconds that anything may take on a very busy machine.
PATIENCE = 120.0
#: Seconds between two looks at a condition.
_INTERVAL = 0.02


def until(condition: Callable[[], T], explain: Callable[[], str] = str, seconds: float = PATIENCE) -> T:
    """Return what the condition returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s\n{explain()}"
        select.select([], [], [], _INTERVAL)
    return found


async def until_async(condition: Callable[[], Awaitable[T]], explanation: str) -> T:
    """Return what the condition returns as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while not (found := await condition()):
        assert time.monotonic() < end, f"not within {PATIENCE} s: {explanation}"
        await asyncio.sleep(_INTERVAL)
    return found


async def fastest(measure: Callable[[], Awaitable[float]], limit: float, tries: int = 3) -> float:
    """Return the first measured time below the limit, or the shortest one: a busy machine slows down some tries."""
    times: list[float] = []
    while len(times) < tries and not any(took < limit for took in times):
        times.append(await measure())
    return min(times)


def read_until(lines: Iterator[str], wanted: Collection[str]) -> None:
    """Read a stream of a server, which sends a line every 15 s, until all wanted lines have arrived."""
    missing, end = set(wanted), time.monotonic() + PATIENCE
    for line in lines:
        missing.discard(line)
        if not missing:
            return
        assert time.monotonic() < end, f"not within {PATIENCE} s: {missing}"
    raise AssertionError(f"the stream ended without {missing}")
