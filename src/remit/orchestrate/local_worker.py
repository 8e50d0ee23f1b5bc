"""A worker in this process, for as long as a command needs it. It is used if no other worker is alive."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from remit.dispatch.attempt import Runner
from remit.dispatch.model_client import close_models
from remit.dispatch.worker import Worker
from remit.dispatch.worker_settings import Settings
from remit.errors import EnvironmentBroken
from remit.store import workers
from remit.store.database import Database

#: Interval in which it is checked whether another worker is alive.
_POLL_SECONDS = 3.0
#: How many blocks use a local worker in each event loop.
_users: Counter[asyncio.AbstractEventLoop] = Counter()


class LocalWorker:
    """A worker that runs while a block runs. If it fails, the block is cancelled and raises the failure."""

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

    def start(self, work: Coroutine[Any, Any, None] | None = None) -> None:
        """Start the worker, unless it runs already; `work` replaces `Worker.run`."""
        if self._working is None:
            self._working = asyncio.create_task(work or self._worker.run())
            self._working.add_done_callback(self._on_done)

    def _on_done(self, working: asyncio.Task[None]) -> None:
        failure = None if working.cancelled() else working.exception()
        if failure is not None and self._block is not None:
            self._failure = failure
            self._block.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block, self._block = self._block, None  # from here on a failure has no effect
        self._worker.stop()
        if self._working is not None:
            await asyncio.gather(self._working, return_exceptions=True)
        if self._failure is not None and block is not None:
            is_own_cancel = block.uncancel() <= self._cancels
            if is_own_cancel and kind is asyncio.CancelledError:
                raise EnvironmentBroken(_failure_text(self._failure)) from self._failure


def _failure_text(failure: BaseException) -> str:
    error_text = f"{type(failure).__name__}: {' '.join(str(failure).split())[:1000]}"
    return f"the worker of this command failed ({error_text}); no work is lost: continue the jobs with `remit worker`"


def short_poll_worker(
    database: Database,
    settings: Settings,
    queue: str,
    concurrency: int = 1,
    runners: Mapping[str, Runner] | None = None,
) -> Worker:
    """Return a worker for a command. When the command is interrupted, its jobs are handed back immediately."""
    without_wait = settings._replace(shutdown_seconds=0.0)
    return Worker(database, without_wait, queues=[queue], concurrency=concurrency, is_listed=False, runners=runners)


@asynccontextmanager
async def ensure_worker(
    database: Database, settings: Settings, queue: str = "default", concurrency: int = 5
) -> AsyncIterator[str | None]:
    """Make sure that a worker runs the jobs of a block.

    Yield the queue of a worker in this process, or None if other workers are alive and serve `queue`. If they die, a
    worker in this process takes over. If that worker fails, the block fails too.
    """
    has_other = await workers.is_served(database, settings.project, queue, settings.takeover_seconds)
    own_queue = None if has_other else f"run-{uuid.uuid4()}"
    worker = short_poll_worker(database, settings, own_queue or queue, concurrency)
    loop = asyncio.get_running_loop()
    _users[loop] += 1
    try:
        async with LocalWorker(worker) as local:
            local.start(None if own_queue else _run_when_needed(worker, database, settings, queue))
            yield own_queue
    finally:
        _users[loop] -= 1
        if not _users[loop]:  # close the connections while their event loop still runs
            del _users[loop]
            await close_models()


class SpareWorker:
    """A worker for one job at a time, in a process that only waits for jobs. It is started when it is first needed.

    An orchestrator occupies a slot of its worker while its subagents wait for one, so it provides another slot.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._queue = f"run-{uuid.uuid4()}"
        self._local = LocalWorker(short_poll_worker(database, settings, self._queue))

    async def __aenter__(self) -> Self:
        await self._local.__aenter__()
        return self

    async def queue(self) -> str:
        """Start the worker if necessary, and return its queue."""
        self._local.start()
        return self._queue

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._local.__aexit__(kind, error, trace)


async def _run_when_needed(worker: Worker, database: Database, settings: Settings, queue: str) -> None:
    """Wait until no other worker serves the queue, then run the worker."""
    while not worker.is_stopping:
        if not await workers.is_served(database, settings.project, queue, settings.takeover_seconds):
            await worker.run()
            return
        await worker.wait_for_stop(_POLL_SECONDS)
