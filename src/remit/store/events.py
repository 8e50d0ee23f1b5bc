"""Events of jobs: stored in order, and delivered to listeners at least once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from remit.store.database import CONNECTION_ERRORS, Database

_BATCH = 500
#: A notification can be lost with its connection, so listeners also poll at this interval.
_POLL_SECONDS = 2.0
#: How long a skipped event number may still be committed, and how many numbers of one gap are tracked.
_LATE_SECONDS = 30.0
_MAX_LATE = 500
_RECONNECT_SECONDS = 0.5


class Event(NamedTuple):
    """An event of a job."""

    id: int
    job: int
    at: datetime
    kind: str
    data: dict[str, Any]


async def add_event(database: Database, job: int, kind: str, data: dict[str, Any], attempt: int | None = None) -> None:
    """Store an event. An event of an attempt that has been replaced is dropped."""
    await database.rows("events.add", job=job, kind=kind, data=Jsonb(data), attempt=attempt)


async def events_since(database: Database, job: int | None, after: int) -> list[Event]:
    """Return the next batch of events after an event number."""
    found = await database.rows("events.since", job=job, after=after, limit=_BATCH)
    return [Event(**row) for row in found]


async def unfinished_text(database: Database, job: int) -> str:
    """Return the streamed text of an answer that the model did not finish."""
    row = await database.row("events.unfinished_text", job=job)
    return str(row["text"]) if row else ""


async def follow(database: Database, job: int | None, after: int = 0) -> AsyncIterator[Event]:
    """Yield events as they are stored, starting after an event number. Reconnects as needed and never ends.

    The events of one job come in order, each once. With `job=None` (all jobs), an event may follow one with a higher
    number, because numbers are assigned before transactions commit.
    """
    late = _LateNumbers() if job is None else None
    while True:
        try:
            async with await database.target.connect(autocommit=True) as listener:
                await listener.execute("LISTEN remit_events")
                while True:
                    while found := await _next(database, job, after, late):
                        for event in found:
                            yield event
                            after = max(after, event.id)
                    async for _ in listener.notifies(timeout=_POLL_SECONDS, stop_after=1):
                        break
        except CONNECTION_ERRORS:
            await asyncio.sleep(_RECONNECT_SECONDS)


async def _next(database: Database, job: int | None, after: int, late: _LateNumbers | None) -> list[Event]:
    found = await events_since(database, job, after)
    if late is None:
        return found
    late.add_gaps(after, [event.id for event in found])
    # Queried after the others, so that a job's later event is never delivered before its earlier one.
    missed = await database.rows("events.of_numbers", numbers=late.numbers) if late.numbers else []
    for row in missed:
        late.remove(row["id"])
    return sorted([*found, *(Event(**row) for row in missed)], key=lambda event: event.id)


class _LateNumbers:
    """Skipped event numbers whose transactions may commit later, or never."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    @property
    def numbers(self) -> list[int]:
        """Return the numbers that may still be committed."""
        oldest = time.monotonic() - _LATE_SECONDS
        self._since = {number: since for number, since in self._since.items() if since > oldest}
        return list(self._since)

    def add_gaps(self, after: int, numbers: list[int]) -> None:
        """Track the gaps between event numbers; of a wide gap, such as one left by pruned jobs, only its end."""
        for before, number in pairwise([after, *numbers]):
            gap = range(max(before + 1, number - _MAX_LATE), number)
            self._since.update(dict.fromkeys(gap, time.monotonic()))

    def remove(self, number: int) -> None:
        """Stop tracking a number whose event has been delivered."""
        self._since.pop(number, None)
