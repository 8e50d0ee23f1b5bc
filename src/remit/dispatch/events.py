"""Telling what a job does while it does it: text in pieces that are worth a row, everything else at once."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from remit.store.database import Database
from remit.store.events import add_event
from remit.store.storable import to_storable

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

#: Streamed text is told when so much of it has come, or after so long.
_PIECE = 400
_SECONDS = 0.25
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
#: In JSON text, as tools' arguments are: what an escape means that is no half of a pair, and not itself escaped.
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
        # Tools that run side by side tell at once; listeners go by the order of the rows, so they come one by one.
        self._speaking = asyncio.Lock()

    async def tell(self, kind: str, data: dict[str, Any]) -> None:
        """Tell something, after the text that came before it."""
        async with self._speaking:
            await self._flush()
            await add_event(self._database, self._job, kind, to_storable(data), self._attempt)

    async def text(self, piece: str) -> None:
        """Tell some more of the answer."""
        self._text.append(piece)
        self._length += len(piece)
        is_due = self._length >= _PIECE or time.monotonic() - self._since > _SECONDS
        if is_due and not ends_in_surrogate(piece):
            await self.flush()

    async def flush(self) -> None:
        """Tell what has come and was not told yet."""
        async with self._speaking:
            await self._flush()

    async def _flush(self) -> None:
        if self._text:
            text = join_surrogates("".join(self._text))
            self._text, self._length = [], 0
            await add_event(self._database, self._job, "text", to_storable({"text": text}), self._attempt)
        self._since = time.monotonic()


def repair_surrogates(response: ModelResponse) -> None:
    """Mend an answer where it is: it is stored, its calls are run, and the model gets it back."""
    for part in response.parts:
        _mend(part)
        if isinstance(given := getattr(part, "args", None), str):
            part.args = _ESCAPES.sub(lambda found: "\\ufffd" if found["half"] else found[0], given)  # type: ignore[union-attr]
    _mend(response, "parts")


def join_surrogates(text: str) -> str:
    """A text with the halves of characters that meet in it put together."""
    return _PAIR.sub(lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def ends_in_surrogate(text: str) -> bool:
    """Whether a text ends in the middle of a character."""
    return "\ud800" <= text[-1:] <= "\udbff"


def _mend(said: Any, *but: str) -> None:
    for field in fields(said):
        value = getattr(said, field.name) if field.name not in but else None
        if isinstance(value, str | dict | list) and (whole := _whole(value)) != value:
            setattr(said, field.name, whole)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return to_storable(join_surrogates(value))
    if isinstance(value, dict):
        return {_whole(name): _whole(inner) for name, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
