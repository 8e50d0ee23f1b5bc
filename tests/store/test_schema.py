"""The tables are created once by any number of processes; a database of another release is named and not opened."""

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
from remit.store import jobs, plans, schema
from remit.store.database import OPTIONS, Database, open_database
from remit.store.jobs import Job
from remit.store.schema import create_tables

WORKER = "00000000-0000-0000-0000-000000000001"
QUEUE_FILES = files("procrastinate") / "sql"


async def opened(address: str) -> None:
    async with await psycopg.AsyncConnection.connect(address, row_factory=dict_row, options=OPTIONS) as connection:
        await create_tables(connection, "the database of this test")


def tables(store: Store) -> set[str]:
    return {row["relname"] for row in store.rows("SELECT relname FROM pg_class WHERE relkind = 'r'")}


def test_concurrent_starts_create_the_tables_once(postgres: Postgres) -> None:
    address = postgres.empty_database()

    async def together() -> None:
        await asyncio.gather(*(opened(address) for _ in range(8)))

    asyncio.run(together())
    assert {"jobs", "messages", "tool_calls", "events", "procrastinate_jobs"} <= tables(Store(address))


def test_processes_that_start_together_share_a_new_database(fleet: MakeFleet, postgres: Postgres) -> None:
    team = fleet(address=postgres.empty_database())
    commands = [team.start("jobs", "list") for _ in range(6)]

    assert [command.wait() for command in commands] == [0] * 6, [command.output for command in commands]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("CREATE SCHEMA remit; CREATE TABLE remit.migrations (number int)", "Remit 0.2 or older"),
        ("CREATE SCHEMA remit; COMMENT ON SCHEMA remit IS '9.9'", "schema 9.9"),
    ],
    ids=["0.2", "a newer one"],
)
def test_a_database_of_another_release_is_not_opened(
    statement: str, found: str, fleet: MakeFleet, postgres: Postgres
) -> None:
    address = postgres.empty_database()
    store = Store(address)
    for part in statement.split("; "):
        store.rows(part)
    before = tables(store)

    code, said = fleet(address=address).run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert f"the database of REMIT_DATABASE_URL has tables of {found}" in said
    assert "name an empty database in REMIT_DATABASE_URL" in said
    assert tables(store) == before
    assert f"WRONG database    the database (shared) has tables of {found}" in fleet(address=address).run("doctor")[1]


def test_an_interrupted_creation_leaves_nothing(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    address = postgres.empty_database()
    monkeypatch.setattr(schema, "version", lambda _: 1 / 0)  # the last step

    with pytest.raises(ZeroDivisionError):
        asyncio.run(opened(address))

    assert not {"jobs", "procrastinate_jobs"} & tables(Store(address))


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
    names = sorted(file.name for file in (QUEUE_FILES / "migrations").iterdir() if file.name.endswith(".sql"))
    with psycopg.connect(address, autocommit=True, options=OPTIONS) as connection:
        connection.execute("CREATE SCHEMA remit")
        for name in names:
            if schema._parts(name) <= schema._parts(last):
                connection.execute((QUEUE_FILES / "migrations" / name).read_text("utf-8"))  # type: ignore[call-overload]
        connection.execute(f"COMMENT ON TABLE procrastinate_jobs IS '{last}'")  # type: ignore[call-overload]
        connection.execute(f"COMMENT ON SCHEMA remit IS '{schema.VERSION}'")  # type: ignore[call-overload]
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
        await asyncio.gather(*(opened(address) for _ in range(6)))

    asyncio.run(together())
    with psycopg.connect(fresh, autocommit=True, options=OPTIONS) as connection:
        connection.execute("CREATE SCHEMA remit")
        connection.execute((QUEUE_FILES / "schema.sql").read_text("utf-8"))  # type: ignore[call-overload]

    assert queue(store) == queue(Store(fresh))
    assert version_of_queue(store) == version("procrastinate")


def test_a_newer_queue_is_not_changed(postgres: Postgres) -> None:
    address = postgres.database()
    store = Store(address)
    store.rows("COMMENT ON TABLE remit.procrastinate_jobs IS '99.0.0'")

    asyncio.run(opened(address))

    assert version_of_queue(store) == "99.0.0"
