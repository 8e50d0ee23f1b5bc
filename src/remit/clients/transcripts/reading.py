"""Read the transcripts of clients: one JSON document on each line, recognised by its content.

The readers of the clients turn lines into calls. Lines that are invalid, unknown or longer than the limit are skipped;
they never cause a failure. A file without any line of a known client has an unknown format.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TypeVar

import msgspec

from remit.clients.transcripts import split_agent
from remit.clients.transcripts.calls import AgentCalls, TranscriptLine
from remit.deciding_files import CLIENTS
from remit.errors import UsageError
from remit.evidence.commands import start_reading
from remit.evidence.receipts import Transcript

#: Longer lines are skipped, so that memory stays bounded.
MAX_LINE = 16 * 1024 * 1024
#: Larger files are not read: a sparse file costs its author nothing.
MAX_FILE = 2 * 1024**3
#: Lines are often longer than the usual buffer.
_BUFFER = 256 * 1024


#: An escape in JSON. A character outside the first 65,536 has two, and `half` is one without the other.
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.")
_decoder = msgspec.json.Decoder(TranscriptLine)
_any = msgspec.json.Decoder()
#: What has the output of a call: in Claude Code, Codex, Copilot CLI and opencode.
_OUTPUTS = ("tool_result", "function_call_output", "custom_tool_call_output", "tool.execution_complete", "tool")


def read_transcripts(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Transcript]:
    """Yield the transcripts in order; raise UsageError at one that cannot be read. A path may be one of `of_agent`."""
    for path in paths:
        name = os.fspath(path)
        file, agent = split_agent(name)
        yield read_transcript(file, agent, name=name)


def read_transcript(path: str | os.PathLike[str], agent: str = "", *, name: str = "") -> Transcript:
    """Return every tool call of a transcript, or those of one agent, in order. `name` is its name in messages."""
    start_reading()
    # A line that no reader of the others takes is one of Claude Code, if any: it is the first client.
    readers = [reader_of(client, path, agent) for client in reversed(CLIENTS)]
    skipped = 0
    try:
        for raw in lines_of(path):
            line = decode_line(raw)
            if line is None:
                skipped += 1
            else:
                any(reader.add(line) for reader in readers)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return Transcript(
        name or os.fspath(path),
        receipts=tuple(receipt for reader in readers for receipt in reader.receipts),
        roots=tuple(root for reader in readers for root in reader.roots),
        skipped=skipped,
        is_known=any(reader.is_known for reader in readers),
    )


def has_printed(path: str | os.PathLike[str], word: str) -> bool:
    """Return whether the output of a call in a transcript has a word, also where its receipt keeps only some lines."""
    file, _ = split_agent(os.fspath(path))
    pattern, raw = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)"), word.encode() if word.isascii() else b""
    try:
        matching = (line for line in lines_of(file) if line is not None and raw in line)
        return any(pattern.search(text) for line in matching for text in _printed(decode(line, _any)))
    except (OSError, RecursionError):
        return False


def _printed(value: object, *, is_output: bool = False) -> Iterator[str]:
    """Yield the texts in the outputs of calls, and not what a person or a model wrote."""
    if isinstance(value, str) and is_output:
        yield value
    if isinstance(value, dict):
        is_output = is_output or value.get("type") in _OUTPUTS
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _printed(part, is_output=is_output)


def reader_of(client: str, path: str | os.PathLike[str], agent: str = "") -> AgentCalls:
    """Return the reader of a client's lines."""
    reader: AgentCalls = import_module(f"remit.clients.{client.replace('-', '_')}.transcript").CALLS(
        os.fspath(path), agent
    )
    return reader


def lines_of(path: str | os.PathLike[str]) -> Iterator[bytes | None]:
    """Yield the lines that are not empty; None for one that is too long. Raises OSError."""
    return (line for _, line in numbered_lines(path))


def numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes | None]]:
    """Yield the same lines with their numbers in the file, from 1. Raises OSError."""
    number = 0
    with open(path, "rb", buffering=_BUFFER) as file:
        about = os.fstat(file.fileno())
        if stat.S_ISCHR(about.st_mode):  # it may have no end
            raise OSError(errno.EINVAL, "it is a device")
        if about.st_size > MAX_FILE:
            raise OSError(errno.EFBIG, f"it is larger than {MAX_FILE >> 30} GB")
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) <= MAX_LINE:
                if line.strip():
                    yield number, line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield number, None


def decode_line(raw: bytes | None) -> TranscriptLine | None:
    """Return a line, or None if it is not JSON of this form."""
    return decode(raw, _decoder)


_Decoded = TypeVar("_Decoded")


def decode(raw: bytes | None, decoder: msgspec.json.Decoder[_Decoded]) -> _Decoded | None:
    """Return a line in the form of a decoder, or None if it is not JSON of that form."""
    try:
        return None if raw is None else _decoded(raw, decoder)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return None


def _decoded(raw: bytes, decoder: msgspec.json.Decoder[_Decoded]) -> _Decoded:
    """Decode a line. If that fails, half of a character, as a client that cuts a text writes it, is replaced.

    No decoder reads such a line, and the audit would miss its call.
    """
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if b"\\ud" not in raw and b"\\uD" not in raw:
            raise
        whole = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape.lastgroup == "half" else escape.group(), raw)
        return decoder.decode(whole)
