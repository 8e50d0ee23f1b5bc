"""Migrations are applied once and in order by any number of processes; newer schemas are kept."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row
from support.fixtures import MakeFleet
from support.fleet import Store, submitted
from support.postgres import Postgres

from remit import testing
from remit.dispatch.submit import Queueing
from remit.store import jobs, plans
from remit.store.database import OPTIONS, Database, open_database
from remit.store.jobs import Job
from remit.store.migrate import Migration, _parts, migrate, migrations, missing_migrations

WORKER = "00000000-0000-0000-0000-000000000001"
STEP = Migration(9001, "later", "ALTER TABLE remit.jobs ADD COLUMN later text")


async def migrated(address: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(address, row_factory=dict_row, options=OPTIONS) as connection:
        return await migrate(connection)


def tables(store: Store) -> set[str]:
    return {row["relname"] for row in store.rows("SELECT relname FROM pg_class WHERE relkind = 'r'")}


def test_migrations_are_applied_once(postgres: Postgres) -> None:
    address = postgres.empty_database()

    assert asyncio.run(migrated(address)) == [f"{step.number:04} {step.name}" for step in migrations()]
    assert asyncio.run(migrated(address)) == []
    assert {"jobs", "messages", "tool_calls", "events", "procrastinate_jobs"} <= tables(Store(address))


def test_concurrent_migrations_are_applied_once(postgres: Postgres) -> None:
    address = postgres.empty_database()

    async def together() -> list[list[str]]:
        return await asyncio.gather(*(migrated(address) for _ in range(8)))

    assert sorted(map(len, asyncio.run(together()))) == [0] * 7 + [len(migrations())]


def test_processes_that_start_together_share_a_new_database(fleet: MakeFleet, postgres: Postgres) -> None:
    team = fleet(address=postgres.empty_database())
    commands = [team.start("jobs", "list") for _ in range(6)]

    assert [command.wait() for command in commands] == [0] * 6, [command.output for command in commands]
    assert len(team.store.rows("SELECT 1 FROM remit.migrations")) == len(migrations())


def test_an_older_schema_gets_the_missing_migrations(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    address = postgres.empty_database()
    asyncio.run(migrated(address))
    steps = (*migrations(), STEP)
    monkeypatch.setattr("remit.store.migrate.migrations", lambda: steps)

    assert asyncio.run(migrated(address)) == ["9001 later"]
    Store(address).rows("SELECT later FROM remit.jobs")


def test_a_newer_schema_is_not_changed(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of the last release keep working next to new ones."""
    address, ours = postgres.empty_database(), migrations()
    monkeypatch.setattr("remit.store.migrate.migrations", lambda: (*ours, STEP))
    asyncio.run(migrated(address))
    store = Store(address)
    store.rows("COMMENT ON TABLE remit.procrastinate_jobs IS '99.0.0'")
    monkeypatch.setattr("remit.store.migrate.migrations", lambda: ours)

    assert asyncio.run(migrated(address)) == []
    assert store.row("SELECT obj_description('remit.procrastinate_jobs'::regclass) AS said")["said"] == "99.0.0"


