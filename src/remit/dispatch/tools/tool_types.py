"""The types of tools: their specs, their limits, and the output of a call."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from remit.dispatch.tools.openat import store_file
from remit.evidence.model import Span
from remit.evidence.receipts import Receipt
from remit.store.storable import to_storable

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


_T = TypeVar("_T", bound=msgspec.Struct)
#: The most characters of a pattern.
MAX_PATTERN = 4_096
NumberArgument = Annotated[int, Meta(ge=0, le=1_000_000_000)]
PathArgument = Annotated[str, Meta(description="Relative to the workspace, or absolute inside it.")]
FolderArgument = Annotated[str, Meta(description="The folder or file to search; default: the whole workspace.")]


class ToolArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a tool: the schema that is sent to a model, and the check of what it sends.

    They have the same names as in Claude Code, because models know these.
    """


def schema_of(kind: type[ToolArguments]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, without references."""
    _, schemas = msgspec.json.schema_components([kind])
    schema = schemas[kind.__name__]
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def parse_arguments(kind: type[_T], values: Any) -> _T:
    """Convert the arguments of a call; numbers and booleans may be text. Raises ToolRefused."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        names = ", ".join(entry.encode_name + ("" if entry.required else "?") for entry in msgspec.structs.fields(kind))
        raise ToolRefused(f"Wrong arguments: {error}. {kind.__name__} takes {names} (? = optional).") from error


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


#: Characters reserved for the note about the rest.
_NOTE_CHARACTERS = 600
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_KEY = 80


class CappedText(NamedTuple):
    """Text within the limit, and the number of its complete lines."""

    text: str
    lines: int


def one_line(name: str) -> str:
    """Return a file's name without line breaks."""
    return re.sub(r"[\r\n]", "\ufffd", to_storable(name))


def spill_name(key: str) -> str:
    """Return a file name for the key of a call: the same for equal keys, and different for different keys."""
    if not key:
        return f"{secrets.token_hex(8)}.txt"
    safe = _UNSAFE.sub("_", key)[:_MAX_KEY]
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}.txt" if safe == key else f"{safe}-{mark}.txt"


def cap_text(text: str, limit: int, spill: Path, key: str) -> CappedText:
    """Cut a text at a limit, at the end of a line if possible. The whole text is stored in a file in `spill`."""
    if len(text) <= limit:
        return CappedText(text, text.count("\n") + 1)
    available = max(limit - _NOTE_CHARACTERS, limit // 2)
    cut = text.rfind("\n", available // 2, available)
    shown = text[: cut if cut >= 0 else available]
    lines = shown.count("\n") + (cut >= 0)
    left, total = len(text) - len(shown), text.count("\n") + 1
    try:
        path = _store(text, spill, key)
    except OSError as error:
        note = f"[{left:,} more characters are not shown and could not be stored ({error.strerror}). Ask for less.]"
        return CappedText(f"{shown}\n{note}", lines)
    note = (
        f"[{left:,} more characters are not shown; {lines:,} of {total:,} lines are. For the rest, ask for less, "
        f'or Read the whole output with offset={lines + 1} and file_path="{path}"]'
    )
    return CappedText(f"{shown}\n{note}", lines)


def _store(text: str, spill: Path, key: str) -> Path:
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(spill, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(folder, 0o700)
        name = spill_name(key)
        store_file(folder, name, text.encode("utf-8", "replace"), 0o600, None)
    finally:
        os.close(folder)
    return spill / name
