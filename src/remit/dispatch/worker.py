"""A worker: takes jobs from the queue, runs them side by side, and looks after those of workers that died.

The queue (procrastinate) wakes workers up; a job's own row says what is to be done and whose it is. So a
ticket that comes twice, or of a job that somebody else has, does nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason

from remit.aio import cancel_and_wait
from remit.dispatch.attempt import Attempt, Runner
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import fail_job, stop_job
from remit.dispatch.preload import preload
from remit.dispatch.settings import Settings
from remit.errors import EnvironmentBroken
from remit.store import jobs, workers
from remit.store.database import CONNECTION_ERRORS, OPTIONS, RECONNECT_SECONDS, Database, DatabaseUnavailable
from remit.store.jobs import AttemptFenced, Job
from remit.store.workers import HeartbeatThread

log = logging.getLogger("remit.worker")
#: The name under which the queue knows our one task.
TASK = "remit.run"
#: A job that found its queue full is woken when another of it ends; this is for the case that nobody says so.
_BUSY_SECONDS = 10.0
_GIVEN_BACK_SECONDS = 5.0
#: The queue tells of new tickets; one that comes just as a worker looks and finds nothing is only found so long after.
_LOOK_SECONDS = 1.0
#: So long a worker that is cancelled, not told to stop, waits for its jobs to be given back, beyond their own time.
_LAST_SECONDS = 5.0
#: Of the time within which a job is to be taken over, how much a worker may be silent.
_SILENCE = 0.6


class Worker:
    """One worker process."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        queues: Sequence[str] = (),
        concurrency: int = 5,
        is_listed: bool = True,
        on_reload: Callable[[], None] | None = None,
        on_start: Callable[[], None] | None = None,
        runners: Mapping[str, Runner] | None = None,
    ) -> None:
        self.id = str(uuid.uuid4())
        self._database = database
        self._settings = settings
        self._queues = list(queues)
        self._concurrency = concurrency
        self._is_listed = is_listed
        self._on_reload = on_reload
        self._on_start = on_start
        self._runners = runners or {}
        #: Jobs that tickets are about here, claimed or about to be.
        self._held: Counter[int] = Counter()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no more jobs; finish those that run, or hand them back."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping.is_set()

    async def stopped(self, seconds: float) -> None:
        """Wait until it is told to stop, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def run(self, *, until_idle: bool = False) -> None:
        """Work until told to stop; `until_idle`: until there is nothing to do."""
        with self._signals():
            if self._is_listed:
                await asyncio.to_thread(preload)
            await self._register()
            seconds = self._settings.takeover_seconds
            try:
                async with HeartbeatThread(self._database.address, self.id, seconds / 6, seconds * _SILENCE) as heart:
                    await self._work_and_watch(heart, until_idle=until_idle)
            finally:
                with contextlib.suppress(EnvironmentBroken):
                    await workers.unregister(self._database, self.id)

    async def _register(self) -> None:
        await workers.register(self._database, self.id, self._queues, self._concurrency, is_listed=self._is_listed)

    async def _work_and_watch(self, heart: HeartbeatThread, *, until_idle: bool) -> None:
        watch = asyncio.create_task(self._watch(heart))
        try:
            if self._on_start is not None:
                self._on_start()
            await self._work(until_idle=until_idle)
        finally:
            await cancel_and_wait(watch)

    async def _work(self, *, until_idle: bool) -> None:
        """Run the queue's worker, again and again while the database may be restarting."""
        while not self._stopping.is_set():
            try:
                async with _queue_app(self._database.address) as app:
                    app.task(name=TASK, pass_context=True)(self._take)
                    await self._until_stopped(self._queue_worker(app, until_idle=until_idle))
                if until_idle and not await self._is_work_left():
                    return
            except (*CONNECTION_ERRORS, ConnectorException) as error:
                log.warning("the database is away, trying again: %s", " ".join(str(error).split()))
            await self.stopped(1.0)

    async def _until_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        """Let the queue's worker work until it ends or we are to stop. Raises what it failed by."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # no job goes on with nobody to look after it
            working.cancel()
            await asyncio.wait({working}, timeout=self._settings.shutdown_seconds + _LAST_SECONDS)
            raise
        finally:
            stopping.cancel()
        if not working.done():
            working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        failure = None if working.cancelled() else working.exception()
        if failure is not None:
            raise failure

    async def _is_work_left(self) -> bool:
        """Whether jobs are due that could not be taken yet, or wait to be taken over."""
        row = await self._database.row("jobs.is_work_left", queues=self._queues or None, worker=self.id)
        return bool(row and row["is_left"])

    async def _queue_worker(self, app: procrastinate.App, *, until_idle: bool) -> None:
        seconds = self._settings.takeover_seconds
        options: dict[str, Any] = {"queues": self._queues} if self._queues else {}
        if not until_idle:
            options["shutdown_graceful_timeout"] = self._settings.shutdown_seconds
        await app.run_worker_async(
            **options,
            name=self.id,
            concurrency=self._concurrency,
            wait=not until_idle,
            fetch_job_polling_interval=_LOOK_SECONDS,
            abort_job_polling_interval=_LOOK_SECONDS / 2,  # a cancel reaches a job within a second, also so
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=max(0.5, seconds / 3),
            stalled_worker_timeout=max(2.0, seconds),
        )

    async def _take(self, context: procrastinate.JobContext, *, job: int) -> None:
        """What a ticket does: claim its job and run it."""
        failpoint("ticket-taken")
        self._held[job] += 1
        try:
            found = await self._claim(job, context.job.id)
            if found is not None:
                try:
                    await self._run(found, context)
                finally:
                    await self._make_room(found.queue)
        except (EnvironmentBroken, *CONNECTION_ERRORS) as error:
            # Whatever the database has of it is put right when it is back: see `_look_after_own`.
            log.warning("job %s has to wait: %s", job, error)
        finally:
            self._held -= Counter([job])

    async def _make_room(self, queue: str) -> None:
        """However a job of a limited queue ended, the next is woken."""
        if queue not in self._settings.queue_limits:
            return
        try:
            await jobs.wake_next(self._database, queue)
        except (EnvironmentBroken, *CONNECTION_ERRORS) as error:
            log.warning("the next job of %s has to wait: %s", queue, " ".join(str(error).split()))

    async def _run(self, job: Job, context: procrastinate.JobContext) -> None:
        try:
            await Attempt(self._database, job, self._settings, self._runners).run()
        except AttemptFenced as error:
            log.warning("%s", error)
        except asyncio.CancelledError:
            is_shutdown = context.abort_reason() is not AbortReason.USER_REQUEST
            await asyncio.shield(stop_job(self._database, job, self._settings, is_shutdown=is_shutdown))
            raise
        except Exception as error:  # whatever it is, the job ends with it and the worker goes on
            if not isinstance(
                error, (DatabaseUnavailable, *CONNECTION_ERRORS)
            ):  # what else is broken stays so, however often it is tried
                log.exception("job %s failed", job.id, exc_info=error)
                await fail_job(self._database, job, self._settings, error)
                return
            log.warning("job %s is given back: %s", job.id, error)
            await jobs.give_back(self._database, job.id, job.attempt, delay=_GIVEN_BACK_SECONDS)

    async def _claim(self, job: int, ticket: int | None) -> Job | None:
        found = await jobs.claim(self._database, job, self.id, ticket, self._settings.queue_limits)
        if found == "busy":
            await jobs.wake_later(self._database, job, _BUSY_SECONDS)
            return None
        return found

    async def _watch(self, heart: HeartbeatThread) -> None:
        """Take over from those who do not live any more, and stop what hangs."""
        seconds = self._settings.takeover_seconds
        while True:
            try:
                await self._look_around(heart, seconds)
            except (EnvironmentBroken, *CONNECTION_ERRORS) as error:
                log.warning("the database is away: %s", " ".join(str(error).split()))
            except Exception:
                log.exception("looking around failed")  # and is done again: dead workers' jobs must not wait for ever
            await asyncio.sleep(seconds / 6)

    async def _look_around(self, heart: HeartbeatThread, seconds: float) -> None:
        if heart.is_forgotten:  # while we were frozen: what we had is somebody else's
            await self._register()
        await self._look_after_others(seconds * _SILENCE)
        await self._look_after_own()
        for job in await jobs.end_hung(self._database, self._settings.hung_seconds):
            log.warning("job %s hung and is stopped", job)
        await self._database.rows("workers.forget", seconds=max(3600.0, 20 * seconds))

    async def _look_after_others(self, most: float) -> None:
        silent = await jobs.take_over(self._database, self.id, most)
        if silent is None:  # we were frozen, or the database was away: others may speak first
            return
        for job in silent:
            log.warning("job %s is taken over: its worker went silent", job)
        for job in await jobs.wake_strays(self._database, self.id, most):
            log.warning("job %s is queued again: nothing would have picked it up", job)

    async def _look_after_own(self) -> None:
        """Give back what is ours by its row and is not run here: the answer to a claim, or a write, was lost."""
        for row in await self._database.rows("jobs.of_worker", worker=self.id):
            if not self._held[row["id"]]:
                log.warning("job %s is given back: it is not run here", row["id"])
                await jobs.give_back(self._database, row["id"], row["attempt"])

    @contextlib.contextmanager
    def _signals(self) -> Any:
        """SIGTERM and SIGINT end the worker gracefully, SIGHUP reads the definitions again."""
        loop = asyncio.get_running_loop()
        handled: dict[signal.Signals, Callable[[], None]] = {}
        if self._is_listed:
            handled = {signal.SIGTERM: self.stop, signal.SIGINT: self.stop}
            if self._on_reload is not None:
                handled[signal.SIGHUP] = self._on_reload
        for number, handler in handled.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)


@asynccontextmanager
async def _queue_app(address: str) -> AsyncIterator[procrastinate.App]:
    connector = procrastinate.PsycopgConnector(
        conninfo=address,
        kwargs={"options": OPTIONS},
        min_size=1,
        max_size=4,
        timeout=10,
        reconnect_timeout=RECONNECT_SECONDS,
        configure=_without_transactions,
    )
    app = procrastinate.App(connector=connector)
    async with app.open_async():
        yield app


async def _without_transactions(connection: psycopg.AsyncConnection[Any]) -> None:
    """All that the queue says is one statement at a time: two more around each would only take time."""
    await connection.set_autocommit(True)
