"""The cost of the queue: jobs per second and the time to a start, compared with plain procrastinate.

On the embedded PostgreSQL, and on another server if REMIT_DATABASE_URL names a database without jobs.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import procrastinate
from measure import Bench

from remit.configuration import load
from remit.dispatch import worker as worker_module
from remit.dispatch.submit import Queueing, Submission, insert
from remit.dispatch.worker import Worker
from remit.dispatch.worker_settings import Settings, load_settings
from remit.registry.definition import Brief, JobRequest
from remit.registry.lookup import load_registry
from remit.registry.resolution import allow_list, configured_defaults, resolve_request
from remit.store import jobs
from remit.store.database import OPTIONS, Database, open_database
from remit.store.workers import register

_JOBS = 150
_WAITING = 100_000
#: How many starts are measured, how many warm up before that, and the pause between two starts.
_STARTS = 100
_WARM = 20
_REST_SECONDS = 0.01
_notes: list[str] = []
#: Address -> the times of the last measurement of starts: ours, plain, and one commit; in milliseconds.
_starts: dict[str | None, tuple[float, float, float]] = {}


def brief_of_a_job() -> Brief:
    """Return the brief of the jobs of a bench."""
    configured = load()
    return resolve_request(
        JobRequest(prompt="look", subagent_def="code-explorer"),
        load_registry([], allow_list(configured, None)),
        policy="open",
        allowed=allow_list(configured, None),
        defaults=configured_defaults(configured),
    )


def places() -> dict[str, str | None]:
    """Return the databases to measure on: a suffix for the bench's name, and the address."""
    external = os.environ.get("REMIT_DATABASE_URL")
    return {"": None, **({", external": external} if external else {})}


@asynccontextmanager
async def scratch(address: str | None) -> AsyncIterator[tuple[Database, Settings]]:
    """Open a database without jobs, and remove the jobs of the bench afterwards; other jobs are never touched."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        settings = load_settings()._replace(state=Path(folder), texts=Path(folder), database=address)
        async with open_database(address, settings.state) as database:
            await _refuse_jobs(database)
            try:
                yield database, settings
            finally:
                await _without_jobs(database)


async def _refuse_jobs(database: Database) -> None:
    async with database.transaction() as connection:
        found = await connection.execute(
            "SELECT EXISTS (SELECT 1 FROM remit.jobs) OR EXISTS (SELECT 1 FROM remit.plans)"
            " OR EXISTS (SELECT 1 FROM procrastinate_jobs)"
            " OR EXISTS (SELECT 1 FROM remit.workers WHERE heartbeat > now() - interval '1 minute') AS is_used"
        )
        row = await found.fetchone()
    if row is None or row["is_used"]:
        raise SystemExit(
            "the database of REMIT_DATABASE_URL contains jobs or has workers: a bench removes all its jobs"
        )


async def _without_jobs(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute("TRUNCATE remit.jobs CASCADE")
        await connection.execute("DELETE FROM procrastinate_jobs")
        await connection.execute("DELETE FROM remit.workers")  # those of a bench are killed, and would count as alive


def submission(number: int, brief: Brief, queue: str = "bench") -> Submission:
    """One of many jobs."""
    request = JobRequest(prompt=f"task {number}", subagent_def="code-explorer")
    return Submission(request=request, brief=brief, workspace="/", project="/", queueing=Queueing(queue=queue))


class _Started:
    """When jobs started, by their number."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start again, perhaps in another event loop."""
        self.at: dict[int, float] = {}
        self.news = asyncio.Event()

    def note(self, number: int) -> None:
        """Record the start of a job."""
        self.at[number] = time.perf_counter()
        self.news.set()


class _Nothing:
    """An attempt that only ends."""

    started = _Started()

    def __init__(self, database: Database, job: jobs.Job, *_: object) -> None:
        self._database, self._job = database, job

    async def run(self) -> None:
        self.started.note(self._job.id)
        await jobs.finish(self._database, self._job.id, self._job.attempt, "completed", result="done")


