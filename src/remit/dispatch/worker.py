"""A worker: runs jobs of the queue concurrently, and takes over the jobs of workers that died.

The queue (procrastinate) only wakes workers up with tickets. The job's row decides what is to be done and which worker
owns the job, so a second ticket, or one for a job of another worker, has no effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from psycopg_pool import AsyncConnectionPool

from remit.aio import cancel_and_wait
from remit.configuration import load
from remit.dispatch.attempt import Attempt, Runner
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import fail_job, stop_job
from remit.dispatch.model_client import build_model
from remit.dispatch.models import KEYS, provider_of
from remit.dispatch.telemetry import open_telemetry
from remit.dispatch.worker_settings import Settings
from remit.errors import EnvironmentBroken, RemitError, UsageError
from remit.registry.model_names import full_name
from remit.store import jobs, workers
from remit.store.database import (
    CONNECTION_ERRORS,
    RECONNECT_SECONDS,
    ConnectionTarget,
    Database,
    DatabaseUnavailable,
    check_idle,
)
from remit.store.events import add_event
from remit.store.jobs import AttemptFenced, Job
from remit.store.storable import to_storable
from remit.store.workers import HeartbeatThread

log = logging.getLogger("remit.worker")
#: The name of the only task in the queue.
TASK = "remit.run"
#: When to try a job again whose queue was full. Usually the end of another job wakes it earlier.
_BUSY_SECONDS = 10.0
#: When to look again for the folder of a job that does not exist on this host. Another host may take the job earlier.
_FOLDER_SECONDS = 10.0
#: The delay of a job that was returned to the queue because the database was unavailable.
_RETURNED_SECONDS = 5.0
#: The queue notifies workers of new tickets. A ticket that arrives while a worker polls is found after this time.
_POLL_SECONDS = 1.0
#: How much longer than `shutdown_seconds` a cancelled worker waits until its jobs are returned to the queue.
_CANCEL_SECONDS = 5.0
#: A worker without a heartbeat for this share of `takeover_seconds` counts as dead.
_DEAD_SHARE = 0.6


def preload() -> None:
    """Load what a conversation needs before the first job is claimed: prices, the client of the configured model."""
    import_module("genai_prices")
    configured = load()
    model = full_name(configured["model"], configured["models"])
    for provider, keys in KEYS.items():
        if any(os.environ.get(key) for key in keys):
            with contextlib.suppress(ImportError, UsageError):  # a job that needs it reports the error
                import_module(f"pydantic_ai.models.{provider}")
                if provider_of(model) == provider:
                    build_model(model)  # its certificates alone take a tenth of a second


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
        #: The project whose jobs it takes; None: those of all projects.
        self._project = None if settings.is_for_all_projects else settings.project
        #: The names of its queues for procrastinate, which reads this list before each fetch.
        self._ticket_queues = [] if is_listed else list(queues)
        self._concurrency = concurrency
        self._is_listed = is_listed
        self._on_reload = on_reload
        self._on_start = on_start
        self._runners = runners or {}
        self._strays = jobs.StrayScan()
        #: Jobs that this worker runs or is about to claim, with the number of their tickets.
        self._active: Counter[int] = Counter()
        #: Jobs that this worker has left to other hosts, with their folders, which do not exist here.
        self._left: dict[int, str] = {}
        #: Tickets that the statement which ended their job has removed.
        self._removed: set[int] = set()
        self._stopping = asyncio.Event()
        #: Whether the last use of the database failed.
        self._is_cut_off = False

    def stop(self) -> None:
        """Take no more jobs, and finish the running ones or return them to the queue."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Return whether `stop` was called."""
        return self._stopping.is_set()

    async def wait_for_stop(self, seconds: float) -> None:
        """Wait until `stop` is called, for at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def run(self, *, until_idle: bool = False) -> None:
        """Run jobs until `stop` is called; with `until_idle`, until there is nothing left to do."""
        with self._signals():
            if self._is_listed:
                await asyncio.to_thread(preload)
            await self._register()
            seconds = self._settings.takeover_seconds
            try:
                async with HeartbeatThread(
                    self._database.target, self.id, seconds / 6, seconds * _DEAD_SHARE
                ) as heartbeat:
                    await self._work_and_watch(heartbeat, until_idle=until_idle)
            finally:
                with contextlib.suppress(EnvironmentBroken):
                    await workers.unregister(self._database, self.id)
                if (telemetry := open_telemetry()) is not None:
                    await asyncio.to_thread(telemetry.flush)

    async def _register(self) -> None:
        await workers.register(
            self._database, self.id, self._project, self._queues, self._concurrency, is_listed=self._is_listed
        )

    async def _work_and_watch(self, heartbeat: HeartbeatThread, *, until_idle: bool) -> None:
        watch = asyncio.create_task(self._watch(heartbeat))
        try:
            if self._on_start is not None:
                self._on_start()
            await self._work(until_idle=until_idle)
        finally:
            await cancel_and_wait(watch)

    async def _work(self, *, until_idle: bool) -> None:
        """Run the queue's worker, and start it again after the database was unavailable."""
        while not self._stopping.is_set():
            try:
                async with _queue_app(self._database.target, self._removed) as app:
                    self._note_available()
                    app.task(name=TASK, pass_context=True)(self._run_ticket)
                    await self._list_queues()
                    listing = asyncio.create_task(self._keep_listing_queues())
                    try:
                        await self._until_stopped(self._queue_worker(app, until_idle=until_idle))
                    finally:
                        await cancel_and_wait(listing)
                if until_idle and not await self._is_work_left():
                    return
            except (*CONNECTION_ERRORS, ConnectorException) as error:
                cause = error.__cause__ or error  # the queue's own message is only "Database error."
                self._note_unavailable(cause)
            await self.wait_for_stop(1.0)

    async def _keep_listing_queues(self) -> None:
        """Add the queues that get their first job while this worker runs."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            with contextlib.suppress(EnvironmentBroken, *CONNECTION_ERRORS):  # the queue's own worker reports it
                await self._list_queues()

    async def _list_queues(self) -> None:
        if self._is_listed:
            self._ticket_queues[:] = await workers.ticket_queues(self._database, self._project, self._queues)

    def _note_unavailable(self, error: BaseException) -> None:
        if not self._is_cut_off:
            log.warning("the database is unavailable, trying again: %s", " ".join(str(error).split()))
        self._is_cut_off = True

    def _note_available(self) -> None:
        if self._is_cut_off:
            log.warning("the database is available again")
        self._is_cut_off = False

    async def _until_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the queue's worker until it ends or `stop` is called. Raises its error."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # no job may continue without its worker
            working.cancel()
            await asyncio.wait({working}, timeout=self._settings.shutdown_seconds + _CANCEL_SECONDS)
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
        """Return whether jobs are due, or are run by other workers and may have to be taken over."""
        row = await self._database.row("jobs.is_work_left", queues=self._ticket_queues, worker=self.id)
        return bool(row and row["is_left"])

    async def _queue_worker(self, app: procrastinate.App, *, until_idle: bool) -> None:
        seconds = self._settings.takeover_seconds
        options: dict[str, Any] = {"queues": self._ticket_queues}
        if not until_idle:
            options["shutdown_graceful_timeout"] = self._settings.shutdown_seconds
        await app.run_worker_async(
            **options,
            name=self.id,
            concurrency=self._concurrency,
            wait=not until_idle,
            fetch_job_polling_interval=_POLL_SECONDS,
            abort_job_polling_interval=_POLL_SECONDS / 2,  # so a cancellation takes effect within a second
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=max(0.5, seconds / 3),
            stalled_worker_timeout=max(2.0, seconds),
        )

    async def _run_ticket(self, context: procrastinate.JobContext, *, job: int) -> None:
        """Claim the job of a ticket and run it."""
        failpoint("ticket-taken")
        self._active[job] += 1
        try:
            claimed = await self._claim(job, context.job.id)
            if claimed is not None and not await self._leaves(claimed):
                try:
                    await self._run(claimed, context)
                finally:
                    await self._wake_next(claimed.queue)
        except (EnvironmentBroken, *CONNECTION_ERRORS) as error:
            # `_return_lost_jobs` repairs the row of the job when the database is available again.
            log.warning("job %s is delayed: %s", job, error)
        finally:
            self._active -= Counter([job])

    async def _wake_next(self, queue: str) -> None:
        """Wake the next job of a limited queue after one has ended."""
        if queue not in self._settings.queue_limits:
            return
        try:
            await jobs.wake_next(self._database, queue)
        except (EnvironmentBroken, *CONNECTION_ERRORS) as error:
            log.warning("the next job of %s is delayed: %s", queue, " ".join(str(error).split()))

    async def _run(self, job: Job, context: procrastinate.JobContext) -> None:
        try:
            await Attempt(self._database, job, self._settings, self._runners).run()
            if context.job.id is not None and not job.is_cancelled:  # the end of a cancelled job may not be stored
                self._removed.add(context.job.id)
        except AttemptFenced as error:
            log.warning("%s", error)
        except asyncio.CancelledError:
            is_shutdown = context.abort_reason() is not AbortReason.USER_REQUEST
            await asyncio.shield(stop_job(self._database, job, self._settings, is_shutdown=is_shutdown))
            raise
        except (DatabaseUnavailable, *CONNECTION_ERRORS) as error:
            log.warning("job %s is returned to the queue: %s", job.id, error)
            await jobs.give_back(self._database, job.id, job.attempt, delay=_RETURNED_SECONDS)
        except Exception as error:  # any other error would recur: it ends the job, and the worker continues
            if not isinstance(error, RemitError):  # else the end of the job logs its message, which is enough
                log.exception("job %s failed", job.id, exc_info=error)
            await fail_job(self._database, job, self._settings, error)

    async def _leaves(self, job: Job) -> bool:
        """Return a job whose folder does not exist on this host to the queue, for a host that has it."""
        if job.is_cancelled or not self._is_listed or await asyncio.to_thread(os.path.isdir, job.workspace):
            return False
        self._left[job.id] = job.workspace
        host = socket.gethostname()
        why = f"the folder {job.workspace} does not exist on {host}; the job waits for a worker on a host that has it"
        log.warning("job %s (%s) is left in the queue: %s", job.id, job.agent, why)
        await add_event(self._database, job.id, "left", {"why": to_storable(why), "host": host}, job.attempt)
        await jobs.leave(self._database, job.id, job.attempt, why, _FOLDER_SECONDS)
        return True

    async def _claim(self, job: int, ticket: int | None) -> Job | None:
        folder = self._left.get(job)
        if folder is not None:
            if not await asyncio.to_thread(os.path.isdir, folder):
                if not await jobs.wake_later(self._database, job, _FOLDER_SECONDS):
                    del self._left[job]
                return None
            del self._left[job]
        claimed = await jobs.claim(self._database, job, self.id, ticket, self._settings.queue_limits)
        if claimed == "busy":
            await jobs.wake_later(self._database, job, _BUSY_SECONDS)
            return None
        return claimed

    async def _watch(self, heartbeat: HeartbeatThread) -> None:
        """Take over the jobs of dead workers and end jobs that hang, again and again."""
        seconds = self._settings.takeover_seconds
        while True:
            try:
                await self._supervise(heartbeat, seconds)
                self._note_available()
            except (EnvironmentBroken, *CONNECTION_ERRORS) as error:
                self._note_unavailable(error)
            except Exception:
                log.exception("the check for dead workers failed")  # it is repeated: their jobs must not wait for ever
            await asyncio.sleep(seconds / 6)

    async def _supervise(self, heartbeat: HeartbeatThread, seconds: float) -> None:
        if heartbeat.is_removed:  # this process was frozen, and other workers have taken its jobs over
            await self._register()
        await self._take_over(seconds * _DEAD_SHARE)
        await self._return_lost_jobs()
        for job in await jobs.end_hung(self._database, self._settings.hung_seconds):
            log.warning("job %s hung and was ended", job)
        await self._database.rows("workers.forget", seconds=max(3600.0, 20 * seconds))

    async def _take_over(self, seconds: float) -> None:
        """Queue the jobs of workers without a heartbeat for `seconds`, and jobs without a ticket."""
        orphaned = await jobs.take_over(self._database, self.id, seconds)
        if orphaned is None:  # this process was frozen or the database was unavailable: the others get time to beat
            return
        for job in orphaned:
            log.warning("job %s is taken over: its worker stopped responding", job)
        for job in await jobs.wake_strays(self._database, self.id, seconds, self._strays):
            log.warning("job %s is queued again: it had no ticket", job)

    async def _return_lost_jobs(self) -> None:
        """Return jobs that this worker owns but does not run, because the response to a claim or a write was lost."""
        for row in await self._database.rows("jobs.of_worker", worker=self.id):
            if not self._active[row["id"]]:
                log.warning("job %s is returned to the queue: this worker does not run it", row["id"])
                await jobs.give_back(self._database, row["id"], row["attempt"])

    @contextlib.contextmanager
    def _signals(self) -> Any:
        """Handle signals: SIGTERM and SIGINT stop the worker gracefully, SIGHUP reloads the definitions."""
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
async def _queue_app(target: ConnectionTarget, removed: set[int]) -> AsyncIterator[procrastinate.App]:
    connector = procrastinate.PsycopgConnector(
        pool_factory=_queue_pool,
        conninfo=target.address,
        kwargs=dict(target.parameters),
        min_size=1,
        max_size=4,
        timeout=10,
        reconnect_timeout=RECONNECT_SECONDS,
        configure=_without_transactions,
    )
    app = procrastinate.App(connector=connector)
    app.job_manager = _Tickets(connector, removed)
    async with app.open_async():
        yield app


class _Tickets(JobManager):
    """The tickets of the queue; that of a job which another worker has taken over may be gone when the job ends."""

    def __init__(self, connector: procrastinate.PsycopgConnector, removed: set[int]) -> None:
        super().__init__(connector)
        self._removed = removed

    async def finish_job_by_id_async(self, job_id: int, status: Status, delete_job: bool) -> None:  # noqa: FBT001 (theirs)
        """Remove a ticket, if it is there."""
        if job_id in self._removed:
            self._removed.discard(job_id)
            return
        try:
            await super().finish_job_by_id_async(job_id, status, delete_job)
        except ConnectorException as error:
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise
            log.debug("ticket %s was removed before", job_id)


def _queue_pool(**named: Any) -> AsyncConnectionPool[Any]:
    """Return the queue's pool. Its own check of a connection is a round trip for each ticket."""
    return AsyncConnectionPool(**{**named, "check": check_idle})


async def _without_transactions(connection: psycopg.AsyncConnection[Any]) -> None:
    """Enable autocommit: the queue sends single statements, and BEGIN and COMMIT would only cost round trips."""
    await connection.set_autocommit(True)
