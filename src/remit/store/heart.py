"""A worker's heart: a thread of its own that says that the process lives, however busy its event loop is.

A job that makes no headway while its worker lives is another matter: that is seen by its last checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import psycopg

from remit.store.database import OPTIONS
from remit.store.queries import query

log = logging.getLogger("remit.worker")
_CONNECT_SECONDS = 10
#: So long the end waits for a beat that is under way; a server that does not answer is not waited for.
_LAST_SECONDS = 2.0


class Heart:
    """Beats from `async with` on until its end; a database that is away is tried again at every beat."""

    def __init__(self, address: str, worker: str, seconds: float, silence: float) -> None:
        self._address = address
        self._values = {"worker": worker, "silence": silence}
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._live, name="remit heart", daemon=True)
        #: Whether the worker is no longer in the list of those that live.
        self.is_forgotten = False

    async def __aenter__(self) -> Heart:
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
                        self.is_forgotten = not connection.execute(query("fleet.beat"), self._values).fetchone()
                        if self._stopping.wait(self._seconds):
                            return
            except psycopg.OperationalError:
                pass  # it is away: whoever needs it says so
            except Exception:
                log.exception("a heartbeat failed")  # and is tried again: who no longer beats loses all its jobs
            self._stopping.wait(self._seconds)

    def _connection(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._address, autocommit=True, options=OPTIONS, connect_timeout=_CONNECT_SECONDS)