@asynccontextmanager
async def _doing_nothing() -> AsyncIterator[None]:
    real = vars(worker_module)["Attempt"]
    vars(worker_module)["Attempt"] = _Nothing
    try:
        yield
    finally:
        vars(worker_module)["Attempt"] = real


async def _ours(database: Database, settings: Settings, count: int) -> float:
    """Seconds a job for submitting and running many."""
    brief = brief_of_a_job()
    begun = time.perf_counter()
    for number in range(count):
        await insert(database, submission(number, brief))
    await Worker(database, settings, queues=["bench"], concurrency=10, is_listed=False).run(until_idle=True)
    return (time.perf_counter() - begun) / count


@asynccontextmanager
async def _plain_app(database: Database) -> AsyncIterator[tuple[procrastinate.App, Any]]:
    connector = procrastinate.PsycopgConnector(conninfo=database.address, kwargs={"options": OPTIONS}, max_size=10)
    app = procrastinate.App(connector=connector)
    async with app.open_async():
        yield app, app.task(name="nothing", queue="plain", pass_context=False)(_nothing)


_plain_started = _Started()


async def _nothing(number: int) -> None:
    _plain_started.note(number)


async def _plain(database: Database, count: int) -> float:
    async with _plain_app(database) as (app, task):
        begun = time.perf_counter()
        for number in range(count):
            await task.defer_async(number=number)
        await app.run_worker_async(
            queues=["plain"], concurrency=10, wait=False, install_signal_handlers=False, delete_jobs="always"
        )
        return (time.perf_counter() - begun) / count


async def _throughput(address: str | None) -> float:
    async with scratch(address) as (database, settings), _doing_nothing():
        own, plain = [], []
        for _ in range(3):
            plain.append(await _plain(database, _JOBS))
            own.append(await _ours(database, settings, _JOBS))
        return sorted(own)[1] / sorted(plain)[1]


async def _wait(submit: Callable[[int], Awaitable[int]], number: int, started: _Started) -> float:
    """The time from putting a job into the queue to its start, with nothing else to do."""
    begun = time.perf_counter()
    key = await submit(number)
    while key not in started.at:
        started.news.clear()
        await started.news.wait()
    taken = started.at[key] - begun
    await asyncio.sleep(_REST_SECONDS)
    return taken


async def _start_time(address: str | None) -> float:
    """Jobs one after the other, ours and plain ones in turns, both workers at the same database."""
    async with scratch(address) as (database, settings), _doing_nothing(), _plain_app(database) as (app, task):
        brief = brief_of_a_job()
        worker = Worker(database, settings, queues=["bench"], concurrency=10, is_listed=False)
        working = asyncio.create_task(worker.run())
        running = asyncio.create_task(
            app.run_worker_async(queues=["plain"], concurrency=10, install_signal_handlers=False, delete_jobs="always")
        )

        async def ours(number: int) -> int:
            return (await insert(database, submission(number, brief)))[0]

        async def plain(number: int) -> int:
            await task.defer_async(number=number)
            return number

        _Nothing.started.forget()
        _plain_started.forget()
        own, other, bare = [], [], []
        async with bare_table(database):
            for number in range(_STARTS + _WARM):
                other.append(await _wait(plain, number, _plain_started))
                own.append(await _wait(ours, number, _Nothing.started))
                bare.append(await bare_commits(database, 1))
        worker.stop()
        running.cancel()
        await asyncio.gather(working, running, return_exceptions=True)
    own_ms, other_ms, bare_ms = (statistics.median(times[_WARM:]) * 1000 for times in (own, other, bare))
    _starts[address] = own_ms, other_ms, bare_ms
    _notes.append(f"from submitting to starting: {own_ms:.2f} ms, plain {other_ms:.2f} ms, one commit {bare_ms:.2f} ms")
    return own_ms / other_ms


async def _start_floor(address: str | None) -> float:
    """Plain procrastinate and the commit that Remit adds: a claim is stored before the job runs."""
    if address not in _starts:
        await _start_time(address)
        _notes.clear()
    _, other, bare = _starts[address]
    return (other + bare) / other


