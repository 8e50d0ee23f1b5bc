"""A worker counts as alive while its process lives, even if it is busy, and detects its own late heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.fleet import Store
from support.postgres import Postgres
from support.waiting import until

from remit.store import jobs, workers
from remit.store.database import Database, open_database
from remit.store.workers import HeartbeatThread

WORKER = "00000000-0000-0000-0000-000000000001"
OFTEN = 0.05
SILENCE = 60.0
NEWER = "SELECT heartbeat FROM remit.workers WHERE heartbeat > %s"
HEART = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'UPDATE remit.workers%%'"


@asynccontextmanager
async def beating(postgres: Postgres, folder: Path) -> AsyncIterator[tuple[HeartbeatThread, Store, Database]]:
    address = postgres.database()
    async with open_database(address, folder) as database:
        await registered(database)
        async with HeartbeatThread(database.target, WORKER, OFTEN, SILENCE) as heart:
            yield heart, Store(address), database


async def registered(database: Database) -> None:
    await workers.register(database, WORKER, None, [], 1, is_listed=True)


def next_beats(store: Store, count: int = 3) -> None:
    """Wait for a number of beats while the event loop of this process is blocked."""
    for _ in range(count):
        last = store.row("SELECT heartbeat FROM remit.workers")["heartbeat"]
        until(lambda since=last: store.rows(NEWER, since))  # type: ignore[misc]


def test_it_beats_while_the_event_loop_is_blocked(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with beating(postgres, tmp_path) as (_, store, _database):
            next_beats(store)

    asyncio.run(work())


def test_it_beats_again_after_its_connection_was_lost(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with beating(postgres, tmp_path) as (_, store, _database):
            next_beats(store)
            until(lambda: store.rows(HEART))
            next_beats(store)

    asyncio.run(work())


def test_a_worker_whose_heartbeat_was_late_is_marked_as_returned(postgres: Postgres, tmp_path: Path) -> None:
    """After a pause of the process or the database it must not judge other workers by missed heartbeats."""

    async def work() -> None:
        async with beating(postgres, tmp_path) as (_, store, database):
            next_beats(store)
            assert store.row("SELECT back FROM remit.workers")["back"] is None
            assert await jobs.take_over(database, WORKER, SILENCE) == []
            store.rows("UPDATE remit.workers SET heartbeat = now() - interval '1 hour'")
            next_beats(store)
            assert store.row("SELECT back FROM remit.workers")["back"] is not None
            assert await jobs.take_over(database, WORKER, SILENCE) is None
            store.rows("UPDATE remit.workers SET back = now() - interval '1 hour'")
            assert await jobs.take_over(database, WORKER, SILENCE) == []

    asyncio.run(work())


def test_a_removed_worker_knows_it_until_it_registers_again(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> None:
        async with beating(postgres, tmp_path) as (heart, store, database):
            next_beats(store)
            assert not heart.is_removed
            store.rows("DELETE FROM remit.workers")
            until(lambda: heart.is_removed)
            await registered(database)
            until(lambda: not heart.is_removed)

    asyncio.run(work())


def test_stopping_it_ends_its_thread(postgres: Postgres, tmp_path: Path) -> None:
    async def work() -> HeartbeatThread:
        async with beating(postgres, tmp_path) as (heart, _, _database):
            assert heart._thread.is_alive()
        return heart

    assert not asyncio.run(work())._thread.is_alive()
