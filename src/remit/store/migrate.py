"""Migrate the database: numbered SQL files, applied once and in order, under a lock for concurrent starts.

A migration only adds, so that workers of the previous release can finish their jobs. The queue's own migrations also
remove what its previous release used; these wait until no worker is alive.
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

#: The number of the advisory lock.
_LOCK = 7_340_118_523
_FILE = re.compile(r"(\d{4})_(\w+)\.sql$")
#: The comment of the queue's table contains its version and, after this word, the migrations that still wait.
_EXCEPT = " except "
_ALIVE = "5 minutes"


class Migration(NamedTuple):
    """A migration of Remit's tables."""

    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations in order."""
    named = ((_FILE.match(file.name), file) for file in (files("remit.store") / "migrations").iterdir())
    return tuple(sorted(Migration(int(match[1]), match[2], file.read_text("utf-8")) for match, file in named if match))


async def migrate(connection: psycopg.AsyncConnection[DictRow]) -> list[str]:
    """Apply the missing migrations and return their labels."""
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
            applied.append(_label(step))
    return applied


async def missing_migrations(connection: psycopg.AsyncConnection[DictRow]) -> list[str]:
    """Return the labels of missing migrations without changing anything. A newer database lacks none."""
    has_table = await _value(connection, "SELECT to_regclass('remit.migrations') IS NOT NULL")
    due = await _due(connection) if has_table else list(migrations())
    queue = await _queue_version(connection)
    steps = ["the queue's tables"] if queue is None else [f"queue {name}" for name in _missing_steps(queue)]
    return [*map(_label, due), *steps]


async def is_empty(connection: psycopg.AsyncConnection[DictRow]) -> bool:
    """Return whether the database has none of Remit's tables."""
    return bool(await _value(connection, "SELECT to_regclass('remit.migrations') IS NULL"))


def _label(step: Migration) -> str:
    return f"{step.number:04} {step.name}"


async def _due(connection: psycopg.AsyncConnection[DictRow]) -> list[Migration]:
    cursor = await connection.execute("SELECT number FROM remit.migrations")
    done = {row["number"] for row in await cursor.fetchall()}
    return [step for step in migrations() if step.number not in done]


async def _value(connection: psycopg.AsyncConnection[DictRow], statement: LiteralString) -> Any:
    row = await (await connection.execute(statement)).fetchone()
    return next(iter(row.values())) if row else None


async def _queue_version(connection: psycopg.AsyncConnection[DictRow]) -> str | None:
    """Return the comment of the queue's table, or the installed version if it has none; None without the table."""
    if not await _value(connection, "SELECT to_regclass('procrastinate_jobs') IS NOT NULL"):
        return None
    comment = await _value(connection, "SELECT obj_description(to_regclass('procrastinate_jobs'))")
    return str(comment or version("procrastinate"))


async def _queue_tables(connection: psycopg.AsyncConnection[DictRow]) -> None:
    """Create the queue's tables from the queue's own files, or apply its migrations since the database's version."""
    folder = files("procrastinate") / "sql"
    current, installed = await _queue_version(connection), version("procrastinate")
    if current is None:
        await connection.execute((folder / "schema.sql").read_text("utf-8"))
        await _set_comment(connection, installed)
        return
    due = _missing_steps(current)
    delayed = _removals(due) if await _is_worker_alive(connection) else []
    for name in due:
        if name not in delayed:
            await connection.execute((folder / "migrations" / name).read_text("utf-8"))
    if due or _parts(current) < _parts(installed):
        newest = max(current.partition(_EXCEPT)[0], installed, key=_parts)
        await _set_comment(connection, newest + (_EXCEPT + " ".join(delayed) if delayed else ""))


async def _set_comment(connection: psycopg.AsyncConnection[DictRow], comment: str) -> None:
    await connection.execute(sql.SQL("COMMENT ON TABLE procrastinate_jobs IS {}").format(sql.Literal(comment)))


async def _is_worker_alive(connection: psycopg.AsyncConnection[DictRow]) -> bool:
    """Return whether a worker, perhaps one of the previous release, had a heartbeat recently."""
    if not await _value(connection, "SELECT to_regclass('remit.workers') IS NOT NULL"):
        return False
    statement = sql.SQL("SELECT EXISTS (SELECT 1 FROM remit.workers WHERE heartbeat > now() - {}::interval) AS lives")
    row = await (await connection.execute(statement.format(sql.Literal(_ALIVE)))).fetchone()
    return bool(row and row["lives"])


def _missing_steps(comment: str) -> list[str]:
    """Return the queue's migrations that a database lacks, by its comment; none if a newer Remit migrated it."""
    current, _, delayed = comment.partition(_EXCEPT)
    names = sorted(file.name for file in (files("procrastinate") / "sql" / "migrations").iterdir())
    return [
        name for name in names if name.endswith(".sql") and (_parts(name) > _parts(current) or name in delayed.split())
    ]


def _removals(names: list[str]) -> list[str]:
    """Return the migrations at the end of a list that only remove what the previous release used."""
    last = max((position for position, name in enumerate(names) if "_post_" not in name), default=-1)
    return names[last + 1 :]


def _parts(name: str) -> tuple[int, ...]:
    """Return the version at the start of `03.02.00_01_pre_x.sql` or `3.2.0`, as numbers."""
    return tuple(int(part) for part in re.match(r"[\d.]+", name)[0].strip(".").split(".")[:3])  # type: ignore[index]
