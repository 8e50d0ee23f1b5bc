"""The lines of JSON between `remit mcp` and its client."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

#: Bytes of one message.
MAX_MESSAGE = 16 * 1024 * 1024
_CHUNK = 65_536
NOT_JSON = {"code": -32700, "message": "this line is not a JSON-RPC message"}
TOO_LONG = {"code": -32600, "message": f"a message can have at most {MAX_MESSAGE} bytes"}


def read_lines(descriptor: int) -> Iterator[bytes | None]:
    """Yield the lines of an input; None for one that is too long."""
    kept, is_skipped = bytearray(), False
    while chunk := os.read(descriptor, _CHUNK):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            kept += part
            yield None if is_skipped or len(kept) > MAX_MESSAGE else bytes(kept)
            kept, is_skipped = bytearray(), False
        kept += rest
        if len(kept) > MAX_MESSAGE:
            kept, is_skipped = bytearray(), True
    if is_skipped or kept:
        yield None if is_skipped else bytes(kept)


def error_line(error: dict[str, Any]) -> bytes:
    """Return an error as a line, for a message that has no id."""
    return encode({"jsonrpc": "2.0", "id": None, "error": error})


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


class Wire(NamedTuple):
    """The client's end of standard input and output."""

    input: int
    output: int

    def send(self, line: bytes) -> None:
        """Send a line. A client that is gone ends the server by closing its input."""
        try:
            while line:
                line = line[os.write(self.output, line) :]
        except BrokenPipeError:
            pass


def claim_streams() -> Wire:
    """Take standard input and output away from everything else: what is printed by accident goes to the log."""
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
