"""Somebody has to do the jobs: the workers that are alive, else one in this process for as long as it is needed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from remit.dispatch.settings import Settings
from remit.store import fleet
from remit.store.database import Database


@asynccontextmanager
async def served(database: Database, settings: Settings, concurrency: int = 5) -> AsyncIterator[str | None]:
    """The queue whose jobs a worker of this process does; None: workers are alive, any queue will do."""
    if await fleet.alive(database, settings.takeover_seconds):
        yield None
        return
    from remit.dispatch.worker import Worker

    queue = f"run-{uuid.uuid4()}"
    worker = Worker(database, settings, queues=[queue], concurrency=concurrency, is_listed=False)
    working = asyncio.create_task(worker.run())
    try:
        yield queue
    finally:
        worker.stop()
        await asyncio.gather(working, return_exceptions=True)
