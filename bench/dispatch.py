"""What durability costs: the queue against plain procrastinate, a durable turn against the same turn without."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import procrastinate
from measure import Bench

from remit.configuration import load
from remit.dispatch import worker as worker_module
from remit.dispatch.settings import Settings, load_settings
from remit.dispatch.worker import Worker
from remit.registry.api import allow_list, configured_defaults
from remit.registry.lookup import load_registry
from remit.registry.model import Brief, JobRequest
from remit.registry.resolve import resolve_request
from remit.store import jobs
from remit.store.database import OPTIONS, Database, open_database
from remit.store.jobs import Submission
from remit.store.transcript import Sums, Transcript

_JOBS = 300
_WAITING = 100_000


def _brief() -> Brief:
    configured = load()
    return resolve_request(
        JobRequest(prompt="look", subagent_def="code-explorer"),
        load_registry([], allow_list(configured, None)),
        policy="open",
        allowed=allow_list(configured, None),
        defaults=configured_defaults(configured),
    )


@asynccontextmanager
async def _database() -> AsyncIterator[tuple[Database, Settings]]:
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        settings = load_settings()._replace(data=Path(folder), database=None)
        async with open_database(None, settings.data) as database:
            yield database, settings


def _submission(number: int, brief: Brief, queue: str = "bench") -> Submission:
    request = JobRequest(prompt=f"task {number}", subagent_def="code-explorer")
    return Submission(request=request, brief=brief, workspace="/", queue=queue)


class _Nothing:
    """An attempt that has nothing to do but to end."""

    started: dict[int, float] = {}

    def __init__(self, database: Database, job: jobs.Job, *_: object) -> None:
        self._database, self._job = database, job

    async def run(self) -> None:
        self.started[self._job.id] = time.perf_counter()
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
    brief = _brief()
    begun = time.perf_counter()
    for number in range(count):
        await jobs.submit(database, _submission(number, brief))
    await Worker(database, settings, queues=["bench"], concurrency=10, is_listed=False).run(until_idle=True)
    return (time.perf_counter() - begun) / count


@asynccontextmanager
async def _plain_app(database: Database) -> AsyncIterator[tuple[procrastinate.App, Any]]:
    connector = procrastinate.PsycopgConnector(conninfo=database.address, kwargs={"options": OPTIONS}, max_size=10)
    app = procrastinate.App(connector=connector)
    async with app.open_async():
        yield app, app.task(name="nothing", queue="plain", pass_context=False)(_nothing)


_plain_started: dict[int, float] = {}


async def _nothing(number: int) -> None:
    _plain_started[number] = time.perf_counter()


async def _plain(database: Database, count: int) -> float:
    async with _plain_app(database) as (app, task):
        begun = time.perf_counter()
        for number in range(count):
            await task.defer_async(number=number)
        await app.run_worker_async(
            queues=["plain"], concurrency=10, wait=False, install_signal_handlers=False, delete_jobs="always"
        )
        return (time.perf_counter() - begun) / count


async def _throughput() -> float:
    async with _database() as (database, settings), _doing_nothing():
        own, plain = [], []
        for _ in range(3):
            plain.append(await _plain(database, _JOBS))
            own.append(await _ours(database, settings, _JOBS))
        return sorted(own)[1] / sorted(plain)[1]


async def _waits(count: int, submit: Callable[[int], Awaitable[int]], started: dict[int, float]) -> float:
    """The median time from putting one job into the queue to its start, one after the other."""
    found = []
    for number in range(count):
        begun = time.perf_counter()
        key = await submit(number)
        while key not in started:  # noqa: ASYNC110 (an event would be one more thing to measure)
            await asyncio.sleep(0)
        found.append(started[key] - begun)
    return sorted(found)[len(found) // 2]


async def _start_time() -> float:
    async with _database() as (database, settings), _doing_nothing():
        brief = _brief()
        worker = Worker(database, settings, queues=["bench"], concurrency=10, is_listed=False)
        working = asyncio.create_task(worker.run())

        async def ours(number: int) -> int:
            return (await jobs.submit(database, _submission(number, brief)))[0]

        _Nothing.started.clear()
        await _waits(10, ours, _Nothing.started)
        own = await _waits(100, ours, _Nothing.started)
        worker.stop()
        await working
        async with _plain_app(database) as (app, task):
            running = asyncio.create_task(
                app.run_worker_async(queues=["plain"], concurrency=10, install_signal_handlers=False)
            )

            async def plain(number: int) -> int:
                await task.defer_async(number=number)
                return number

            _plain_started.clear()
            await _waits(10, plain, _plain_started)
            _plain_started.clear()
            other = await _waits(100, plain, _plain_started)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return own / other


async def _claiming() -> float:
    """Claiming with 100,000 jobs waiting against claiming with 100."""
    async with _database() as (database, _):
        brief = _brief()
        taken = []
        for waiting in (100, _WAITING):
            async with database.transaction() as connection:
                await connection.execute("TRUNCATE remit.jobs CASCADE")
                await connection.execute("DELETE FROM procrastinate_jobs")
            first, _new = await jobs.submit(database, _submission(0, brief))
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


async def _turn_cost() -> float:
    """Milliseconds that writing down a request, a response and one tool call adds to a turn."""
    async with _database() as (database, _):
        number, _new = await jobs.submit(database, _submission(0, _brief()))
        job = await jobs.claim(database, number, "00000000-0000-0000-0000-000000000000", None)
        if not isinstance(job, jobs.Job):
            raise RuntimeError("the job could not be claimed")
        transcript = Transcript(database, job.id, job.attempt)
        message = b'{"kind": "response", "parts": [{"content": "' + b"x" * 4000 + b'"}]}'
        begun = time.perf_counter()
        for turn in range(100):
            await transcript.save_message(2 * turn, message, Sums(turns=turn))
            await transcript.save_message(2 * turn + 1, message, Sums(turns=turn))
            await transcript.begin_call(f"{turn}:a", turn, "Read", {"file_path": "a.py"})
            await transcript.finish_call(f"{turn}:a", "x" * 4000, None, is_failed=False)
        return (time.perf_counter() - begun) * 10


def benches() -> list[Bench]:
    """What is measured here."""
    return [
        Bench("a job through the queue", "plain procrastinate", "x", 1.5, lambda: asyncio.run(_throughput())),
        Bench("from submitting to starting", "plain procrastinate", "x", 1.5, lambda: asyncio.run(_start_time())),
        Bench("claiming with 100,000 jobs waiting", "claiming with 100", "x", 2, lambda: asyncio.run(_claiming())),
        Bench("writing down a turn with one tool call", "the clock", "ms", None, lambda: asyncio.run(_turn_cost())),
    ]
