"""Numbered SQL files, applied once and in order under a lock, so that any number of workers may start together.

A migration only adds: what the last release reads and writes goes on working while its workers finish.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple

import psycopg
from psycopg.rows import DictRow

#: Any number that is ours alone.
_LOCK = 7_340_118_523
_FILE = re.compile(r"(\d{4})_(\w+)\.sql$")


class Migration(NamedTuple):
    """One step."""

    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Every step, in order."""
    named = ((_FILE.match(file.name), file) for file in (files("remit.store") / "migrations").iterdir())
    return tuple(sorted(Migration(int(match[1]), match[2], file.read_text("utf-8")) for match, file in named if match))


async def migrate(connection: psycopg.AsyncConnection[DictRow]) -> list[str]:
    """Bring a database up to date; says what was applied."""
    applied: list[str] = []
    async with connection.transaction():
        if await _is_current(connection):
            return []
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        await connection.execute("CREATE SCHEMA IF NOT EXISTS remit")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS remit.migrations "
            "(number integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())"
        )
        await _queue_tables(connection)
        cursor = await connection.execute("SELECT number FROM remit.migrations")
        done = {row["number"] for row in await cursor.fetchall()}
        for step in migrations():
            if step.number not in done:
                await connection.execute(step.sql)
                await connection.execute("INSERT INTO remit.migrations VALUES (%s, %s)", [step.number, step.name])
                applied.append(f"{step.number:04} {step.name}")
    return applied


async def _is_current(connection: psycopg.AsyncConnection[DictRow]) -> bool:
    cursor = await connection.execute("SELECT to_regclass('remit.migrations') AS made")
    row = await cursor.fetchone()
    if row is None or row["made"] is None:
        return False
    cursor = await connection.execute(
        "SELECT max(number) AS last, obj_description(to_regclass('procrastinate_jobs')) AS said FROM remit.migrations"
    )
    row = await cursor.fetchone()
    if row is None or row["last"] is None or row["said"] is None:
        return False
    return row["last"] >= migrations()[-1].number and _parts(row["said"]) >= _parts(version("procrastinate"))


async def _queue_tables(connection: psycopg.AsyncConnection[DictRow]) -> None:
    """The queue's own tables, from the queue's own files: all of them, or the steps since the version that is there."""
    folder = files("procrastinate") / "sql"
    cursor = await connection.execute(
        "SELECT to_regclass('procrastinate_jobs') AS made, obj_description(to_regclass('procrastinate_jobs')) AS said"
    )
    row = await cursor.fetchone()
    if row is None or row["made"] is None:
        await connection.execute((folder / "schema.sql").read_text("utf-8"))
    elif row["said"]:
        if _parts(row["said"]) >= _parts(version("procrastinate")):
            return  # a newer remit was here: what it made stays
        for name in _newer(str(row["said"])):
            sql = (folder / "migrations" / name).read_text(encoding="utf-8")
            await connection.execute(sql)
    await connection.execute(f"COMMENT ON TABLE procrastinate_jobs IS '{version('procrastinate')}'")


def _newer(than: str) -> list[str]:
    names = sorted(file.name for file in (files("procrastinate") / "sql" / "migrations").iterdir())
    return [name for name in names if name.endswith(".sql") and _parts(name) > _parts(than)]


def _parts(name: str) -> tuple[int, ...]:
    """`03.02.00_01_pre_x.sql` and `3.2.0` as the numbers they begin with."""
    return tuple(int(part) for part in re.match(r"[\d.]+", name)[0].strip(".").split(".")[:3])  # type: ignore[index]
