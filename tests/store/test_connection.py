"""Connection errors are one line without the password; a server that is starting up is waited for."""

from __future__ import annotations

import asyncio
import select
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.fixtures import MakeFleet
from support.postgres import Postgres

from remit.errors import EnvironmentBroken
from remit.store.database import open_database


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://remit:hunter2@127.0.0.1:1/none", "the database does not answer"),
        ("postgresql://remit:hunter2@nowhere.invalid/none", "the database does not answer"),
        ("nonsense hunter2", "is not a valid address"),
        ("postgresql://remit:hunter2@127.0.0.1:port/none", "invalid integer value"),
        ("mysql://remit:hunter2@127.0.0.1/none", "is not a valid address"),
        ("postgresql://remit:my@hunter2@127.0.0.1/none", "is not a valid address"),
        ("postgresql://127.0.0.1:my/hunter2@127.0.0.1/none", "is not a valid address"),
    ],
    ids=["no-server", "no-host", "nonsense", "no-port", "another-kind", "an at sign", "a slash"],
)
def test_a_wrong_address_is_reported_without_the_password(address: str, words: str, fleet: MakeFleet) -> None:
    code, said = fleet(address=address).run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert words in said
    assert "REMIT_DATABASE_URL" in said
    assert "hunter2" not in said


def test_a_missing_database_is_reported(postgres: Postgres, fleet: MakeFleet) -> None:
    code, said = fleet(address=postgres.address("missing")).run("jobs", "list")

    assert code == 3
    assert 'database "missing" does not exist' in said
    assert "check REMIT_DATABASE_URL" in said


def test_an_account_without_the_right_to_create_tables_is_reported(postgres: Postgres, fleet: MakeFleet) -> None:
    address = postgres.empty_database()
    postgres.execute("CREATE ROLE visitor LOGIN")

    code, said = fleet(address=address.replace("remit@", "visitor@")).run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert "cannot create its tables" in said
    assert "permission denied" in said


def test_doctor_says_that_tables_are_missing_and_creates_none(postgres: Postgres, fleet: MakeFleet) -> None:
    team = fleet(address=postgres.empty_database())

    code, said = team.run("doctor")

    assert code == 0, said
    assert "note  tables      none; the next job or worker creates them" in said
    assert not team.store.rows("SELECT 1 FROM pg_namespace WHERE nspname = 'remit'")
    assert not team.store.rows("SELECT 1 FROM pg_class WHERE relname = 'procrastinate_jobs'")
    assert team.run("jobs", "list")[0] == 0
    assert "note  tables" not in team.run("doctor")[1]


@pytest.mark.parametrize(("said", "is_waited_for"), [("is starting up", True), ("does not exist", False)])
def test_a_server_that_is_starting_up_is_waited_for(
    said: str, *, is_waited_for: bool, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed command may have left a server that is not ready yet."""
    real, refusals = psycopg.AsyncConnection.connect, 2

    async def connect(*given: Any, **named: Any) -> Any:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise psycopg.OperationalError(f"connection failed: FATAL:  the database system {said}")
        return await real(*given, **named)

    async def work() -> None:
        async with open_database(postgres.database(), tmp_path) as database:
            assert await database.row("health.server")

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", connect)
    monkeypatch.setattr("remit.store.database._PAUSE_SECONDS", 0.01)
    if is_waited_for:
        asyncio.run(work())
    else:
        with pytest.raises(EnvironmentBroken, match=said):
            asyncio.run(work())
    assert refusals == (0 if is_waited_for else 1)


@pytest.mark.anyio
async def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_used(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with open_database(postgres.database(), tmp_path) as database:
        async with database.connection() as connection:
            process, descriptor = connection.info.backend_pid, connection.fileno()
        postgres.execute(f"SELECT pg_terminate_backend({process}, 10000)")
        assert select.select([descriptor], [], [], 10)[0]

        assert await database.once("workers.clock"), "`once` does not repeat a statement"
