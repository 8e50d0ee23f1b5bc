"""A connection pooler between Remit and PostgreSQL: jobs run, and `remit doctor` reports what is lost."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from support.postgres import Postgres
from support.running import Play, settings_for, tools
from support.waiting import until

import remit
from remit.configuration import load
from remit.dispatch.health import HealthFact, health_facts
from remit.errors import EnvironmentBroken
from remit.store.database import open_database

pytest_plugins = ("support.running",)
pytestmark = [
    pytest.mark.process,
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="PgBouncer is not installed"),
]
ROLE = "pooled"
PAGE = Path(remit.__file__).parents[2] / "docs/operations.md"
_SETTINGS = """
[databases]
* = host={server} port=5432
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 6432
auth_type = trust
auth_file = {folder}/users
logfile = {folder}/log
pool_mode = {mode}
default_pool_size = 20
max_client_conn = 100
"""
Pooler = Callable[[str], str]


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> Iterator[str]:
    """The address of a database with a role that has the settings of the page on operations."""

    async def make() -> None:
        async with open_database(address, Path("/")) as opened:
            name = opened.address.partition("?")[0].rpartition("/")[2]
            found = re.search(r"```sql\n(ALTER ROLE .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
            assert found
            settings = found[1].replace("ROLE fleet", f"ROLE {ROLE}").replace("DATABASE fleet", f"DATABASE {name}")
            async with opened.connection() as connection:
                await connection.execute(f"CREATE ROLE {ROLE} LOGIN SUPERUSER; {settings}".encode())

    with postgres.temporary_database() as address:
        asyncio.run(make())
        yield address


@pytest.fixture
def pooler(postgres: Postgres, tmp_path: Path) -> Iterator[Pooler]:
    """Start PgBouncer in a mode, and return the folder of its socket."""
    started = []

    def start(mode: str) -> str:
        folder = tmp_path / mode
        folder.mkdir()
        (folder / "users").write_text(f'"{ROLE}" ""\n"remit" ""\n', encoding="utf-8")
        server = psycopg.conninfo.conninfo_to_dict(postgres.address())["host"]
        (folder / "ini").write_text(_SETTINGS.format(server=server, folder=folder, mode=mode), encoding="utf-8")
        # It refuses to run as root.
        other = ["unshare", "--user", "--map-user=65534", "--"] if os.getuid() == 0 else []
        log = (folder / "output").open("wb")
        with log:
            started.append(subprocess.Popen([*other, "pgbouncer", str(folder / "ini")], stdout=log, stderr=log))
        until(lambda: _accepts(folder / ".s.PGSQL.6432"), (folder / "output").read_text)
        return str(folder)

    yield start
    for process in started:
        process.kill()
        process.wait()


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@pytest.fixture(params=["session", "transaction"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _through(pooler: str, database: str, role: str) -> str:
    name = database.partition("?")[0].rpartition("/")[2]
    return f"postgresql://{role}@/{name}?host={quote(pooler, safe='')}&port=6432"


@pytest.fixture
def address(pooler: Pooler, database: str, mode: str) -> str:
    """The address for the fleet of a test, through the pooler."""
    return _through(pooler(mode), database, ROLE)


async def _connection(address: str, folder: Path) -> HealthFact:
    settings = settings_for(address, folder)
    (found,) = [fact async for fact in health_facts(load(), settings) if fact.what == "connection"]
    return found


async def test_jobs_run_through_a_pooler_and_doctor_names_its_mode(
    play: Play, address: str, mode: str, tmp_path: Path
) -> None:
    reads = [tools(("Read", {"file_path": "a.py", "limit": number})) for number in range(1, 8)]
    async with play(*reads, {"text": "done"}) as fleet, fleet.working():
        number = await fleet.submit()
        done = await fleet.reached(number, "finished")

        assert (done.outcome, done.turns, done.tool_calls, done.attempt) == ("completed", 8, 7, 1), done.error
        assert (await fleet.kinds(number)).count("finished") == 1
    fact = await _connection(address, tmp_path)
    if mode == "session":
        assert (fact.level, fact.words) == ("good", "on this host, through a pooler that keeps sessions")
    else:
        assert fact.level == "odd"
        assert "by transaction: notifications are lost" in fact.words


@pytest.mark.parametrize("mode", ["transaction"])
async def test_a_role_without_its_settings_is_reported(
    pooler: Pooler, database: str, mode: str, tmp_path: Path
) -> None:
    with pytest.raises(
        EnvironmentBroken, match=r"does not forward the setting search_path: store it with the role, by ALTER ROLE"
    ):
        async with open_database(_through(pooler(mode), database, "remit"), tmp_path):
            pass


async def test_a_direct_connection_is_not_taken_for_a_pooler(database: str, tmp_path: Path) -> None:
    assert await _connection(database, tmp_path) == HealthFact("connection", "good", "on this host")
