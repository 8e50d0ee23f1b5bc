"""Create the tables, once and under a lock for concurrent starts: the queue's from its own files, then Remit's."""

from __future__ import annotations

import re
from importlib.metadata import version
from importlib.resources import files
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import DictRow

from remit.errors import EnvironmentBroken

#: The version of `schema.sql`, as a comment of the schema: a database of another version is not opened.
VERSION = "0.3"
#: The number of the advisory lock.
_LOCK = 7_340_118_523
_QUEUE = files("procrastinate") / "sql"


async def create_tables(connection: psycopg.AsyncConnection[DictRow], place: str) -> None:
    """Create the tables in an empty database, or apply the queue's own migrations since the database's version.

    Raises EnvironmentBroken, with the place of the database, if another release of Remit created its tables.
    """
    async with connection.transaction():
        if await has_tables(connection, place) and not await _queue_steps(connection):
            return
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if not await has_tables(connection, place):
            await connection.execute("CREATE SCHEMA remit")
            await connection.execute((_QUEUE / "schema.sql").read_text("utf-8"))
            await connection.execute((files("remit.store") / "schema.sql").read_text("utf-8"))
            await connection.execute(sql.SQL("COMMENT ON SCHEMA remit IS {}").format(sql.Literal(VERSION)))
        elif steps := await _queue_steps(connection):
            for name in steps:
                await connection.execute((_QUEUE / "migrations" / name).read_text("utf-8"))
        else:
            return  # another process was faster
        installed = sql.Literal(version("procrastinate"))
        await connection.execute(sql.SQL("COMMENT ON TABLE procrastinate_jobs IS {}").format(installed))


async def has_tables(connection: psycopg.AsyncConnection[DictRow], place: str) -> bool:
    """Return whether the database has Remit's tables. Raises EnvironmentBroken if they are of another release."""
    # Not `to_regnamespace`: its cache does not see what another process created while this one waited for the lock.
    rows = await _rows(connection, "SELECT obj_description(oid) AS version FROM pg_namespace WHERE nspname = 'remit'")
    if not rows:
        return False
    found = rows[0]["version"]
    if found != VERSION:
        raise EnvironmentBroken(
            f"{place} has tables of {f'schema {found}' if found else 'Remit 0.2 or older'}, and this release needs "
            f"schema {VERSION}: finish its jobs with the release that made it, then move the folder away or name an "
            "empty database in REMIT_DATABASE_URL"
        )
    return True


async def _queue_steps(connection: psycopg.AsyncConnection[DictRow]) -> list[str]:
    """Return the queue's migrations that the database lacks; none if a newer release of the queue made its tables."""
    rows = await _rows(
        connection,
        "SELECT obj_description(pg_class.oid) AS version "
        "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = 'remit' AND relname = 'procrastinate_jobs'",
    )
    names = sorted(file.name for file in (_QUEUE / "migrations").iterdir() if file.name.endswith(".sql"))
    return [name for name in names if _parts(name) > _parts(rows[0]["version"])]


async def _rows(connection: psycopg.AsyncConnection[DictRow], statement: LiteralString) -> list[DictRow]:
    return await (await connection.execute(statement)).fetchall()


def _parts(name: str) -> tuple[int, ...]:
    """Return the version at the start of `03.02.00_01_pre_x.sql` or `3.2.0`, as numbers."""
    return tuple(int(part) for part in re.match(r"[\d.]+", name)[0].strip(".").split(".")[:3])  # type: ignore[index]
