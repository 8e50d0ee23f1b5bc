"""Write the events of a running job: streamed text in batches, everything else at once."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from remit.store.database import Database
from remit.store.events import add_event
from remit.store.storable import to_storable
from remit.store.transcript import StoredEvent

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

#: Streamed text is written when this many characters or seconds have accumulated.
_BATCH_CHARACTERS = 400
_BATCH_SECONDS = 0.25
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
#: In JSON text such as the arguments of a tool: an escaped surrogate without its other half, or an escaped NUL. An
#: escaped backslash and a complete pair match first, so that they stay unchanged.
_ESCAPES = re.compile(
    r"\\\\|(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2}|0000)"
)


class EventWriter:
    """Writes the events of one attempt at a job."""

    def __init__(self, database: Database, job: int, attempt: int) -> None:
        self._database = database
        self._job = job
        self._attempt = attempt
        self._text: list[str] = []
        self._length = 0
        self._since = time.monotonic()
        # Tools that run at the same time also emit at the same time. Rows are read in order, so writes are serial.
        self._lock = asyncio.Lock()

    async def emit(self, kind: str, data: dict[str, Any]) -> None:
        """Write an event, after the text that was streamed before it."""
        async with self._lock:
            await self._flush()
            await add_event(self._database, self._job, kind, to_storable(data), self._attempt)

    def take(self, kind: str, data: dict[str, Any]) -> list[StoredEvent]:
        """Return an event, after the text that was streamed before it, for a write of the transcript."""
        return [*self._take_text(), StoredEvent(kind, data)]

    async def add_text(self, piece: str) -> None:
        """Add a piece of the streamed answer, and write the batch if it is due."""
        self._text.append(piece)
        self._length += len(piece)
        is_due = self._length >= _BATCH_CHARACTERS or time.monotonic() - self._since > _BATCH_SECONDS
        if is_due and not ends_in_surrogate(piece):
            await self.flush()

    async def flush(self) -> None:
        """Write the text that has been added since the last batch."""
        async with self._lock:
            await self._flush()

    async def _flush(self) -> None:
        for kind, data in self._take_text():
            await add_event(self._database, self._job, kind, to_storable(data), self._attempt)

    def _take_text(self) -> list[StoredEvent]:
        text = join_surrogates("".join(self._text))
        self._text, self._length, self._since = [], 0, time.monotonic()
        return [StoredEvent("text", {"text": text})] if text else []


def repair_surrogates(response: ModelResponse) -> None:
    """Replace lone surrogates and NULs of a model's answer in place: it is stored, run and sent back to the model."""
    for part in response.parts:
        _repair_fields(part)
        if isinstance(arguments := getattr(part, "args", None), str):
            part.args = _ESCAPES.sub(lambda found: "\\ufffd" if found["half"] else found[0], arguments)  # type: ignore[union-attr]
    _repair_fields(response, "parts")


def join_surrogates(text: str) -> str:
    """Combine adjacent surrogate halves into the characters they stand for."""
    return _PAIR.sub(lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def ends_in_surrogate(text: str) -> bool:
    """Return whether a text ends in the middle of a character."""
    return "\ud800" <= text[-1:] <= "\udbff"


def _repair_fields(record: Any, *excluded: str) -> None:
    for field in fields(record):
        value = getattr(record, field.name) if field.name not in excluded else None
        if isinstance(value, str | dict | list) and (repaired := _repaired(value)) != value:
            setattr(record, field.name, repaired)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return to_storable(join_surrogates(value))
    if isinstance(value, dict):
        return {_repaired(name): _repaired(inner) for name, inner in value.items()}
    return [_repaired(inner) for inner in value] if isinstance(value, list) else value
