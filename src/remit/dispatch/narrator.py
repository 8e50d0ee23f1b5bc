"""Telling what a job does while it does it: text in pieces that are worth a row, everything else at once."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from remit.dispatch.spoken import is_cut, joined
from remit.store.database import Database
from remit.store.events import add_event
from remit.store.storable import storable

#: Streamed text is told when so much of it has come, or after so long.
_PIECE = 400
_SECONDS = 0.25


class Narrator:
    """Writes the events of one attempt at a job."""

    def __init__(self, database: Database, job: int, attempt: int) -> None:
        self._database = database
        self._job = job
        self._attempt = attempt
        self._text: list[str] = []
        self._length = 0
        self._since = time.monotonic()
        # Tools that run side by side tell at once; listeners go by the order of the rows, so they come one by one.
        self._speaking = asyncio.Lock()

    async def tell(self, kind: str, data: dict[str, Any]) -> None:
        """Tell something, after the text that came before it."""
        async with self._speaking:
            await self._flush()
            await add_event(self._database, self._job, kind, storable(data), self._attempt)

    async def text(self, piece: str) -> None:
        """Tell some more of the answer."""
        self._text.append(piece)
        self._length += len(piece)
        is_due = self._length >= _PIECE or time.monotonic() - self._since > _SECONDS
        if is_due and not is_cut(piece):
            await self.flush()

    async def flush(self) -> None:
        """Tell what has come and was not told yet."""
        async with self._speaking:
            await self._flush()

    async def _flush(self) -> None:
        if self._text:
            text = joined("".join(self._text))
            self._text, self._length = [], 0
            await add_event(self._database, self._job, "text", storable({"text": text}), self._attempt)
        self._since = time.monotonic()
