"""Hearing that jobs have ended, so that whoever waits for them need not ask again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from typing import Self

import psycopg

from remit.store.database import AWAY, OPTIONS, Database
from remit.store.ending import ended

_PAUSE_SECONDS = 0.5


class Ear:
    """Listens for the ends of some jobs. A notice may be lost with the connection: look yourself now and then."""

    def __init__(self, database: Database) -> None:
        self._address = database.address
        self._expected: frozenset[int] = frozenset()
        self._news = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._listening is not None:
            await ended(self._listening)

    def expect(self, jobs: Collection[int]) -> None:
        """From now on, the ends of these are news. Look at them after this, and nothing is missed."""
        self._expected = frozenset(jobs)
        self._news.clear()

    async def news(self, seconds: float) -> None:
        """Wait until one of them has ended, at most so long."""
        # Not `wait_for`: before Python 3.12 it forgets that it was cancelled if the news comes at the same moment.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _listen(self) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._address, autocommit=True, options=OPTIONS, connect_timeout=10
                ) as connection:
                    await connection.execute("LISTEN remit_ended")
                    self._news.set()  # what ended before we listened was told to nobody
                    async for notice in connection.notifies():
                        if notice.payload.isdigit() and int(notice.payload) in self._expected:
                            self._news.set()
            except AWAY:
                await asyncio.sleep(_PAUSE_SECONDS)
