"""Write the events of a running job without secrets: streamed text in batches, everything else at once."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from remit.secrets.scan import find_secrets, redact, redact_all
from remit.store.database import Database
from remit.store.events import add_event
from remit.store.storable import to_storable
from remit.store.transcript import StoredEvent

#: Streamed text is written when this many characters or seconds have accumulated.
_BATCH_CHARACTERS = 400
_BATCH_SECONDS = 0.25
_CONTEXT = 300
#: A longer text without a space is not a word, and not kept back.
_MAX_WORD = 2_000
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class EventWriter:
    """Writes the events of one attempt at a job, without secrets if `is_redacting`."""

    def __init__(self, database: Database, job: int, attempt: int, *, is_redacting: bool = True) -> None:
        self._database = database
        self._job = job
        self._attempt = attempt
        self._is_redacting = is_redacting
        self._text = ""
        #: The end of the text that was written last: the name before a password may be in it.
        self._context = ""
        self._since = time.monotonic()
        # Tools that run at the same time also emit at the same time. Rows are read in order, so writes are serial.
        self._lock = asyncio.Lock()

    async def emit(self, kind: str, data: dict[str, Any]) -> None:
        """Write an event, after the text that was streamed before it."""
        async with self._lock:
            await self._flush(is_end=True)
            stored = await asyncio.to_thread(self._redacted, data)
            await add_event(self._database, self._job, kind, to_storable(stored), self._attempt)

    def take(self, kind: str, data: dict[str, Any]) -> list[StoredEvent]:
        """Return an event, after the text that was streamed before it, for a write of the transcript."""
        return [*self._take_text(is_end=True), StoredEvent(kind, self._redacted(data))]

    def _redacted(self, data: dict[str, Any]) -> dict[str, Any]:
        return dict(redact_all(data)) if self._is_redacting else data

    async def add_text(self, piece: str) -> None:
        """Add a piece of the streamed answer, and write the batch if it is due."""
        if not self._text:
            self._since = time.monotonic()
        self._text += piece
        if not ends_in_surrogate(piece):
            await self.flush_words()

    async def flush_words(self) -> None:
        """Write the text so far if it is due, except for its last word, which may be the beginning of a secret."""
        if len(self._text) >= _BATCH_CHARACTERS or time.monotonic() - self._since > _BATCH_SECONDS:
            async with self._lock:
                await self._flush(is_end=False)

    async def flush(self) -> None:
        """Write all text that has been added since the last batch: the answer ends here."""
        async with self._lock:
            await self._flush(is_end=True)

    async def _flush(self, *, is_end: bool) -> None:
        for kind, data in self._take_text(is_end=is_end):
            await add_event(self._database, self._job, kind, to_storable(data), self._attempt)

    def _take_text(self, *, is_end: bool) -> list[StoredEvent]:
        """Return the text so far as an event. Without a wait: more text can arrive during one."""
        text = join_surrogates(self._text)
        self._since = time.monotonic()
        if not self._is_redacting:
            self._text, written = "", text
        else:
            end = len(text) if is_end else _safe_end(text)
            self._text, written = text[end:], redact(self._context + text[:end], len(self._context))
            self._context = (self._context + text[:end])[-_CONTEXT:]
        return [StoredEvent("text", {"text": written})] if written else []


def _safe_end(text: str) -> int:
    """Return where a streamed text can be cut without cutting a secret: between words, not inside a private key."""
    end = len(text)
    while end > max(0, len(text) - _MAX_WORD) and not text[end - 1].isspace():
        end -= 1
    touching = [start for start, _, stop, _ in find_secrets(text) if stop >= len(text.rstrip())]
    return min(end, *touching) if touching else end


def join_surrogates(text: str) -> str:
    """Combine adjacent surrogate halves into the characters they stand for."""
    return _PAIR.sub(lambda match: match[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def ends_in_surrogate(text: str) -> bool:
    """Return whether a text ends in the middle of a character."""
    return "\ud800" <= text[-1:] <= "\udbff"
