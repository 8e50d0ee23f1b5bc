"""Somebody has to do the jobs: the workers that are alive, else one in this process for as long as it is needed."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from remit.dispatch.models import close_models
from remit.dispatch.settings import Settings
from remit.dispatch.worker import Worker
from remit.store import fleet
from remit.store.database import Database

#: How often it is looked whether a worker still lives.
_LOOK_SECONDS = 3.0
_users: Counter[asyncio.AbstractEventLoop] = Counter()


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
    loop = asyncio.get_running_loop()
    _users[loop] += 1
    try:
        yield own
    finally:
        worker.stop()
        await asyncio.gather(working, return_exceptions=True)
        _users[loop] -= 1
        if not _users[loop]:  # connections end with the loop that they were made in: better before it than after
            del _users[loop]
            await close_models()


class SparePlace:
    """A place for one job at a time, in whoever only waits for jobs: made when it is first needed.

    An orchestrator holds a worker's place while its subagents wait for one. So it lends them its own.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._queue = f"run-{uuid.uuid4()}"
        hasty = settings._replace(shutdown_seconds=0.0)
        self._worker = Worker(database, hasty, queues=[self._queue], concurrency=1, is_listed=False)
        self._working: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def queue(self) -> str:
        """The queue whose jobs are done here, one at a time."""
        if self._working is None:
            self._working = asyncio.create_task(self._worker.run())
        return self._queue

    async def __aexit__(self, *_: object) -> None:
        if self._working is not None:
            self._worker.stop()
            await asyncio.gather(self._working, return_exceptions=True)


async def _stand_in(worker: Worker, database: Database, settings: Settings, queue: str) -> None:
    """Wait until no worker is alive, then be one."""
    while not worker.is_stopping:
        if not await fleet.is_served(database, queue, settings.takeover_seconds):
            await worker.run()
            return
        await worker.stopped(_LOOK_SECONDS)
