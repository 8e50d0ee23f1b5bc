"""The store with many waiting and as many finished jobs (with --long a million), compared with a thousand of each."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path

import psycopg
from dispatch import brief_of_a_job, submission
from measure import Bench, sized
from support.postgres import Postgres  # type: ignore[import-not-found,unused-ignore]

from remit.dispatch.submit import insert
from remit.registry.definition import Brief
from remit.store import jobs, workers
from remit.store.database import Database, open_database

FEW, MANY = 1_000, sized(1_000_000, 100_000)
_REPEATS = 25
_notes: list[str] = []
#: Rows without triggers; every waiting job has its ticket.
_FILL = """
SET session_replication_role = replica;
INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, state, outcome, verdict, created, started, finished,
    result)
SELECT 'agent-' || n % 40, brief, '{{}}', 'task ' || n, '/srv/shop', 'finished', 'completed', 'accept', t, t, t,
    'A line of a result.'
FROM (SELECT n, now() - interval '20 days' + n * interval '1 s' AS t FROM generate_series(1, {number}) AS n) AS times,
    (SELECT digest AS brief FROM remit.briefs LIMIT 1) AS briefs;
INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, queue)
SELECT 'agent-' || n % 40, brief, '{{}}', 'task ' || n, '/srv/shop', 'bench'
FROM generate_series(1, {number}) AS n, (SELECT digest AS brief FROM remit.briefs LIMIT 1) AS briefs;
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args, status)
SELECT queue, 'remit.run', 0, jsonb_build_object('job', id), 'todo' FROM remit.jobs WHERE state = 'queued';
RESET session_replication_role;
"""
_SCANS: dict[int, jobs.StrayScan] = {}
Operation = Callable[[Database, int], Awaitable[object]]


@asynccontextmanager
async def filled(address: str, number: int) -> AsyncIterator[Database]:
    """Open a database with this number of waiting jobs, and as many finished ones."""
    async with open_database(address, Path("/")) as database:
        await insert(database, submission(0, _brief()))
        async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
            await connection.execute(_FILL.format(number=number).encode())
            await connection.execute(b"VACUUM ANALYZE")
        yield database


@cache
def _brief() -> Brief:
    return brief_of_a_job()


async def _submit(database: Database, number: int) -> None:
    await insert(database, submission(number, _brief()))


async def _claim(database: Database, number: int) -> None:
    """Take a ticket as the queue does, and claim its job."""
    async with database.transaction() as connection:
        found = await connection.execute(
            "SELECT id, args ->> 'job' AS job FROM procrastinate_fetch_job_v2(ARRAY['bench'], NULL)"
        )
        row = await found.fetchone()
    if row is None or row["job"] is None:
        raise SystemExit("there is no ticket")
    await jobs.claim(database, int(row["job"]), str(uuid.UUID(int=1)), int(row["id"]))


async def _list(database: Database, _: int) -> None:
    await jobs.list_jobs(database, state=None, agent=None, limit=50)


async def _list_agent(database: Database, _: int) -> None:
    await jobs.list_jobs(database, state="finished", agent="agent-7", limit=50)


async def _list_finished(database: Database, _: int) -> None:
    await jobs.list_jobs(database, state="finished", agent=None, limit=50)


async def _show(database: Database, number: int) -> None:
    await jobs.get(database, 1 + number)


async def _prune(database: Database, number: int) -> None:
    """Remove the jobs of a minute: twenty days old at first."""
    async with database.transaction() as connection:
        await connection.execute(
            "UPDATE remit.jobs SET finished = now() - interval '60 days' WHERE id BETWEEN %s AND %s"
            " AND state = 'finished'",
            (100 + 20 * number, 119 + 20 * number),
        )
    await jobs.prune(database, 50)


async def _find_stuck(database: Database, _: int) -> None:
    await jobs.take_over(database, str(uuid.UUID(int=1)), 30.0)
    await jobs.wake_strays(database, str(uuid.UUID(int=1)), 30.0, _SCANS.setdefault(id(database), jobs.StrayScan()))
    await jobs.end_hung(database, 3600.0)


OPERATIONS: dict[str, Operation] = {
    "submit": _submit,
    "claim": _claim,
    "list": _list,
    "list of one agent": _list_agent,
    "list of finished jobs": _list_finished,
    "show": _show,
    "prune 20 jobs": _prune,
    "find stuck jobs": _find_stuck,
}


@cache
def _ratios() -> dict[str, float]:
    with _databases() as addresses:
        return asyncio.run(_measure(*addresses))


@contextmanager
def _databases() -> Iterator[list[str]]:
    """Start a server whose superuser may connect, and yield the addresses of two databases with all tables."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-", ignore_cleanup_errors=True) as name:
        server = Postgres(Path(name), is_safe=True)
        try:
            yield [server.database(), server.database()]
        finally:
            server.close()


async def _measure(few_address: str, many_address: str) -> dict[str, float]:
    ratios = {}
    async with filled(few_address, FEW) as few, filled(many_address, MANY) as many:
        for database in (few, many):
            await workers.register(database, str(uuid.UUID(int=1)), None, ["bench"], 5, is_listed=True)
        for title, operation in OPERATIONS.items():
            ratios[title] = await _compare(title, operation, few, many)
    return ratios


async def _compare(title: str, operation: Operation, few: Database, many: Database) -> float:
    times: dict[int, list[float]] = {FEW: [], MANY: []}
    for number in range(_REPEATS):
        for size, database in ((FEW, few), (MANY, many)):
            started = time.perf_counter()
            await operation(database, number)
            times[size].append(time.perf_counter() - started)
    small, large = (1000 * statistics.median(times[size][3:]) for size in (FEW, MANY))
    _notes.append(f"  {title:<20} {small:8.2f} ms at {FEW:,}  {large:8.2f} ms at {MANY:,}")
    return large / small


def benches() -> list[Bench]:
    """Return the benches of this file."""
    return [
        Bench(
            f"{title}: {MANY:,} waiting and finished jobs",
            f"{FEW:,} of each",
            "x",
            2.0,
            lambda title=title: _ratios()[title],  # type: ignore[misc]
            (lambda: _notes) if title == "find stuck jobs" else None,
        )
        for title in OPERATIONS
    ]
