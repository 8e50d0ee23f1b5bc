"""The file of a session's state: documents of JSON, one in each line, of which the last complete one counts.

A state is saved at every event. To append it takes a few microseconds; to replace the file takes fifty times as long,
because the file system then changes folders. A process that is killed while it appends leaves an incomplete last line,
and the document before it still counts. The file is replaced when it has become long.
"""

from __future__ import annotations

import os
import stat
from _operator import is_  # the module `operator` is slower to load

from remit.lean_json import dumps, loads
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    #: Inode, change time and size: what changes with the content of a file. No program can set the change time.
    Mark = tuple[int, int, int]

#: A larger file is not a state.
MAX_FILE_SIZE = 4_000_000
#: A file is replaced, not appended to, when it would become longer. The blocks of the old file are then released, which
#: takes up to milliseconds, so a save that a client waits for may exceed the limit: by as much again.
MAX_APPENDED = 1_000_000
#: The last bytes of a file, which usually contain the whole last line.
_TAIL = 64 * 1024
#: The ending of the old file while a file is replaced.
SPARE = ".old"
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Stored:
    """What a file contains: the values of its last complete document, its bytes, and the mark of the file."""

    __slots__ = ("data", "mark", "values")

    def __init__(self, values: dict[str, Any] | None, data: bytes, mark: Mark | None) -> None:
        #: None if the file does not exist or is corrupt.
        self.values = values
        self.data = data
        #: None if the next document cannot be appended.
        self.mark = mark


def read_state_file(path: str, is_state: Callable[[object], bool]) -> Stored:
    """Read the last complete document of a file. `is_state` decides whether a value is one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return Stored(None, b"", None)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_SIZE:
            return Stored(None, b"", None)
        end = _read(descriptor, max(0, about.st_size - _TAIL))
        if b"\n" not in end:
            end = _read(descriptor, 0)
        line = end[end.rfind(b"\n") + 1 :]
        values = _parse(line, is_state)
        if values is not None:
            return Stored(values, line, _mark(about))
        return _read_torn(_read(descriptor, 0), is_state)
    except OSError:
        return Stored(None, b"", None)
    finally:
        os.close(descriptor)


def _read_torn(data: bytes, is_state: Callable[[object], bool]) -> Stored:
    """Read a file whose end is not a document: it is one document of many lines, or its last line is incomplete."""
    before = data[: max(0, data.rfind(b"\n"))]
    for candidate in (data, before[before.rfind(b"\n") + 1 :]):
        values = _parse(candidate, is_state)
        if values is not None:
            return Stored(values, candidate, None)
    return Stored(None, data, None)


def _read(descriptor: int, start: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    pieces = []
    left = MAX_FILE_SIZE + 1
    while left > 0 and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _parse(data: bytes, is_state: Callable[[object], bool]) -> dict[str, Any] | None:
    try:
        values: dict[str, Any] = loads(data)
    except (ValueError, RecursionError):
        return None
    return values if is_state(values) else None


class EncodedEntries:
    """The entries of a list as JSON: those that were encoded before are not encoded again.

    Only the last entry of the list may be changed after it was encoded.
    """

    __slots__ = ("_entries", "_pieces")

    def __init__(self) -> None:
        self._entries: list[Any] = []
        self._pieces: list[bytes] = []

    def encode(self, entries: list[Any]) -> bytes:
        """Return a list as JSON. It may have lost its first entries and got new ones at its end."""
        first = entries[0] if entries else None
        start = next((at for at, one in enumerate(self._entries) if one is first), len(self._entries))
        same = self._entries[start:-1]
        if len(same) > len(entries) or not all(map(is_, same, entries)):
            same = []
        new = [dumps(one, allow_nan=True) for one in entries[len(same) :]]
        self._pieces = [*self._pieces[start : start + len(same)], *new]
        self._entries = list(entries)
        return b"[%s]" % b",".join(self._pieces)


def append_state(path: str, data: bytes, mark: Mark | None, *, may_grow: bool = False) -> Mark | None:
    """Append a document to the file with this mark; return its new mark, or None if the file must be replaced.

    With `may_grow`, a client waits for the save, see `MAX_APPENDED`.
    """
    if mark is None or mark[2] + len(data) >= MAX_APPENDED * (1 + may_grow):
        return None
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _FLAGS)
    except OSError:
        return None
    try:
        about = os.fstat(descriptor)
        if _mark(about) != mark or about.st_nlink != 1:
            return None
        if _write(descriptor, b"\n" + data):
            return _mark(os.fstat(descriptor))
        os.ftruncate(descriptor, mark[2])
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _write(descriptor: int, data: bytes) -> bool:
    try:
        return os.write(descriptor, data) == len(data)
    except OSError:  # the disk is full: the replacement of the file reports it
        return False


def replace_state(path: str, data: bytes) -> Mark | None:
    """Replace a file by one document. Raises OSError.

    The old file is moved away first: if a file is replaced, ext4 writes the new one to disk at once. A process that
    ends in between leaves the old file, which the next one uses.
    """
    spare = path + SPARE
    has_old = move(path, spare)
    try:
        replace_file(path, data, mode=0o600, sync=False)
    except BaseException:
        move(spare, path)
        raise
    if has_old:
        os.unlink(spare)
    return mark_of(path)


def mark_of(path: str) -> Mark | None:
    """Return the mark of a file, or None if it does not exist."""
    try:
        return _mark(os.lstat(path))
    except OSError:
        return None


def _mark(about: os.stat_result) -> Mark:
    return about.st_ino, about.st_ctime_ns, about.st_size


def move(path: str, target: str) -> bool:
    """Rename a file; return False if it does not exist."""
    try:
        os.rename(path, target)
    except FileNotFoundError:
        return False
    return True
