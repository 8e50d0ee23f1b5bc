"""Cancellation of store operations is never lost, and ending a task never blocks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest
from support.postgres import Postgres

from remit import aio
from remit.aio import cancel_and_wait
from remit.store.database import Database, open_database

#: A returned connection reaches the waiting task within this number of event loop iterations.
TURNS = 20


async def _held(database: Database, go: asyncio.Event, has: asyncio.Semaphore) -> None:
    async with database.transaction():
        has.release()
        await go.wait()


async def _held_twice(database: Database, has: asyncio.Semaphore) -> None:
    async with database.transaction():
        await _held(database, asyncio.Event(), has)


async def _cancelled_after(database: Database, turns: int) -> None:
    """Return a connection to an exhausted pool and cancel the waiting task some iterations later.

    Only a task that has a connection waits in the pool; others wait for their turn before that.
    """
    go, has = asyncio.Event(), asyncio.Semaphore(0)
    holders = [asyncio.create_task(_held(database, go, has))]
    await has.acquire()
    waiting = asyncio.create_task(_held_twice(database, has))
    while not database._pool.get_stats().get("requests_waiting"):  # noqa: ASYNC110 (the pool has no event for it)
        await asyncio.sleep(0)
    go.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    async with asyncio.timeout(10):
        done, _ = await asyncio.wait({waiting}, timeout=2)
        await cancel_and_wait(waiting)
        await asyncio.gather(*holders)
    assert done, f"the cancel was lost after {turns} turns"
    assert waiting.cancelled()


def test_a_cancellation_that_arrives_with_a_connection_is_raised(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with open_database(postgres.database(), tmp_path, 2) as database:
            for turns in range(TURNS):
                await _cancelled_after(database, turns)
            assert await database.row("health.server")

    asyncio.run(work())


def test_any_number_of_tasks_wait_for_their_turn_without_an_error(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with open_database(postgres.database(), tmp_path, 2) as database:
            database._pool.timeout = 0.5  # the time after which the pool reports an outage
            go, has = asyncio.Event(), asyncio.Semaphore(0)
            tasks = [asyncio.create_task(_held(database, go, has)) for _ in range(40)]
            for _ in range(2):
                await has.acquire()
            until = asyncio.get_running_loop().time() + 2 * database._pool.timeout
            while asyncio.get_running_loop().time() < until:
                assert not database._pool.get_stats().get("requests_waiting")
                await asyncio.sleep(0)
            go.set()
            await asyncio.gather(*tasks)

    asyncio.run(work())


def test_a_task_that_is_cancelled_while_it_waits_gives_its_turn_to_the_next(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with open_database(postgres.database(), tmp_path, 2) as database:
            for turns in range(TURNS):
                go, has = asyncio.Event(), asyncio.Semaphore(0)
                tasks = [asyncio.create_task(_held(database, go, has)) for _ in range(3)]
                for _ in range(2):
                    await has.acquire()
                go.set()
                for _ in range(turns):
                    await asyncio.sleep(0)
                tasks[2].cancel()
                await asyncio.wait(tasks)
                assert await database.row("health.server"), f"a turn was lost after {turns} turns"

    asyncio.run(work())


def test_writes_after_a_cancellation_reach_the_store(postgres: Postgres, tmp_path: Path) -> None:
    """Usage must be recorded although the job was cancelled."""

    async def write_after_cancellation(database: Database) -> object:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await database.row("health.server")

    async def work() -> None:
        async with open_database(postgres.database(), tmp_path, 2) as database:
            task = asyncio.create_task(write_after_cancellation(database))
            await asyncio.sleep(0)
            task.cancel()
            assert await task

    asyncio.run(work())


@pytest.mark.parametrize("forgotten", [0, 1, 3])
def test_a_task_that_swallows_its_cancellation_still_ends(forgotten: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_CANCEL_AGAIN_SECONDS", 0.01)

    async def forgetful() -> None:
        for _ in range(forgotten):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue
        await asyncio.Event().wait()

    async def failing() -> None:
        raise ValueError("long over")

    async def work() -> None:
        tasks = [asyncio.create_task(forgetful()), asyncio.create_task(failing())]
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await cancel_and_wait(*tasks)
        assert [task.done() for task in tasks] == [True, True]

    asyncio.run(work())


async def _pair(database: Database) -> None:
    async with database.pipeline() as connection:
        for _ in range(2):
            await connection.execute("INSERT INTO pairs VALUES (1)")


async def _failing_pair(database: Database, error: str) -> None:
    async with database.pipeline() as connection:
        await connection.execute("INSERT INTO pairs VALUES (1)")
        if error == "in the block":
            raise ValueError(error)
        await connection.execute("INSERT INTO pairs VALUES (1 / 0)")


async def _pairs(database: Database) -> int:
    async with database.transaction() as connection:
        row = await (await connection.execute("SELECT count(*) AS rows FROM pairs")).fetchone()
    assert row is not None
    return int(row["rows"])


def test_a_pipelined_transaction_is_stored_whole_or_not_at_all(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with open_database(postgres.database(), tmp_path, 2) as database:
            async with database.transaction() as connection:
                await connection.execute("CREATE TABLE pairs (number integer)")
            for error in ("in the block", "of a statement"):
                with pytest.raises((ValueError, psycopg.errors.DivisionByZero)):
                    await _failing_pair(database, error)
                assert await _pairs(database) == 0
            cancelled = 0
            for turns in range(TURNS):
                task = asyncio.create_task(_pair(database))
                for _ in range(turns):
                    await asyncio.sleep(0)
                await cancel_and_wait(task)
                cancelled += task.cancelled()
                assert (await _pairs(database)) % 2 == 0, f"a half is stored after {turns} turns"
            assert cancelled
            await _pair(database)
            assert await _pairs(database) >= 2

    asyncio.run(work())
