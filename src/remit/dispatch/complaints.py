"""What a server prints to its standard error: told in the log, a little of it, as text that nothing obeys."""

from __future__ import annotations

import asyncio
import logging
import os
from types import TracebackType
from typing import TextIO

from remit.dispatch.redact import redacted

log = logging.getLogger("remit.worker")
MAX_LINES = 20
MAX_LINE = 300
#: How long a server's last words may take; whatever it started may hold its standard error open for ever.
_LAST_SECONDS = 1.0


def harmless(text: str) -> str:
    """One line of text from outside, without secrets and without what a terminal would obey."""
    return "".join(one if one.isprintable() else "\ufffd" for one in redacted(text))


class Complaints:
    """A pipe for the standard error of one server; `file` is the end for its process."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.file: TextIO | None = None
        self._lines: _Lines | None = None
        self._transport: asyncio.ReadTransport | None = None

    async def __aenter__(self) -> Complaints:
        reading, writing = os.pipe()
        lines = self._lines = _Lines(self._server)
        pipe = os.fdopen(reading, "rb", buffering=0)
        self.file = os.fdopen(writing, "w", encoding="utf-8")
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, pipe)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.file is not None:
            self.file.close()
        if self._lines is not None and self._transport is not None:
            await asyncio.wait([self._lines.ended], timeout=_LAST_SECONDS)
            self._transport.close()
            self._lines.ended.cancel()


class _Lines(asyncio.Protocol):
    """Tells the first lines that come; the rest is read and dropped, so that the server does not wait."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._line = bytearray()
        self._told = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Some more of it."""
        *whole, rest = data.split(b"\n") if self._told <= MAX_LINES else [b""]
        for part in whole:
            self._add(part)
            self._tell()
        self._add(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of it."""
        self._tell()
        if not self.ended.done():
            self.ended.set_result(None)

    def _add(self, part: bytes) -> None:
        self._line += part[: MAX_LINE * 4 - len(self._line)]  # a character has up to four bytes

    def _tell(self) -> None:
        text = harmless(self._line.decode("utf-8", "replace").strip())[:MAX_LINE]
        self._line.clear()
        if not text or self._told > MAX_LINES:
            return
        self._told += 1
        if self._told > MAX_LINES:
            log.warning("the MCP server %s says more, which is left out", self._server)
        else:
            log.warning("the MCP server %s says: %s", self._server, text)
