"""What workers know of each other: who lives, how many calls a provider has, which provider is left alone."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from psycopg.rows import DictRow

from remit.store.database import Database, rows

#: After so many failures in a row a provider is left alone for so long.
CIRCUIT_FAILURES = 3
CIRCUIT_SECONDS = 30.0


async def register(database: Database, worker: str, queues: list[str], concurrency: int, *, is_listed: bool) -> None:
    """Say that a worker lives; one that is not listed works only for the command that started it."""
    await database.rows(
        "fleet.register",
        worker=worker,
        host=socket.gethostname(),
        pid=os.getpid(),
        queues=queues,
        concurrency=concurrency,
        is_listed=is_listed,
    )


async def unregister(database: Database, worker: str) -> None:
    """Say that a worker ends."""
    await database.rows("fleet.unregister", worker=worker)


async def alive(database: Database, silence: float, *, listed: bool = True) -> list[DictRow]:
    """Workers that have been heard of lately."""
    return await database.rows("fleet.alive", silence=silence, listed=listed)


async def is_served(database: Database, queue: str, silence: float) -> bool:
    """Whether a worker is alive that takes the jobs of a queue."""
    return any(not worker["queues"] or queue in worker["queues"] for worker in await alive(database, silence))


async def clock_skew(database: Database) -> float:
    """How many seconds this host's clock is ahead of the database's."""
    before = time.time()
    row = await database.row("fleet.clock")
    middle = (before + time.time()) / 2
    return middle - float(row["seconds"]) if row else 0.0


async def take_slot(database: Database, provider: str, job: int, attempt: int, most: int, seconds: float) -> bool:
    """One of the calls that a provider may have at a time, over all workers."""
    values: dict[str, Any] = {"job": job, "attempt": attempt, "most": most, "seconds": seconds}

    async def work() -> bool:
        async with database.transaction() as connection:
            await rows(connection, "fleet.lock_provider", provider=provider)
            await rows(connection, "fleet.free_slots", provider=provider)
            return bool(await rows(connection, "fleet.take_slot", provider=provider, **values))

    return await database.patiently(work)


async def leave_slot(database: Database, provider: str, job: int, attempt: int) -> None:
    """The call is over."""
    await database.rows("fleet.leave_slot", provider=provider, job=job, attempt=attempt)


async def circuit_wait(database: Database, provider: str) -> float:
    """For how many seconds a provider is to be left alone."""
    row = await database.row("fleet.circuit", provider=provider)
    return float(row["wait"]) if row else 0.0


async def provider_failed(database: Database, provider: str) -> bool:
    """Count a failure; True: the provider is left alone from now on."""
    row = await database.row("fleet.provider_failed", provider=provider, most=CIRCUIT_FAILURES, seconds=CIRCUIT_SECONDS)
    return bool(row and row["is_open"])


async def provider_answered(database: Database, provider: str) -> None:
    """A success: earlier failures are forgotten."""
    await database.rows("fleet.provider_answered", provider=provider)
