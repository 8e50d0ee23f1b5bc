"""State that workers share: which of them are alive, and the concurrent requests and failures of providers."""

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

from remit.store.database import Connection, ConnectionTarget, Database, query, rows

log = logging.getLogger("remit.worker")
#: After this many failures in a row, a provider gets no requests for this many seconds.
CIRCUIT_FAILURES = 3
CIRCUIT_SECONDS = 30.0
#: How long the end of the thread is waited for; a database that does not respond must not delay the worker's end.
_JOIN_SECONDS = 2.0


async def register(
    database: Database, worker: str, project: str | None, queues: list[str], concurrency: int, *, is_listed: bool
) -> None:
    """Register a worker. One that is not listed works only for the command that started it."""
    await database.rows(
        "workers.register",
        worker=worker,
        host=socket.gethostname(),
        pid=os.getpid(),
        project=project,
        queues=queues,
        concurrency=concurrency,
        is_listed=is_listed,
    )


async def unregister(database: Database, worker: str) -> None:
    """Remove a worker that ends."""
    await database.rows("workers.unregister", worker=worker)


async def live_workers(database: Database, seconds: float, *, listed: bool = True) -> list[DictRow]:
    """Return the workers with a heartbeat in the last `seconds`."""
    return await database.rows("workers.alive", timeout=seconds, listed=listed)


async def is_served(database: Database, project: str, queue: str, seconds: float) -> bool:
    """Return whether a worker that takes the jobs of a project's queue had a heartbeat in the last `seconds`."""
    return any(
        worker["project"] in (None, project) and (not worker["queues"] or queue in worker["queues"])
        for worker in await live_workers(database, seconds)
    )


async def ticket_queues(database: Database, project: str | None, queues: list[str]) -> list[str]:
    """Return the names for procrastinate of a project's queues; without a project, those of all projects."""
    found = await database.rows("workers.ticket_queues", project=project, queues=queues)
    return sorted(row["ticket_queue"] for row in found)


async def clock_skew(database: Database) -> float:
    """Return the seconds by which this host's clock is ahead of the database's."""
    before = time.time()
    row = await database.row("workers.clock")
    middle = (before + time.time()) / 2
    return middle - float(row["seconds"]) if row else 0.0


async def take_slot(database: Database, provider: str, job: int, attempt: int, limit: int, seconds: float) -> bool:
    """Take one of the `limit` concurrent requests to a provider, over all workers. Return False if all are taken."""
    values: dict[str, Any] = {"job": job, "attempt": attempt, "limit": limit, "seconds": seconds}

    async def work(connection: Connection) -> bool:
        await rows(connection, "workers.lock_provider", provider=provider)
        await rows(connection, "workers.free_slots", provider=provider)
        return bool(await rows(connection, "workers.take_slot", provider=provider, **values))

    return await database.in_transaction(work)


async def leave_slot(database: Database, provider: str, job: int, attempt: int) -> None:
    """Release the slot of a request that has ended."""
    await database.rows("workers.leave_slot", provider=provider, job=job, attempt=attempt)


async def provider_failed(database: Database, provider: str) -> bool:
    """Count a failure. Return True if the provider gets no requests for a while."""
    row = await database.row(
        "workers.provider_failed", provider=provider, limit=CIRCUIT_FAILURES, seconds=CIRCUIT_SECONDS
    )
    return bool(row and row["is_open"])


class HeartbeatThread:
    """Writes a worker's heartbeat every `seconds`, from a thread, so that a blocked event loop does not delay it.

    After a pause of more than `timeout` seconds, the return of the worker is noted. If the database is unavailable, the
    next beat tries again.
    """

    def __init__(self, target: ConnectionTarget, worker: str, seconds: float, timeout: float) -> None:
        self._target = target
        self._values = {"worker": worker, "timeout": timeout}
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remit heartbeat", daemon=True)
        #: Whether other workers have removed this worker from the list.
        self.is_removed = False

    async def __aenter__(self) -> HeartbeatThread:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, _JOIN_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._target.connect_sync() as connection:
                    while True:
                        self.is_removed = not connection.execute(query("workers.heartbeat"), self._values).fetchone()
                        if self._stopping.wait(self._seconds):
                            return
            except psycopg.OperationalError:
                pass  # the database is unavailable; the code that needs it reports that
            except Exception:
                log.exception("a heartbeat failed")  # tried again: a worker without a heartbeat loses its jobs
            self._stopping.wait(self._seconds)
