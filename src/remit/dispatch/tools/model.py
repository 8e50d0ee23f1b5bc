"""The types of tools: their specs, their limits, and the output of a call."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from remit.evidence.model import Span
from remit.evidence.receipts import Receipt

#: The same length as the digests of receipts and snapshots.
_DIGEST_LENGTH = 32


class ToolSpec(msgspec.Struct, frozen=True):
    """The description of a tool for a model."""

    name: str
    description: str
    #: JSON Schema of the arguments.
    schema: dict[str, Any]
    is_read_only: bool
    #: Whether a call can be repeated if a crash left its outcome unknown.
    is_repeatable: bool


class ToolOutput(msgspec.Struct, frozen=True):
    """The output of a call."""

    #: The text for the model.
    text: str
    receipt: Receipt
    #: The call failed; the text contains the reason and what to do.
    failed: bool = False


class ToolLimits(msgspec.Struct, frozen=True):
    """The limits of one call."""

    #: Characters of output for the model; the whole output is stored in a file.
    characters: int = 30_000
    #: Seconds of a call; and of a command, by default and at most.
    seconds: float = 120
    shell_seconds: float = 120
    max_shell_seconds: float = 600
    #: Larger files are not read, searched or changed.
    file_bytes: int = 10 * 1024 * 1024
    #: Bytes of a program's output; the rest is counted and dropped.
    kept_bytes: int = 8 * 1024 * 1024
    #: Lines of one Read, and characters of one line of output.
    lines: int = 2_000
    line_characters: int = 2_000
    #: Lines of a search result, names of a listing, files that are searched.
    matches: int = 2_000
    names: int = 1_000
    files: int = 200_000
    #: For a command: writable memory per process, size of a file, processor seconds, processes of the user.
    memory_bytes: int = 4 * 1024**3
    written_bytes: int = 1024**3
    processor_seconds: int = 1_200
    processes: int = 4_096
    #: Whether commands may use the network. Only the sandbox enforces this.
    network: bool = False
    #: Folders that are hidden from commands in the sandbox, in addition to the home folder and temporary files.
    hidden: tuple[str, ...] = ()
    #: The folders with the results of the job's own plan, which a subagent may read.
    results: tuple[str, ...] = ()


class ToolRefused(Exception):
    """A call that cannot be answered. The message is for the model: the reason, and what to do instead."""

    def __init__(self, message: str, *, exit: int | None = None) -> None:  # noqa: A002 (the receipt's field)
        super().__init__(message)
        self.exit = exit


class ToolAnswer(msgspec.Struct, frozen=True):
    """The answer of a tool, before its text is cut and a receipt is created."""

    text: str
    path: str | None = None
    ranges: tuple[Span, ...] = ()
    exit: int | None = None
    digest: str | None = None
    hits: dict[str, tuple[int, ...]] = {}
    #: For each line of the text, the file and line that it shows. Only those of the shown lines become hits.
    marks: tuple[tuple[str, int] | None, ...] = ()
    failed: bool = False


def digest_of(data: bytes) -> str:
    """Return the digest of a file's content, as in a snapshot of the tree."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
