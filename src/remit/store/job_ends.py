"""Wait for the ends of jobs: any number of listeners of one process share a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Collection
from typing import Self
from weakref import WeakKeyDictionary

from remit.aio import cancel_and_wait
from remit.store.connecting import ConnectionTarget
from remit.store.database import CONNECTION_ERRORS, Database

_RECONNECT_SECONDS = 0.5


class JobEndListener:
    """Listens for the ends of some jobs. A notification can be lost with the connection, so poll from time to time."""

    def __init__(self, database: Database) -> None:
        self._feed = _feeds.setdefault(database, _JobEnds(database.target))
        self._expected: frozenset[int] = frozenset()
        self._ended = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._feed.add(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.expect(())
        await self._feed.remove(self)

    @property
    def is_listening(self) -> bool:
        """Return whether ends are noticed at once; if not, poll more often."""
        return self._feed.is_listening

    def expect(self, jobs: Collection[int]) -> None:
        """Set the jobs to wait for. Call this before you query their states, so that no end is missed."""
        before, self._expected = self._expected, frozenset(jobs)
        self._feed.expect(self, added=self._expected - before, removed=before - self._expected)
        self._ended.clear()

    def notice(self) -> None:
        """End the wait."""
        self._ended.set()

    async def wait(self, seconds: float) -> None:
        """Wait until an expected job ends, for at most `seconds`."""
        # Not `wait_for`: before Python 3.12 it loses a cancellation that arrives together with the result.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()


class _JobEnds:
    """The connection of all listeners on one database. It is open as long as there is a listener."""

    def __init__(self, target: ConnectionTarget) -> None:
        self._target = target
        self._listeners: set[JobEndListener] = set()
        #: Job -> who waits for its end, so that a notification costs the same with any number of listeners.
        self._waiting: defaultdict[int, set[JobEndListener]] = defaultdict(set)
        self._listening: asyncio.Task[None] | None = None
        self.is_listening = False

    def add(self, listener: JobEndListener) -> None:
        self._listeners.add(listener)
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        if self.is_listening:
            listener.notice()

    async def remove(self, listener: JobEndListener) -> None:
        self._listeners.discard(listener)
        if not self._listeners and self._listening is not None:
            listening, self._listening = self._listening, None
            await cancel_and_wait(listening)

    def expect(self, listener: JobEndListener, *, added: Collection[int], removed: Collection[int]) -> None:
        for job in added:
            self._waiting[job].add(listener)
        for job in removed:
            self._waiting[job].discard(listener)
            if not self._waiting[job]:
                del self._waiting[job]

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._target.connect(autocommit=True) as connection:
                    await connection.execute("LISTEN remit_ended")
                    self.is_listening = True
                    for listener in self._listeners:  # jobs that ended before this sent no notification here
                        listener.notice()
                    async for notice in connection.notifies():
                        job = int(notice.payload) if notice.payload.isdecimal() and len(notice.payload) < 20 else -1
                        for listener in self._waiting.get(job, ()):
                            listener.notice()
            except CONNECTION_ERRORS:
                self.is_listening = False
                await asyncio.sleep(_RECONNECT_SECONDS)
            finally:
                self.is_listening = False


_feeds: WeakKeyDictionary[Database, _JobEnds] = WeakKeyDictionary()
