"""What a tool is, what it may use up, and what a call gives back."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from remit.evidence.model import Span
from remit.evidence.receipts import Receipt

#: Like the digests of receipts and snapshots elsewhere.
_DIGEST = 32


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    #: JSON Schema of the arguments.
    schema: dict[str, Any]
    is_read_only: bool
    #: Whether it may simply be run again where a crash left its outcome unknown.
    is_repeatable: bool


class ToolOutput(msgspec.Struct, frozen=True):
    """The outcome of a call."""

    #: For the model.
    text: str
    receipt: Receipt
    #: The call did not work; the text says why and what to do.
    failed: bool = False


class ToolLimits(msgspec.Struct, frozen=True):
    """What one call may use up."""

    #: Characters of output shown; the rest is spilled to a file.
    characters: int = 30_000
    #: Seconds of a call, and of a command: without a wish, and at most.
    seconds: float = 120
    shell_seconds: float = 120
    max_shell_seconds: float = 600
    #: Larger files are neither read nor searched nor changed.
    file_bytes: int = 10 * 1024 * 1024
    #: Output kept of a program; what comes after it is counted and dropped.
    kept_bytes: int = 8 * 1024 * 1024
    #: Lines of one Read, and characters of one line of output.
    lines: int = 2_000
    line_characters: int = 2_000
    #: Lines that a search gives, names that a listing gives, files that are looked at.
    matches: int = 2_000
    names: int = 1_000
    files: int = 200_000
    #: Of a command: writable memory of each process, largest file, processor seconds, processes of the user.
    memory_bytes: int = 4 * 1024**3
    written_bytes: int = 1024**3
    processor_seconds: int = 1_200
    processes: int = 4_096
    #: Whether commands may use the network (the sandbox decides; without one they always can).
    network: bool = False
    #: Folders that commands in the sandbox must not see, beside the home folder and temporary files.
    hidden: tuple[str, ...] = ()
    #: A folder with the results of earlier phases, which may be read where a task names them.
    results: str = ""


class ToolRefused(Exception):
    """A call that cannot be done; the message tells a model why and what to do instead."""

    def __init__(self, message: str, *, exit: int | None = None) -> None:  # noqa: A002 (the receipt's field)
        super().__init__(message)
        self.exit = exit


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool found or did, before it is capped and becomes a receipt."""

    text: str
    path: str | None = None
    ranges: tuple[Span, ...] = ()
    exit: int | None = None
    digest: str | None = None
    hits: dict[str, tuple[int, ...]] = {}
    #: For each line of the text the place in a file that it shows: only places that are shown become hits.
    marks: tuple[tuple[str, int] | None, ...] = ()
    failed: bool = False


def digest_of(data: bytes) -> str:
    """The digest of a file's content, equal to the one that a snapshot of the tree has for it."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
