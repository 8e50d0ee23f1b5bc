"""Numbered SQL files, applied once and in order under a lock, so that any number of workers may start together.

A migration only adds: what the last release reads and writes goes on working while its workers finish. The queue
has steps of its own that take away what its last release used; these wait until no worker is alive.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql
from psycopg.rows import DictRow

#: Any number that is ours alone.
_LOCK = 7_340_118_523
_FILE = re.compile(r"(\d{4})_(\w+)\.sql$")
#: In the comment of the queue's table: its version, and after this word the steps that still wait.
_EXCEPT = " except "
_ALIVE = "5 minutes"


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
        if not await missing_migrations(connection):
            return []
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        await connection.execute("CREATE SCHEMA IF NOT EXISTS remit")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS remit.migrations "
            "(number integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())"
        )
        await _queue_tables(connection)
        for step in await _due(connection):
            await connection.execute(step.sql)
            await connection.execute("INSERT INTO remit.migrations VALUES (%s, %s)", [step.number, step.name])
            applied.append(_told(step))
    return applied


async def missing_migrations(connection: psycopg.AsyncConnection[DictRow]) -> list[str]:
    """What a database lacks, by name; nothing is changed. A newer one than we know lacks nothing."""
    made = await _value(connection, "SELECT to_regclass('remit.migrations') IS NOT NULL")
    own = await _due(connection) if made else list(migrations())
    queue = await _queue_version(connection)
    steps = ["the queue's tables"] if queue is None else [f"queue {name}" for name in _waiting(queue)]
    return [*map(_told, own), *steps]


def _told(step: Migration) -> str:
    return f"{step.number:04} {step.name}"


async def _due(connection: psycopg.AsyncConnection[DictRow]) -> list[Migration]:
    cursor = await connection.execute("SELECT number FROM remit.migrations")
    done = {row["number"] for row in await cursor.fetchall()}
    return [step for step in migrations() if step.number not in done]


async def _value(connection: psycopg.AsyncConnection[DictRow], statement: LiteralString) -> Any:
    row = await (await connection.execute(statement)).fetchone()
    return next(iter(row.values())) if row else None


async def _queue_version(connection: psycopg.AsyncConnection[DictRow]) -> str | None:
    """What the comment of the queue's table says, else that it is up to date; None: there is no such table."""
    if not await _value(connection, "SELECT to_regclass('procrastinate_jobs') IS NOT NULL"):
        return None
    said = await _value(connection, "SELECT obj_description(to_regclass('procrastinate_jobs'))")
    return str(said or version("procrastinate"))


async def _queue_tables(connection: psycopg.AsyncConnection[DictRow]) -> None:
    """The queue's own tables, from the queue's own files: all of them, or the steps since the version that is there."""
    folder = files("procrastinate") / "sql"
    said, own = await _queue_version(connection), version("procrastinate")
    if said is None:
        await connection.execute((folder / "schema.sql").read_text("utf-8"))
        await _note(connection, own)
        return
    due = _waiting(said)
    kept = _removals(due) if await _is_anybody_alive(connection) else []
    for name in due:
        if name not in kept:
            await connection.execute((folder / "migrations" / name).read_text("utf-8"))
    if due or _parts(said) < _parts(own):
        newest = max(said.partition(_EXCEPT)[0], own, key=_parts)
        await _note(connection, newest + (_EXCEPT + " ".join(kept) if kept else ""))


async def _note(connection: psycopg.AsyncConnection[DictRow], words: str) -> None:
    await connection.execute(sql.SQL("COMMENT ON TABLE procrastinate_jobs IS {}").format(sql.Literal(words)))


async def _is_anybody_alive(connection: psycopg.AsyncConnection[DictRow]) -> bool:
    """Whether a worker has been heard of lately, perhaps one of the last release."""
    if not await _value(connection, "SELECT to_regclass('remit.workers') IS NOT NULL"):
        return False
    statement = sql.SQL("SELECT EXISTS (SELECT 1 FROM remit.workers WHERE heartbeat > now() - {}::interval) AS lives")
    row = await (await connection.execute(statement.format(sql.Literal(_ALIVE)))).fetchone()
    return bool(row and row["lives"])


def _waiting(said: str) -> list[str]:
    """The queue's steps that a database lacks, by its comment; none, if a newer remit was here."""
    than, _, kept = said.partition(_EXCEPT)
    names = sorted(file.name for file in (files("procrastinate") / "sql" / "migrations").iterdir())
    return [name for name in names if name.endswith(".sql") and (_parts(name) > _parts(than) or name in kept.split())]


def _removals(names: list[str]) -> list[str]:
    """The steps at the end of a list that only take away what the last release used."""
    last = max((place for place, name in enumerate(names) if "_post_" not in name), default=-1)
    return names[last + 1 :]


def _parts(name: str) -> tuple[int, ...]:
    """`03.02.00_01_pre_x.sql` and `3.2.0` as the numbers they begin with."""
    return tuple(int(part) for part in re.match(r"[\d.]+", name)[0].strip(".").split(".")[:3])  # type: ignore[index]