@asynccontextmanager
async def bare_table(database: Database) -> AsyncIterator[None]:
    """A table for `bare_commits`."""
    async with database.transaction() as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS remit_bench (number bigint)")
    try:
        yield
    finally:
        async with database.transaction() as connection:
            await connection.execute("DROP TABLE remit_bench")


async def bare_commits(database: Database, number: int) -> float:
    """Seconds of transactions that each store one number."""
    begun = time.perf_counter()
    for _ in range(number):
        async with database.connection() as connection:
            await connection.execute("INSERT INTO remit_bench VALUES (1)")
    return time.perf_counter() - begun


async def _claiming(address: str | None) -> float:
    """Claiming with 100,000 jobs waiting against claiming with 100."""
    async with scratch(address) as (database, _):
        brief = brief_of_a_job()
        taken = []
        for waiting in (100, _WAITING):
            await _without_jobs(database)
            first, _new = await insert(database, submission(0, brief))
            async with database.transaction() as connection:
                await connection.execute(
                    "INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, queue) "
                    "SELECT agent, brief, request, prompt, workspace, queue FROM remit.jobs, generate_series(1, %s)",
                    [waiting],
                )
                await connection.execute(
                    "INSERT INTO procrastinate_jobs (queue_name, task_name, args) "
                    "SELECT 'bench', 'remit.run', jsonb_build_object('job', id) FROM remit.jobs"
                )
                await connection.execute("ANALYZE")
            begun = time.perf_counter()
            for number in range(50):
                async with database.transaction() as connection:
                    await connection.execute("SELECT * FROM procrastinate_fetch_job_v2('{bench}', NULL)")
                await jobs.claim(database, first + 1 + number, "00000000-0000-0000-0000-000000000000", None)
            taken.append(time.perf_counter() - begun)
        return taken[1] / taken[0]


async def _rounds(database: Database, worker: str, queue: str) -> None:
    for _ in range(30):
        await jobs.take_over(database, worker, 60)
        await jobs.wake_strays(database, worker, 60)
        await database.rows("jobs.next_waiting", queue=queue)
        await database.rows("jobs.is_work_left", queues=[queue], worker=worker)


async def _looking(address: str | None) -> float:
    """What a worker does again and again, with 100,000 finished jobs in the store against 100."""
    worker, queue = "00000000-0000-0000-0000-000000000000", "bench"
    async with scratch(address) as (database, _):
        taken = []
        for there in (100, _WAITING):
            await _without_jobs(database)
            await insert(database, submission(0, brief_of_a_job()))
            async with database.transaction() as connection:
                await connection.execute(
                    "INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, queue, state, outcome, finished)"
                    " SELECT agent, brief, request, prompt, workspace, queue, 'finished', 'completed', now()"
                    " FROM remit.jobs, generate_series(1, %s)",
                    [there],
                )
                await connection.execute("ANALYZE")
            await register(database, worker, None, [queue], 1, is_listed=False)
            await _rounds(database, worker, queue)  # which warms up
            begun = time.perf_counter()
            await _rounds(database, worker, queue)
            taken.append(time.perf_counter() - begun)
        return taken[1] / taken[0]


def benches() -> list[Bench]:
    """What is measured here."""
    found = []
    for where, address in places().items():
        found += [
            _bench(f"a job through the queue{where}", "plain procrastinate", 1.5, _throughput, address),
            _bench(f"from submitting to starting{where}", "plain procrastinate", 1.3, _start_time, address),
            _bench(
                f"from submitting to starting{where}, its floor: one more commit",
                "plain procrastinate",
                None,
                _start_floor,
                address,
            ),
            _bench(f"claiming with 100,000 jobs waiting{where}", "claiming with 100", 2, _claiming, address),
            _bench(f"looking around among 100,000 finished jobs{where}", "among 100", 2, _looking, address),
        ]
    return found


def _explained() -> list[str]:
    notes, _notes[:] = list(_notes), []
    return notes


def _bench(
    name: str,
    baseline: str,
    goal: float | None,
    measure: Callable[[str | None], Coroutine[Any, Any, float]],
    address: str | None,
) -> Bench:
    return Bench(name, baseline, "x", goal, lambda: asyncio.run(measure(address)), _explained)
