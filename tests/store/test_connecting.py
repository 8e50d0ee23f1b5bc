"""An address that is wrong is answered with one line that says so, and tells no password."""

from __future__ import annotations

import pytest
from support.fleet import Postgres
from support.fleet_fixtures import MakeFleet

from remit.store.migrating import migrations


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://remit:hunter2@127.0.0.1:1/none", "the database does not answer"),
        ("postgresql://remit:hunter2@nowhere.invalid/none", "the database does not answer"),
        ("nonsense hunter2", "cannot be read as an address"),
        ("postgresql://remit:hunter2@127.0.0.1:port/none", "invalid integer value"),
        ("mysql://remit:hunter2@127.0.0.1/none", "cannot be read as an address"),
    ],
    ids=["no-server", "no-host", "nonsense", "no-port", "another-kind"],
)
def test_a_wrong_address(address: str, words: str, fleet: MakeFleet) -> None:
    code, said = fleet(address=address).run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert words in said
    assert "REMIT_DATABASE_URL" in said
    assert "hunter2" not in said


def test_a_database_that_is_not_there(postgres: Postgres, fleet: MakeFleet) -> None:
    code, said = fleet(address=postgres.address("missing")).run("jobs", "list")

    assert code == 3
    assert 'database "missing" does not exist' in said
    assert "is REMIT_DATABASE_URL right?" in said


def test_an_account_that_may_not_make_tables(postgres: Postgres, fleet: MakeFleet) -> None:
    address = postgres.database()
    postgres.execute("CREATE ROLE visitor LOGIN")

    code, said = fleet(address=address.replace("remit@", "visitor@")).run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert "may not make its tables" in said
    assert "permission denied" in said


def test_doctor_names_what_a_database_lacks_and_makes_nothing_in_it(postgres: Postgres, fleet: MakeFleet) -> None:
    team = fleet(address=postgres.database())

    code, said = team.run("doctor")

    assert code == 0, said
    lacking = ", ".join(f"{step.number:04} {step.name}" for step in migrations())
    assert f"missing: {lacking}, the queue's tables;" in " ".join(said.split())
    assert not team.store.rows("SELECT 1 FROM pg_namespace WHERE nspname = 'remit'")
    assert not team.store.rows("SELECT 1 FROM pg_class WHERE relname = 'procrastinate_jobs'")
    assert team.run("jobs", "list")[0] == 0
    assert "migrations       all applied" in team.run("doctor")[1]
