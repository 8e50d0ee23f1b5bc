"""Events of jobs: written in order, told to whoever listens, at least once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.types.json import Jsonb

from remit.store.database import AWAY, OPTIONS, Database

_BATCH = 500
#: Listeners look again after so long, should a notice have been lost with a connection.
_LOOK_AGAIN_SECONDS = 2.0


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
    """Events as they come, beginning after one. It never ends by itself; a lost connection is made again."""
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(database.address, autocommit=True, options=OPTIONS) as ear:
                await ear.execute("LISTEN remit_events")
                while True:
                    while found := await events_since(database, job, after):
                        for event in found:
                            yield event
                            after = event.id
                    async for _ in ear.notifies(timeout=_LOOK_AGAIN_SECONDS, stop_after=1):
                        break
        except AWAY:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS / 4)
