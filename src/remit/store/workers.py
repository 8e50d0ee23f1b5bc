"""What workers know of each other: who lives, how many calls a provider has, which provider is left alone."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from typing import Any

import psycopg
from psycopg.rows import DictRow

from remit.store.database import OPTIONS, Database, query, rows

#: After so many failures in a row a provider is left alone for so long.
CIRCUIT_FAILURES = 3
CIRCUIT_SECONDS = 30.0
log = logging.getLogger("remit.worker")
_CONNECT_SECONDS = 10
#: So long the end waits for a beat that is under way; a server that does not answer is not waited for.
_LAST_SECONDS = 2.0


async def register(database: Database, worker: str, queues: list[str], concurrency: int, *, is_listed: bool) -> None:
    """Say that a worker lives; one that is not listed works only for the command that started it."""
    await database.rows(
        "workers.register",
        worker=worker,
        host=socket.gethostname(),
        pid=os.getpid(),
        queues=queues,
        concurrency=concurrency,
        is_listed=is_listed,
    )


async def unregister(database: Database, worker: str) -> None:
    """Say that a worker ends."""
    await database.rows("workers.unregister", worker=worker)


async def live_workers(database: Database, silence: float, *, listed: bool = True) -> list[DictRow]:
    """Workers that have been heard of lately."""
    return await database.rows("workers.alive", silence=silence, listed=listed)


async def is_served(database: Database, queue: str, silence: float) -> bool:
    """Whether a worker is alive that takes the jobs of a queue."""
    return any(not worker["queues"] or queue in worker["queues"] for worker in await live_workers(database, silence))


async def clock_skew(database: Database) -> float:
    """How many seconds this host's clock is ahead of the database's."""
    before = time.time()
    row = await database.row("workers.clock")
    middle = (before + time.time()) / 2
    return middle - float(row["seconds"]) if row else 0.0


async def take_slot(database: Database, provider: str, job: int, attempt: int, most: int, seconds: float) -> bool:
    """One of the calls that a provider may have at a time, over all workers."""
    values: dict[str, Any] = {"job": job, "attempt": attempt, "most": most, "seconds": seconds}

    async def work() -> bool:
        async with database.transaction() as connection:
            await rows(connection, "workers.lock_provider", provider=provider)
            await rows(connection, "workers.free_slots", provider=provider)
            return bool(await rows(connection, "workers.take_slot", provider=provider, **values))

    return await database.patiently(work)


async def leave_slot(database: Database, provider: str, job: int, attempt: int) -> None:
    """The call is over."""
    await database.rows("workers.leave_slot", provider=provider, job=job, attempt=attempt)


async def circuit_wait(database: Database, provider: str) -> float:
    """For how many seconds a provider is to be left alone."""
    row = await database.row("workers.circuit", provider=provider)
    return float(row["wait"]) if row else 0.0


async def provider_failed(database: Database, provider: str) -> bool:
    """Count a failure; True: the provider is left alone from now on."""
    row = await database.row(
        "workers.provider_failed", provider=provider, most=CIRCUIT_FAILURES, seconds=CIRCUIT_SECONDS
    )
    return bool(row and row["is_open"])


async def provider_answered(database: Database, provider: str) -> None:
    """A success: earlier failures are forgotten."""
    await database.rows("workers.provider_answered", provider=provider)


class HeartbeatThread:
    """Beats from `async with` on until its end; a database that is away is tried again at every beat."""

    def __init__(self, address: str, worker: str, seconds: float, silence: float) -> None:
        self._address = address
        self._values = {"worker": worker, "silence": silence}
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._live, name="remit heart", daemon=True)
        #: Whether the worker is no longer in the list of those that live.
        self.is_forgotten = False

    async def __aenter__(self) -> HeartbeatThread:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, _LAST_SECONDS)

    def _live(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._connection() as connection:
                    while True:
                        self.is_forgotten = not connection.execute(query("workers.beat"), self._values).fetchone()
                        if self._stopping.wait(self._seconds):
                            return
            except psycopg.OperationalError:
                pass  # it is away: whoever needs it says so
            except Exception:
                log.exception("a heartbeat failed")  # and is tried again: who no longer beats loses all its jobs
            self._stopping.wait(self._seconds)

    def _connection(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._address, autocommit=True, options=OPTIONS, connect_timeout=_CONNECT_SECONDS)
