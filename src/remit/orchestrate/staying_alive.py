"""A job that only waits for others gets on: as long as it does, it says so, and is not taken for one that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from remit.store import jobs
from remit.store.database import Database
from remit.store.ending import ended
from remit.store.jobs import Job

T = TypeVar("T")
#: So often it is said at least; and so many times within the time after which a job is taken for hung.
_MOST_SECONDS = 30.0
_TIMES = 4


async def staying_alive(database: Database, job: Job, hung_seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What the work brings. Raises Fenced, and ends the work, as soon as the job is somebody else's."""
    seconds = min(_MOST_SECONDS, hung_seconds / _TIMES)
    working, living = asyncio.create_task(work), asyncio.create_task(_live(database, job, seconds))
    try:
        await asyncio.wait({working, living}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await living
        return await working
    finally:
        await ended(working, living)


async def _live(database: Database, job: Job, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await jobs.touch(database, job.id, job.attempt)
