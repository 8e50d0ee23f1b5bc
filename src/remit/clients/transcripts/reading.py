"""Read the transcripts of clients: one JSON document on each line, recognised by its content.

The readers of the clients turn lines into calls. Lines that are invalid, unknown or longer than the limit are skipped;
they never cause a failure. A file without any line of a known client has an unknown format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remit.clients.claude_code.transcript import ClaudeCodeCalls
from remit.clients.codex.transcript import CodexCalls
from remit.clients.copilot.transcript import CopilotCalls
from remit.clients.opencode.transcript import OpencodeCalls
from remit.clients.transcripts import split_agent
from remit.errors import UsageError
from remit.evidence.receipts import Transcript

#: Longer lines are skipped, so that memory stays bounded.
MAX_LINE = 16 * 1024 * 1024
#: Lines are often longer than the usual buffer.
_BUFFER = 256 * 1024


class _Message(msgspec.Struct):
    content: Any = None


class _Line(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    cwd: str | None = None
    timestamp: str | None = None
    #: The content of a line of Codex.
    payload: Any = None
    #: The content of a line of Copilot CLI, and the subagent that it belongs to.
    data: Any = None
    agentId: str | None = None  # noqa: N815 - the client's name
    #: A message of opencode.
    info: Any = None
    parts: Any = None


_decoder = msgspec.json.Decoder(_Line)


def read_transcripts(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Transcript]:
    """Yield the transcripts in order; raise UsageError at one that cannot be read. A path may be one of `of_agent`."""
    for path in paths:
        name = os.fspath(path)
        file, agent = split_agent(name)
        yield read_transcript(file, agent, name=name)


def read_transcript(path: str | os.PathLike[str], agent: str = "", *, name: str = "") -> Transcript:
    """Return every tool call of a transcript, or those of one agent, in order. `name` is its name in messages."""
    claude_code, codex, copilot, opencode = ClaudeCodeCalls(path), CodexCalls(), CopilotCalls(agent), OpencodeCalls()
    skipped = 0
    try:
        for raw in _lines(path):
            line = _decode(raw)
            if line is None:
                skipped += 1
                continue
            if line.payload is not None and codex.add(line.type, line.payload, line.timestamp):
                continue
            if line.data is not None and copilot.add(line.type, line.data, line.timestamp, line.agentId):
                continue
            if line.parts is not None and opencode.add(line.info, line.parts):
                continue
            content = line.message.content if line.message is not None else None
            claude_code.add(line.type, content, line.timestamp, line.cwd)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    readers = (claude_code, codex, copilot, opencode)
    return Transcript(
        name or os.fspath(path),
        receipts=tuple(receipt for reader in readers for receipt in reader.receipts),
        roots=tuple(root for reader in readers for root in reader.roots),
        skipped=skipped,
        is_known=any(reader.is_known for reader in readers),
    )


def _lines(path: str | os.PathLike[str]) -> Iterator[bytes | None]:
    with open(path, "rb", buffering=_BUFFER) as file:
        while line := file.readline(MAX_LINE + 1):
            if len(line) <= MAX_LINE:
                if line.strip():
                    yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield None


def _decode(raw: bytes | None) -> _Line | None:
    if raw is None:
        return None
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return None
