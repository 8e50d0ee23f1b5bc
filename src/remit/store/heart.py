"""A worker's heart: a thread of its own that says that the process lives, however busy its event loop is.

A job that makes no headway while its worker lives is another matter: that is seen by its last checkpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import psycopg
from psycopg.rows import dict_row

from remit.store.database import OPTIONS
from remit.store.queries import query

_CONNECT_SECONDS = 10
#: So long the end waits for a beat that is under way; a server that does not answer is not waited for.
_LAST_SECONDS = 2.0


class Heart:
    """Beats from `async with` on until its end; a database that is away is tried again at every beat."""

    def __init__(self, address: str, worker: str, seconds: float) -> None:
        self._address = address
        self._worker = worker
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._live, name="remit heart", daemon=True)
        self._lock = threading.Lock()
        self._longest = 0.0
        self._beaten = time.time()  # not the monotonic clock: that one stands still while a laptop sleeps
        self._is_forgotten = False

    async def __aenter__(self) -> Heart:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, _LAST_SECONDS)

    def silence(self) -> float | None:
        """The longest time without a beat since this was last asked; None: the worker has been forgotten meanwhile."""
        with self._lock:
            if self._is_forgotten:
                self._is_forgotten = False
                return None
            longest, self._longest = max(self._longest, time.time() - self._beaten), 0.0
            return longest

    def _live(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(psycopg.Error), self._connection() as connection:
                while True:
                    self._beat(connection)
                    if self._stopping.wait(self._seconds):
                        return
            self._stopping.wait(self._seconds)

    def _connection(self) -> psycopg.Connection[dict[str, Any]]:
        return psycopg.connect(
            self._address, row_factory=dict_row, autocommit=True, options=OPTIONS, connect_timeout=_CONNECT_SECONDS
        )

    def _beat(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        found = connection.execute(query("fleet.beat"), {"worker": self._worker}).fetchone()
        with self._lock:
            self._beaten = time.time()
            if found is None:
                self._is_forgotten = True
            else:
                self._longest = max(self._longest, float(found["silence"]))
