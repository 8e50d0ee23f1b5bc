"""A write whose reply is lost is repeated without a second effect, so a restart of the database is invisible."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from support.fleet import Store, submitted
from support.postgres import Postgres

from remit import testing
from remit.dispatch.submit import Queueing
from remit.evidence.receipts import Receipt
from remit.store import jobs, workers
from remit.store.database import Connection, ConnectionTarget, Database, open_database
from remit.store.jobs import AttemptFenced, Job
from remit.store.transcript import (
    ActualUsage,
    BudgetRequest,
    Reservation,
    Transcript,
    UsageSums,
    reserve,
    settle_broken,
)

OTHER = "00000000-0000-0000-0000-000000000002"
WORKER = "00000000-0000-0000-0000-000000000001"
Step = Callable[[Database, Job], Coroutine[Any, Any, object]]
TABLES = ("jobs", "messages", "tool_calls", "receipts", "results", "events", "workers", "slots")


class Forgetful(Database):
    """Run every write twice, as if the reply to the first had been lost."""

    def __init__(self, target: ConnectionTarget, pool: AsyncConnectionPool[Connection]) -> None:
        super().__init__(target, pool)
        self.lost = 0

    async def with_retry(self, work: Callable[[], Any]) -> Any:
        first = True

        async def losing() -> Any:
            nonlocal first
            answer = await work()
            if first:
                first = False
                self.lost += 1
                raise psycopg.OperationalError("the answer was lost")
            return answer

        return await super().with_retry(losing)


@asynccontextmanager
async def opened(address: str, kind: type[Database]) -> AsyncIterator[Database]:
    async with open_database(address, Path("/")) as database:
        yield kind(database.target, database._pool)


async def _message(database: Database, job: Job) -> None:
    await Transcript(database, job.id, job.attempt).save_message(0, b'{"kind":"request"}', UsageSums(1, 10, 5), "text")


async def _begun(database: Database, job: Job) -> None:
    await Transcript(database, job.id, job.attempt).begin_call("1:a", 1, "Bash", {"command": "ls"})


async def _call(database: Database, job: Job) -> None:
    transcript = Transcript(database, job.id, job.attempt)
    await _begun(database, job)
    await transcript.finish_call("1:a", "out", Receipt(tool="Bash"), is_failed=False)


async def _result(database: Database, job: Job) -> None:
    await Transcript(database, job.id, job.attempt).save_result(1, "text", "accept", msgspec.json.encode({}))


async def _budget(database: Database, job: Job) -> None:
    held = await reserve(database, job.id, job.attempt, BudgetRequest(100, 200, 64))
    assert isinstance(held, Reservation)
    await settle_broken(database, job.id, job.attempt, held, ActualUsage(20, 10, 0.5))


async def _reserved(database: Database, job: Job) -> None:
    await reserve(database, job.id, job.attempt, BudgetRequest(100, 200, 64))


async def _written_off(database: Database, job: Job) -> None:
    await _reserved(database, job)
    before = getattr(database, "lost", -1)
    await jobs.free_reserved(database, job.id)
    assert getattr(database, "lost", 0) > before, "it is tried again"


async def _slot(database: Database, job: Job) -> None:
    assert await workers.take_slot(database, "anthropic", job.id, job.attempt, 1, 60)


async def _registered(database: Database, _: Job) -> None:
    await workers.register(database, WORKER, None, ["default"], 5, is_listed=True)


async def _finished(database: Database, job: Job) -> None:
    await jobs.finish(database, job.id, job.attempt, "completed", verdict="accept", result="text")


async def _given_back(database: Database, job: Job) -> None:
    await jobs.give_back(database, job.id, job.attempt)


STEPS: list[Step] = [
    _message,
    _begun,
    _call,
    _result,
    _budget,
    _reserved,
    _written_off,
    _slot,
    _registered,
    _finished,
    _given_back,
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__.strip("_"))
def test_a_write_whose_reply_was_lost_is_repeated_without_effect(
    step: Step, postgres: Postgres, tmp_path: Path
) -> None:
    once, again = postgres.database(), postgres.database()

    asyncio.run(_done(once, Database, step, tmp_path))
    lost = asyncio.run(_done(again, Forgetful, step, tmp_path))

    assert lost
    assert _rows(again) == _rows(once)


async def _done(address: str, kind: type[Database], step: Step, place: Path) -> int:
    number = (await submitted(address, testing.registry("---\nname: builder\n---\nGo."), [("go", place, Queueing())]))[
        0
    ]
    async with opened(address, Database) as database:
        job = await jobs.claim(database, number, WORKER, 1)
        assert isinstance(job, Job)
    async with opened(address, kind) as database:
        await step(database, job)
        return getattr(database, "lost", 0)


def _rows(address: str) -> dict[str, list[Any]]:
    """Return all rows without their times."""
    store = Store(address)
    found = {name: store.rows(f"SELECT * FROM remit.{name} ORDER BY 1, 2") for name in TABLES}
    tickets = store.rows("SELECT queue_name, status FROM remit.procrastinate_jobs ORDER BY id")
    kept = {
        name: [
            [value for key, value in row.items() if key != "seconds" and not hasattr(value, "tzinfo")] for row in rows
        ]
        for name, rows in found.items()
    }
    return {**kept, "tickets": tickets}


@pytest.mark.parametrize("limits", [None, {"default": 1}], ids=["free", "limited"])
def test_a_claim_whose_reply_was_lost_is_kept(
    limits: dict[str, float] | None, postgres: Postgres, tmp_path: Path
) -> None:
    address = postgres.database()

    async def run() -> None:
        registry = testing.registry("---\nname: builder\n---\nGo.")
        number = (await submitted(address, registry, [("go", tmp_path, Queueing())]))[0]
        async with opened(address, Forgetful) as database:
            job = await jobs.claim(database, number, WORKER, 7, limits)
            assert isinstance(job, Job)
            assert await jobs.claim(database, number, WORKER, 8, limits) is None, "another ticket does not own it"
            await _finished(database, job)

    asyncio.run(run())


def test_an_attempt_that_has_ended_cannot_write(postgres: Postgres, tmp_path: Path) -> None:
    address = postgres.database()

    async def run() -> None:
        registry = testing.registry("---\nname: builder\n---\nGo.")
        number = (await submitted(address, registry, [("go", tmp_path, Queueing())]))[0]
        async with opened(address, Database) as database:
            old = await jobs.claim(database, number, WORKER, 1)
            assert isinstance(old, Job)
            await _call(database, old)
            await jobs.give_back(database, number, old.attempt)
            new = await jobs.claim(database, number, WORKER, 2)
            assert isinstance(new, Job)
            before = _rows(address)
            for step in (_message, _begun, _call, _result, _reserved, _finished):
                with pytest.raises(AttemptFenced):
                    await step(database, old)
            await _given_back(database, old)
            assert _rows(address) == before

    asyncio.run(run())


def test_calls_that_end_at_the_same_time_are_all_counted(postgres: Postgres, tmp_path: Path) -> None:
    address = postgres.database()

    async def run() -> None:
        registry = testing.registry("---\nname: builder\n---\nGo.")
        number = (await submitted(address, registry, [("go", tmp_path, Queueing())]))[0]
        async with opened(address, Database) as database:
            job = await jobs.claim(database, number, WORKER, 1)
            assert isinstance(job, Job)
            transcript = Transcript(database, number, job.attempt)
            calls = [f"1:{name}" for name in "abcdefgh"]
            for call in calls:
                await transcript.begin_call(call, 1, "Read", {})
            await asyncio.gather(*(transcript.finish_call(call, "", None, is_failed=False) for call in calls))
            assert (await jobs.get(database, number)).tool_calls == len(calls)

    asyncio.run(run())


def test_a_cancelled_job_is_not_started_again(postgres: Postgres, tmp_path: Path) -> None:
    """Its worker died before it recorded the cancellation."""
    address = postgres.database()

    async def run() -> None:
        from remit.dispatch.attempt import Attempt
        from remit.dispatch.worker_settings import load_settings

        registry = testing.registry("---\nname: builder\n---\nGo.")
        number = (await submitted(address, registry, [("go", tmp_path, Queueing())]))[0]
        async with opened(address, Database) as database:
            assert isinstance(await jobs.claim(database, number, WORKER, 1), Job)
            await jobs.cancel(database, number)
            await workers.register(database, OTHER, None, [], 1, is_listed=True)
            assert await jobs.take_over(database, OTHER, 60) == [number]
            job = await jobs.claim(database, number, WORKER, 2)
            assert isinstance(job, Job)
            await Attempt(database, job, load_settings(start=tmp_path)).run()
            assert (await jobs.get(database, number)).outcome == "cancelled"

    asyncio.run(run())


def test_only_the_oldest_worker_requeues_stray_jobs(postgres: Postgres, tmp_path: Path) -> None:
    address = postgres.database()
    young = "00000000-0000-0000-0000-000000000002"

    async def run() -> None:
        registry = testing.registry("---\nname: builder\n---\nGo.")
        number = (await submitted(address, registry, [("go", tmp_path, Queueing())]))[0]
        async with opened(address, Database) as database:
            await workers.register(database, WORKER, None, [], 1, is_listed=True)
            await workers.register(database, young, None, [], 1, is_listed=True)
            assert await jobs.wake_strays(database, WORKER, 60) == [], "it has a ticket"
            Store(address).rows("DELETE FROM remit.procrastinate_jobs")
            assert await jobs.wake_strays(database, young, 60) == []
            assert await jobs.wake_strays(database, WORKER, 60) == [number]
            assert await jobs.wake_strays(database, WORKER, 60) == []

    asyncio.run(run())


def test_the_search_for_stray_jobs_continues_where_it_stopped(postgres: Postgres, tmp_path: Path) -> None:
    address = postgres.database()

    async def run() -> None:
        registry = testing.registry("---\nname: builder\n---\nGo.")
        numbers = await submitted(address, registry, [("go", tmp_path, Queueing())] * 5)
        async with opened(address, Database) as database:
            await workers.register(database, WORKER, None, [], 1, is_listed=True)
            Store(address).rows("DELETE FROM remit.procrastinate_jobs")
            scan = jobs.StrayScan(window=2)
            found = [await jobs.wake_strays(database, WORKER, 60, scan) for _ in range(4)]
        assert found == [numbers[:2], numbers[2:4], numbers[4:], []]

    asyncio.run(run())


def test_tickets_of_finished_jobs_are_removed_from_abandoned_queues(postgres: Postgres, tmp_path: Path) -> None:
    """A command has a queue that ends with it."""
    address = postgres.database()
    store = Store(address)

    async def run() -> None:
        team = testing.registry("---\nname: builder\n---\nGo.")
        ended, waiting = await submitted(address, team, [("go", tmp_path, Queueing())] * 2)
        async with opened(address, Database) as database:
            await workers.register(database, WORKER, None, ["default", "run-alive"], 1, is_listed=True)
            await jobs.cancel(database, ended)
            async with database.transaction() as connection:
                for queue in ("run-alive", "run-over"):
                    await jobs.enqueue(connection, ended, queue, 0)
                await jobs.enqueue(connection, waiting, "run-over", 0)
            await jobs.wake_strays(database, WORKER, 60)
        left = store.rows("SELECT args ->> 'job' AS job, queue_name FROM remit.procrastinate_jobs ORDER BY id")
        assert [int(row["job"]) for row in left] == [ended, waiting, ended, waiting]
        assert [row["queue_name"] for row in left[2:]] == ["run-alive", "run-over"]

    asyncio.run(run())
