"""Events of jobs: written in order, told to whoever listens, at least once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, Self

import psycopg
from psycopg.types.json import Jsonb

from remit.aio import cancel_and_wait
from remit.store.database import CONNECTION_ERRORS, OPTIONS, Database

_BATCH = 500
#: Listeners look again after so long, should a notice have been lost with a connection.
_LOOK_AGAIN_SECONDS = 2.0
#: For so long a number that was passed over may still come, and so many are looked for in one gap.
_LATE_SECONDS = 30.0
_MOST_LATE = 500
_PAUSE_SECONDS = 0.5


class Event(NamedTuple):
    """Something that happened in a job."""

    id: int
    job: int
    at: datetime
    kind: str
    data: dict[str, Any]


async def add_event(database: Database, job: int, kind: str, data: dict[str, Any], attempt: int | None = None) -> None:
    """Tell that something happened; of an attempt that is over nothing more is told."""
    await database.rows("events.add", job=job, kind=kind, data=Jsonb(data), attempt=attempt)


async def events_since(database: Database, job: int | None, after: int) -> list[Event]:
    """The next events after one."""
    found = await database.rows("events.since", job=job, after=after, limit=_BATCH)
    return [Event(**row) for row in found]


async def unfinished_text(database: Database, job: int) -> str:
    """What a model had said of an answer that it did not finish."""
    row = await database.row("events.unfinished_text", job=job)
    return str(row["text"]) if row else ""


async def follow(database: Database, job: int | None, after: int = 0) -> AsyncIterator[Event]:
    """Events as they come, beginning after one. It never ends by itself; a lost connection is made again.

    Those of one job come in order, each once. Of all jobs (None) one may come after another with a higher number:
    numbers are given before transactions end.
    """
    late = _Late() if job is None else None
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(database.address, autocommit=True, options=OPTIONS) as ear:
                await ear.execute("LISTEN remit_events")
                while True:
                    while found := await _next(database, job, after, late):
                        for event in found:
                            yield event
                            after = max(after, event.id)
                    async for _ in ear.notifies(timeout=_LOOK_AGAIN_SECONDS, stop_after=1):
                        break
        except CONNECTION_ERRORS:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS / 4)


async def _next(database: Database, job: int | None, after: int, late: _Late | None) -> list[Event]:
    found = await events_since(database, job, after)
    if late is None:
        return found
    late.note(after, [event.id for event in found])
    # Asked for after the others: what a job tells later is not seen before what it told earlier.
    missed = await database.rows("events.of_numbers", numbers=late.numbers) if late.numbers else []
    for row in missed:
        late.came(row["id"])
    return sorted([*found, *(Event(**row) for row in missed)], key=lambda event: event.id)


class _Late:
    """Numbers that were passed over: their transactions may not have ended yet, or never do."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    @property
    def numbers(self) -> list[int]:
        """Those that may still come."""
        oldest = time.monotonic() - _LATE_SECONDS
        self._since = {number: since for number, since in self._since.items() if since > oldest}
        return list(self._since)

    def note(self, after: int, numbers: list[int]) -> None:
        """What lies between events that were found; of a wide gap, as where jobs were removed, only the end."""
        for before, number in pairwise([after, *numbers]):
            gap = range(max(before + 1, number - _MOST_LATE), number)
            self._since.update(dict.fromkeys(gap, time.monotonic()))

    def came(self, number: int) -> None:
        """One has come."""
        self._since.pop(number, None)


class JobEndListener:
    """Listens for the ends of some jobs. A notice may be lost with the connection: look yourself now and then."""

    def __init__(self, database: Database) -> None:
        self._address = database.address
        self._expected: frozenset[int] = frozenset()
        self._news = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._listening is not None:
            await cancel_and_wait(self._listening)

    def expect(self, jobs: Collection[int]) -> None:
        """From now on, the ends of these are news. Look at them after this, and nothing is missed."""
        self._expected = frozenset(jobs)
        self._news.clear()

    async def news(self, seconds: float) -> None:
        """Wait until one of them has ended, at most so long."""
        # Not `wait_for`: before Python 3.12 it forgets that it was cancelled if the news comes at the same moment.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _listen(self) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._address, autocommit=True, options=OPTIONS, connect_timeout=10
                ) as connection:
                    await connection.execute("LISTEN remit_ended")
                    self._news.set()  # what ended before we listened was told to nobody
                    async for notice in connection.notifies():
                        if notice.payload.isdigit() and int(notice.payload) in self._expected:
                            self._news.set()
            except CONNECTION_ERRORS:
                await asyncio.sleep(_PAUSE_SECONDS)
