"""Somebody has to do the jobs: the workers that are alive, else one in this process for as long as it is needed."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from remit.dispatch.attempt import Runner
from remit.dispatch.models import close_models
from remit.dispatch.settings import Settings
from remit.dispatch.worker import Worker
from remit.errors import EnvironmentBroken
from remit.store import workers
from remit.store.database import Database

#: How often it is looked whether a worker still lives.
_LOOK_SECONDS = 3.0
_users: Counter[asyncio.AbstractEventLoop] = Counter()


class LocalWorker:
    """A worker that runs beside a block, until its end. Should it fail, the block is cancelled and ends with that."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._working: asyncio.Task[None] | None = None
        self._block: asyncio.Task[Any] | None = None
        self._cancels = 0
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._block = asyncio.current_task()
        self._cancels = self._block.cancelling() if self._block is not None else 0
        return self

    def begin(self, work: Coroutine[Any, Any, None] | None = None) -> None:
        """Let it work, if it does not yet; `work`: something else than to run at once."""
        if self._working is None:
            self._working = asyncio.create_task(work or self._worker.run())
            self._working.add_done_callback(self._over)

    def _over(self, working: asyncio.Task[None]) -> None:
        failure = None if working.cancelled() else working.exception()
        if failure is not None and self._block is not None:
            self._failure = failure
            self._block.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block, self._block = self._block, None  # from here on nobody waits for its work
        self._worker.stop()
        if self._working is not None:
            await asyncio.gather(self._working, return_exceptions=True)
        if self._failure is not None and block is not None:
            is_ours = block.uncancel() <= self._cancels
            if is_ours and kind is asyncio.CancelledError:
                raise EnvironmentBroken(_words(self._failure)) from self._failure


def _words(failure: BaseException) -> str:
    said = f"{type(failure).__name__}: {' '.join(str(failure).split())[:1000]}"
    return f"the worker of this command failed ({said}); nothing is lost, `remit worker` goes on with its jobs"


def short_poll_worker(
    database: Database,
    settings: Settings,
    queue: str,
    concurrency: int = 1,
    runners: Mapping[str, Runner] | None = None,
) -> Worker:
    """A worker for a command: who interrupts that does not wait for jobs, they are handed back at once."""
    hasty = settings._replace(shutdown_seconds=0.0)
    return Worker(database, hasty, queues=[queue], concurrency=concurrency, is_listed=False, runners=runners)


@asynccontextmanager
async def ensure_worker(
    database: Database, settings: Settings, queue: str = "default", concurrency: int = 5
) -> AsyncIterator[str | None]:
    """The queue whose jobs a worker of this process does; None: workers are alive, and do those of `queue`.

    Should they die, a worker of this process takes their place. Should that one fail, so does the block.
    """
    own = None if await workers.is_served(database, queue, settings.takeover_seconds) else f"run-{uuid.uuid4()}"
    worker = short_poll_worker(database, settings, own or queue, concurrency)
    loop = asyncio.get_running_loop()
    _users[loop] += 1
    try:
        async with LocalWorker(worker) as beside:
            beside.begin(None if own else _stand_in(worker, database, settings, queue))
            yield own
    finally:
        _users[loop] -= 1
        if not _users[loop]:  # connections end with the loop that they were made in: better before it than after
            del _users[loop]
            await close_models()


class SpareWorker:
    """A place for one job at a time, in whoever only waits for jobs: made when it is first needed.

    An orchestrator holds a worker's place while its subagents wait for one. So it lends them its own.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._queue = f"run-{uuid.uuid4()}"
        self._beside = LocalWorker(short_poll_worker(database, settings, self._queue))

    async def __aenter__(self) -> Self:
        await self._beside.__aenter__()
        return self

    async def queue(self) -> str:
        """The queue whose jobs are done here, one at a time."""
        self._beside.begin()
        return self._queue

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._beside.__aexit__(kind, error, trace)


async def _stand_in(worker: Worker, database: Database, settings: Settings, queue: str) -> None:
    """Wait until no worker is alive, then be one."""
    while not worker.is_stopping:
        if not await workers.is_served(database, queue, settings.takeover_seconds):
            await worker.run()
            return
        await worker.wait_for_stop(_LOOK_SECONDS)
