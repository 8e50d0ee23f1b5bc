"""The recipes of docs/operations.md: an owner of the tables, and a backup that another server continues."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fleet import program
from support.postgres import Postgres
from support.running import KEEPER, settings_for

import remit
from remit.dispatch.submit import Resolving, submit
from remit.store import jobs
from remit.store.database import open_database
from remit.store.jobs import Job
from remit.testing import registry

PAGE = Path(remit.__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Postgres]:
    """The server that the backup is restored on."""
    server = Postgres(tmp_path / "other")
    yield server
    server.close()


def made(server: Postgres) -> str:
    """Make the database of the page's recipe, and return its address for its owner."""
    found = re.search(r"```sql\n(CREATE ROLE .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    for statement in filter(str.strip, found[1].split(";\n")):
        server.execute(statement)
    return server.address("fleet").replace("//remit@", "//fleet@")


async def submitted(address: str, folder: Path) -> int:
    resolving = Resolving(registry=registry(KEEPER))
    request = {"prompt": "go", "subagent_def": "keeper", "model": "anthropic:claude-sonnet-5"}
    async with open_database(address, folder) as database:
        done = await submit(database, request, settings_for(address, folder), folder, resolving=resolving)
        return done.id


async def claimed(address: str, number: int) -> Job | str | None:
    async with open_database(address, Path("/")) as database:
        return await jobs.claim(database, number, "0" * 32, None)


def test_a_job_of_a_backup_continues_on_another_server(own_postgres: Postgres, other: Postgres, tmp_path: Path) -> None:
    owner, new_owner = made(own_postgres), made(other)
    number = asyncio.run(submitted(owner, tmp_path))
    dump = str(tmp_path / "fleet.dump")
    program("pg_dump", "--format=custom", f"--file={dump}", owner)
    program("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", f"--dbname={new_owner}", dump)
    job = asyncio.run(claimed(new_owner, number))
    assert isinstance(job, Job)
    assert (job.prompt, job.attempt, job.agent) == ("go", 1, "keeper")