def test_a_failed_migration_is_rolled_back(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    address, ours = postgres.empty_database(), migrations()
    broken = Migration(9002, "broken", "CREATE TABLE remit.half (id int); SELECT nothing FROM nowhere")
    monkeypatch.setattr("remit.store.migrate.migrations", lambda: (*ours, broken))

    with pytest.raises(psycopg.errors.UndefinedTable):
        asyncio.run(migrated(address))

    assert not {"half", "jobs"} & tables(Store(address))


async def query_whole_rows(database: Database, job: int) -> None:
    """Run each query that returns whole rows often enough for its statement to be prepared."""
    for _ in range(10):
        assert isinstance(await jobs.claim(database, job, WORKER, 1), Job)
        assert (await jobs.get(database, job)).id == job
        assert [one.id for one in await jobs.list_jobs(database, state=None, agent=None, limit=9, is_whole=True)] == [
            job
        ]
        assert [one.name for one in await plans.whole_delegations(database, [1])] == ["one"]


def test_a_running_worker_continues_when_its_tables_gain_columns(postgres: Postgres, tmp_path: Path) -> None:
    address = postgres.database()
    team = testing.registry("---\nname: builder\n---\n\nYou build.\n")

    async def before_and_after() -> None:
        async with open_database(address, tmp_path) as database:
            [job] = await submitted(address, team, [("go", tmp_path, Queueing())])
            await plans.open_plan(database, "plan", "digest", {}, str(tmp_path), [("phase", [("one", "builder")])])
            await query_whole_rows(database, job)
            for table in ("jobs", "delegations", "plans", "phases", "escalations", "workers"):
                Store(address).rows(f"ALTER TABLE remit.{table} ADD COLUMN later bigint NOT NULL DEFAULT 0")
            await query_whole_rows(database, job)

    asyncio.run(before_and_after())


async def whole_rows(database: Database) -> None:
    """Run a query of a worker from before migration 4 often enough on each connection to be prepared."""
    for _ in range(10):
        async with database.transaction() as one, database.transaction() as other:
            for connection in (one, other):
                await connection.execute("SELECT * FROM remit.jobs")


def test_a_worker_from_before_migration_4_reconnects_and_continues(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, steps = postgres.empty_database(), migrations()
    monkeypatch.setattr("remit.store.migrate.migrations", lambda: steps[:2])

    async def before_and_after() -> None:
        async with open_database(address, tmp_path) as database:
            await whole_rows(database)
            monkeypatch.setattr("remit.store.migrate.migrations", lambda: steps)
            assert await migrated(address) == [f"{step.number:04} {step.name}" for step in steps[2:]]
            await database.with_retry(lambda: whole_rows(database))

    asyncio.run(before_and_after())


#: The functions and columns of the queue, as the database has them.
QUEUE = """
    SELECT pg_get_functiondef(oid) AS said FROM pg_proc WHERE proname LIKE 'procrastinate%%'
    UNION SELECT table_name || '.' || column_name || ' ' || data_type || coalesce(column_default, '')
        FROM information_schema.columns WHERE table_name LIKE 'procrastinate%%'
    UNION SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'procrastinate%%'
    UNION SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY 1"""


def old_queue(address: str, last: str) -> Store:
    """Create a database whose queue has an older version."""
    folder = files("procrastinate") / "sql" / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    with psycopg.connect(address, autocommit=True, options=OPTIONS) as connection:
        connection.execute("CREATE SCHEMA remit")
        for name in names:
            if _parts(name) <= _parts(last):
                connection.execute((folder / name).read_text("utf-8"))  # type: ignore[call-overload]
        connection.execute(f"COMMENT ON TABLE procrastinate_jobs IS '{last}'")  # type: ignore[call-overload]
    return Store(address)


def version_of_queue(store: Store) -> str:
    return str(store.row("SELECT obj_description('remit.procrastinate_jobs'::regclass) AS said")["said"])


def queue(store: Store) -> list[str]:
    return [str(row["said"]) for row in store.rows(QUEUE)]


@pytest.mark.parametrize("last", ["3.0.0", "3.1.0", "3.3.0"])
def test_an_older_queue_is_migrated_once_by_concurrent_processes(last: str, postgres: Postgres) -> None:
    address, fresh = postgres.empty_database(), postgres.empty_database()
    store = old_queue(address, last)
    assert "procrastinate_retry_job_v2" not in " ".join(queue(store))

    async def together() -> None:
        await asyncio.gather(*(migrated(address) for _ in range(6)), migrated(fresh))

    asyncio.run(together())

    assert queue(store) == queue(Store(fresh))
    assert version_of_queue(store) == version("procrastinate")
    assert asyncio.run(missing_in(address)) == []


def test_queue_functions_of_the_last_release_stay_while_a_worker_is_alive(postgres: Postgres) -> None:
    address, fresh = postgres.empty_database(), postgres.empty_database()
    store = old_queue(address, "3.1.0")
    for step in migrations():
        store.rows(f"SET search_path = remit, public; {step.sql}")
    store.rows("CREATE TABLE remit.migrations (number integer PRIMARY KEY, name text NOT NULL, applied timestamptz)")
    for step in migrations():
        store.rows("INSERT INTO remit.migrations VALUES (%s, %s)", step.number, step.name)
    store.rows(
        "INSERT INTO remit.workers (id, host, pid, queues, concurrency) VALUES (gen_random_uuid(), 'h', 1, '{}', 1)"
    )

    asyncio.run(migrated(address))
    asyncio.run(migrated(address))

    assert (
        version_of_queue(store)
        == f"{version('procrastinate')} except 03.04.00_50_post_add_retry_failed_job_procedure.sql"
    )
    assert asyncio.run(missing_in(address)) == ["queue 03.04.00_50_post_add_retry_failed_job_procedure.sql"]
    store.rows("UPDATE remit.workers SET heartbeat = now() - interval '1 hour'")
    asyncio.run(migrated(address))
    asyncio.run(migrated(fresh))
    assert version_of_queue(store) == version("procrastinate")
    assert queue(store) == queue(Store(fresh))


async def missing_in(address: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(address, row_factory=dict_row, options=OPTIONS) as connection:
        return await missing_migrations(connection)


def test_missing_migrations_are_listed_and_not_applied(postgres: Postgres) -> None:
    address = postgres.empty_database()

    everything = [f"{step.number:04} {step.name}" for step in migrations()]
    assert asyncio.run(missing_in(address)) == [*everything, "the queue's tables"]
    assert not {"jobs", "migrations", "procrastinate_jobs"} & tables(Store(address))
    asyncio.run(migrated(address))
    assert asyncio.run(missing_in(address)) == []
