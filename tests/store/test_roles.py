"""The database roles of workers and submitters may do their work, and nothing else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.fixtures import MakeFleet
from support.postgres import Postgres
from support.running import KEEPER, Play, tools

from remit.dispatch.submit import Resolving, submit
from remit.errors import UsageError
from remit.store import jobs
from remit.store.database import _queries, open_database
from remit.store.events import events_since
from remit.store.roles import PRIVILEGES, apply_roles, check_names, role_script, statements
from remit.testing import registry

pytest_plugins = ("support.running",)
WORKER = "fleet_worker"
SUBMITTER = "fleet_submitter"
NAMES = {"worker": WORKER, "submitter": SUBMITTER}


def _as(role: str, address: str) -> str:
    assert "//remit@" in address
    return address.replace("//remit@", f"//{role}@")


@pytest.fixture(scope="module")
def owned(postgres: Postgres) -> Iterator[str]:
    """The address of a database with both roles, for its owner."""

    async def make() -> None:
        async with open_database(address, Path("/")) as database:
            script = await role_script(database, NAMES)  # type: ignore[arg-type]
            await apply_roles(database, script)
            await apply_roles(database, script)  # it can be run again

    with postgres.temporary_database() as address:
        asyncio.run(make())
        yield address


@pytest.fixture
def address(owned: str) -> str:
    """The address for the fleet of a test, with the role of workers."""
    return _as(WORKER, owned)


@pytest.mark.anyio
async def test_a_worker_runs_the_job_of_a_submitter_who_reads_its_result(play: Play, owned: str) -> None:
    turns = [tools(("Read", {"file_path": "a.py"})), {"text": "done"}]
    async with play(*turns) as fleet, open_database(_as(SUBMITTER, owned), fleet.settings.data) as database:
        made = await submit(
            database,
            {"prompt": "go", "subagent_def": "keeper", "model": "anthropic:claude-sonnet-5"},
            fleet.settings,
            fleet.project,
            resolving=Resolving(registry=registry(KEEPER)),
        )
        await fleet.work()

        done = await jobs.get(database, made.id)
        assert (done.outcome, done.turns, done.tool_calls, done.result) == ("completed", 2, 1, "done"), done.error
        assert (await events_since(database, made.id, 0))[-1].kind == "finished"
        assert [job.id for job in await jobs.list_jobs(database, state=None, agent=None, limit=9)] == [made.id]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await jobs.cancel(database, made.id)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await jobs.retry(database, made.id)
        assert await jobs.claim(fleet.database, made.id, "0" * 32, None) is None
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await jobs.claim(database, made.id, "0" * 32, None)


_SCHEMA = [
    "CREATE TABLE remit.extra (id integer)",
    "CREATE TABLE public.extra (id integer)",
    "ALTER TABLE remit.jobs ADD COLUMN extra integer",
    "DROP TABLE remit.jobs",
    "DROP SCHEMA remit CASCADE",
    "TRUNCATE remit.jobs",
    "CREATE TRIGGER t AFTER INSERT ON remit.jobs EXECUTE FUNCTION remit.notify_change()",
    "CREATE OR REPLACE FUNCTION remit.notify_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "ALTER TABLE remit.jobs DISABLE TRIGGER job_end",
    "CREATE ROLE other SUPERUSER",
    "DELETE FROM remit.jobs",
    "DELETE FROM remit.ledger",
    "SELECT digest FROM remit.tokens",
    "SELECT digest FROM remit.web_sessions",
    "INSERT INTO remit.tokens (name, role, digest) VALUES ('me', 'operator', '')",
    "SELECT * FROM remit.audit",
    "UPDATE remit.briefs SET brief = '{}'",
    "UPDATE remit.receipts SET receipt = '{}'",
    "COPY remit.jobs TO PROGRAM 'cat'",
]
_WORK = [
    "UPDATE remit.jobs SET state = 'running'",
    "UPDATE remit.jobs SET prompt = ''",
    "SELECT 1 FROM remit.jobs FOR UPDATE",
    "INSERT INTO remit.results (job, submission, document, verdict, report) VALUES (1, 1, '', 'accept', '{}')",
    "INSERT INTO remit.messages (job, number, attempt, message) VALUES (1, 1, 1, '{}')",
    "INSERT INTO remit.events (job, kind, data) VALUES (1, 'finished', '{}')",
    "INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, state) VALUES ('', '', '{}', '', '', 'queued')",
    "UPDATE remit.messages SET message = '{}'",
    "UPDATE remit.results SET verdict = 'accept'",
    "DELETE FROM remit.workers",
    "INSERT INTO remit.ledger (key, source) VALUES ('', 'job')",
    "UPDATE procrastinate_jobs SET args = '{}'",
    "DELETE FROM procrastinate_jobs",
    "SELECT procrastinate_fetch_job_v2(NULL, 1)",
]


@pytest.mark.parametrize(
    ("role", "statement"),
    [*((role, one) for role in NAMES.values() for one in _SCHEMA), *((SUBMITTER, one) for one in _WORK)],
)
def test_what_a_role_must_not_do_is_refused(role: str, statement: str, owned: str) -> None:
    with psycopg.connect(_as(role, owned)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


#: Files of queries, with the queries of the owner's commands: `remit jobs prune`.
_FILES = (
    "jobs",
    "transcript",
    "events",
    "notices",
    "plans",
    "ledger",
    "review_queue",
    "telemetry",
    "workers",
)
_OF_THE_OWNER = {"prune", "prune_plans", "prune_briefs", "delete_orphans"}


def _statements(file: str) -> Iterator[str]:
    for name, sql in _queries(file).items():
        first = next(line for line in sql.split("\n") if not line.startswith("--"))
        if name not in _OF_THE_OWNER and first.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
            yield sql


@pytest.mark.parametrize("file", _FILES)
def test_a_worker_may_run_every_query_of_jobs_and_plans(file: str, owned: str) -> None:
    with psycopg.connect(_as(WORKER, owned), autocommit=True) as connection:
        for sql in _statements(file):
            values = dict.fromkeys(re.findall(r"%\((\w+)\)s", sql))
            parts = [name for name in ("held", "told") if f"FROM {name}" in sql and f"{name} AS" not in sql]
            if not parts:  # else it is a part of other statements
                connection.execute(f"EXPLAIN {sql}".encode(), values)  # it checks the privileges


def test_the_privileges_of_every_table_are_listed(owned: str) -> None:
    with psycopg.connect(owned) as connection:
        found = connection.execute(
            "SELECT CASE WHEN starts_with(tablename, 'procrastinate_') THEN '' ELSE 'remit.' END || tablename"
            " FROM pg_tables WHERE schemaname = 'remit' OR starts_with(tablename, 'procrastinate_')"
        ).fetchall()

    assert {name for (name,) in found} == set(PRIVILEGES)


@pytest.mark.anyio
async def test_an_owner_or_a_superuser_cannot_be_the_role_of_workers(
    owned: str, postgres: Postgres, tmp_path: Path
) -> None:
    postgres.execute("CREATE ROLE boss SUPERUSER")
    async with open_database(owned, tmp_path) as database:
        for name in ("boss", "remit"):
            with pytest.raises(UsageError, match=f"the role {name} owns the tables or is a superuser"):
                await role_script(database, {"worker": name})


@pytest.mark.parametrize("words", [("orchestrate", "hello"), ("run", "hello")], ids=["orchestrate", "run"])
def test_a_submitter_who_cannot_run_a_job_leaves_none_in_the_queue(
    owned: str, fleet: MakeFleet, words: tuple[str, ...]
) -> None:
    team = fleet(address=owned)
    before = team.store.rows("SELECT id FROM remit.jobs")
    team.environment["REMIT_DATABASE_URL"] = _as(SUBMITTER, owned)
    code, said = team.run(*words)
    assert code == 3
    assert said.endswith(
        "remit: the role of REMIT_DATABASE_URL may not do this: it may submit jobs (`remit submit`), but not run them\n"
    )
    assert team.store.rows("SELECT id FROM remit.jobs") == before


@pytest.mark.parametrize("name", ["", "Fleet", "a b", "a;drop", 'a"b', "a$$b", "public", "pg_monitor", "x" * 64, "ä"])
def test_a_name_that_is_not_plain_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a name of a role"):
        check_names({"worker": name})


def test_workers_and_submitters_need_different_roles() -> None:
    with pytest.raises(UsageError, match="different roles"):
        check_names({"worker": "fleet", "submitter": "fleet"})


def test_the_name_of_a_database_is_quoted() -> None:
    assert 'GRANT CONNECT ON DATABASE "a ""b"";c" TO fleet' in list(statements({"worker": "fleet"}, 'a "b";c'))


def test_the_command_makes_roles_with_which_commands_work(owned: str, fleet: MakeFleet) -> None:
    team = fleet(address=owned)

    code, said = team.run("db", "roles", "--submitter", "intern", "--apply")
    assert (code, said.split("\n")[0]) == (
        0,
        "role intern is ready: it submits jobs and reads results, and cannot change jobs",
    )
    printed = team.run("db", "roles", "--worker", "night_shift")[1]
    assert printed.startswith("BEGIN;\n")
    assert "GRANT SELECT, INSERT, UPDATE ON remit.jobs TO night_shift;\n" in printed
    assert not team.store.rows("SELECT 1 FROM pg_roles WHERE rolname = 'night_shift'")
    team.environment["REMIT_DATABASE_URL"] = _as("intern", owned)
    assert team.run("jobs", "list")[0] == 0
    code, said = team.run("jobs", "prune", "--days", "1")
    assert (code, said) == (
        3,
        "remit: the role of REMIT_DATABASE_URL may not do this: permission denied for table plans\n",
    )
    code, said = team.run("db", "roles", "--worker", "night_shift", "--apply")
    assert code == 3
    assert "let an administrator of the server run what `remit db roles` prints" in said
    assert team.run("db", "roles")[0] == 2
