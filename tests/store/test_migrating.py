"""Migrations: once each, in order, by any number of processes together; and what is newer than us stays."""

from __future__ import annotations

import asyncio
from importlib.metadata import version

import psycopg
import pytest
from psycopg.rows import dict_row
from support.fleet import Postgres, Store
from support.fleet_fixtures import MakeFleet

from remit.store import migrating
from remit.store.database import OPTIONS
from remit.store.migrating import Migration, migrate, migrations

STEP = Migration(9001, "later", "ALTER TABLE remit.jobs ADD COLUMN later text")


async def migrated(address: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(address, row_factory=dict_row, options=OPTIONS) as connection:
        return await migrate(connection)


def tables(store: Store) -> set[str]:
    return {row["relname"] for row in store.rows("SELECT relname FROM pg_class WHERE relkind = 'r'")}


def test_everything_is_made_once(postgres: Postgres) -> None:
    address = postgres.database()

    assert asyncio.run(migrated(address)) == [f"{step.number:04} {step.name}" for step in migrations()]
    assert asyncio.run(migrated(address)) == []
    assert {"jobs", "messages", "tool_calls", "events", "procrastinate_jobs"} <= tables(Store(address))


def test_many_at_once_make_it_once(postgres: Postgres) -> None:
    address = postgres.database()

    async def together() -> list[list[str]]:
        return await asyncio.gather(*(migrated(address) for _ in range(8)))

    assert sorted(map(len, asyncio.run(together()))) == [0] * 7 + [len(migrations())]


def test_processes_that_start_together_share_a_new_database(fleet: MakeFleet) -> None:
    team = fleet()
    commands = [team.start("jobs", "list") for _ in range(6)]

    assert [command.wait() for command in commands] == [0] * 6, [command.said for command in commands]
    assert len(team.store.rows("SELECT 1 FROM remit.migrations")) == len(migrations())


def test_an_older_schema_gets_what_it_lacks(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    address = postgres.database()
    asyncio.run(migrated(address))
    steps = (*migrations(), STEP)
    monkeypatch.setattr(migrating, "migrations", lambda: steps)

    assert asyncio.run(migrated(address)) == ["9001 later"]
    Store(address).rows("SELECT later FROM remit.jobs")


def test_a_newer_schema_is_left_alone(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of the last release goes on working beside new ones."""
    address, ours = postgres.database(), migrations()
    monkeypatch.setattr(migrating, "migrations", lambda: (*ours, STEP))
    asyncio.run(migrated(address))
    store = Store(address)
    store.rows("COMMENT ON TABLE remit.procrastinate_jobs IS '99.0.0'")
    monkeypatch.setattr(migrating, "migrations", lambda: ours)

    assert asyncio.run(migrated(address)) == []
    assert store.row("SELECT obj_description('remit.procrastinate_jobs'::regclass) AS said")["said"] == "99.0.0"


def test_a_step_that_fails_leaves_nothing_behind(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    address, ours = postgres.database(), migrations()
    broken = Migration(9002, "broken", "CREATE TABLE remit.half (id int); SELECT nothing FROM nowhere")
    monkeypatch.setattr(migrating, "migrations", lambda: (*ours, broken))

    with pytest.raises(psycopg.errors.UndefinedTable):
        asyncio.run(migrated(address))

    assert not {"half", "jobs"} & tables(Store(address))


def test_the_queue_s_own_steps_are_looked_for_even_if_ours_are_all_made(postgres: Postgres) -> None:
    """The queue's library alone may have been updated."""
    address = postgres.database()
    asyncio.run(migrated(address))
    store = Store(address)
    store.rows("COMMENT ON TABLE remit.procrastinate_jobs IS '3.4.0'")

    assert asyncio.run(migrated(address)) == []

    said = store.row("SELECT obj_description('remit.procrastinate_jobs'::regclass) AS said")["said"]
    assert said == version("procrastinate")
    assert migrating._newer("3.3.0")[0].startswith("03.04.00_01_pre")
    assert migrating._newer(version("procrastinate")) == []
