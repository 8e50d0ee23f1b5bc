"""Somebody has to do the jobs: the workers that are alive, else one in this process for as long as it is needed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from remit.dispatch.settings import Settings
from remit.dispatch.worker import Worker
from remit.store import fleet
from remit.store.database import Database

#: How often it is looked whether a worker still lives.
_LOOK_SECONDS = 3.0


@asynccontextmanager
async def served(
    database: Database, settings: Settings, queue: str = "default", concurrency: int = 5
) -> AsyncIterator[str | None]:
    """The queue whose jobs a worker of this process does; None: workers are alive, and do those of `queue`.

    Should they die, a worker of this process takes their place. Who interrupts us does not wait for jobs: they
    are handed back at once.
    """
    hasty = settings._replace(shutdown_seconds=0.0)
    own = None if await fleet.is_served(database, queue, settings.takeover_seconds) else f"run-{uuid.uuid4()}"
    worker = Worker(database, hasty, queues=[own or queue], concurrency=concurrency, is_listed=False)
    working = asyncio.create_task(worker.run() if own else _stand_in(worker, database, settings, queue))
    try:
        yield own
    finally:
        worker.stop()
        await asyncio.gather(working, return_exceptions=True)


async def _stand_in(worker: Worker, database: Database, settings: Settings, queue: str) -> None:
    """Wait until no worker is alive, then be one."""
    while not worker.is_stopping:
        if not await fleet.is_served(database, queue, settings.takeover_seconds):
            await worker.run()
            return
        await worker.stopped(_LOOK_SECONDS)
