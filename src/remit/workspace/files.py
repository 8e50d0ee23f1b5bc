"""Read the files of a checkout: once each, by line, with limits on size and memory.

Lines end with `\\n` or `\\r\\n` only. A last line without a line end counts; an empty file has no lines.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from remit.globs import SKIPPED_DIRECTORIES
from remit.secrets.scan import redact_lines
from remit.workspace.file_index import FileIndex, project_files
from remit.workspace.paths import normalize_path

#: Larger files are not read: a claim about them is `unchecked`.
MAX_FILE = 10 * 1024 * 1024
#: Bytes of text that are kept in memory between claims.
MAX_CACHE = 64 * 1024 * 1024
#: At most this many files are listed; suggestions come from these.
MAX_LISTED = 200_000
_BINARY_PROBE = 8192


class SourceFile:
    """A text file and its lines."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        #: How many of its lines end with a carriage return, which `text` does not have.
        self.returns = data.count(b"\r\n") if b"\r" in data else 0
        text = data.decode("utf-8", "replace")
        self.text = text.replace("\r\n", "\n") if self.returns else text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their line ends."""
        lines = self.text.split("\n")
        if lines[-1] == "":
            lines.pop()
        return lines

    def shown_lines(self, first: int, last: int) -> list[str]:
        """Return some lines, counted from 1, without secrets: what is printed of a file is taken from here."""
        return redact_lines(self.lines, first - 1, min(last, len(self.lines)))

    @cached_property
    def line_count(self) -> int:
        """How many lines it has. Most cited files are only counted."""
        return self.text.count("\n") + (self.text[-1:] not in ("", "\n"))

    @cached_property
    def bare_lines(self) -> frozenset[str]:
        """The different lines without the white space around them."""
        return frozenset(line.strip() for line in self.lines)

    @cached_property
    def collapsed(self) -> Collapsed:
        """The text with each run of white space replaced by one space."""
        return Collapsed(self.lines)

    def collapsed_near(self, first: int, last: int, margin: int) -> Collapsed:
        """Return the collapsed text of some lines, with `margin` characters or lines before and after them."""
        lines = self.lines
        low, high = max(0, first - 1), min(len(lines), last)
        missing = margin
        while low > 0 and missing > 0:
            low -= 1
            missing -= len("".join(lines[low].split())) or 1
        missing = margin
        while high < len(lines) and missing > 0:
            missing -= len("".join(lines[high].split())) or 1
            high += 1
        return Collapsed(lines[low:high], low + 1)


class Collapsed:
    """Text with collapsed white space, which maps offsets back to line numbers. `first` is the number of its line 1."""

    def __init__(self, lines: list[str], first: int = 1) -> None:
        words: list[str] = []
        self._starts: list[int] = []
        self._numbers: list[int] = []
        length = 0
        for number, line in enumerate(lines, first):
            bare = " ".join(line.split())
            if bare:
                self._starts.append(length)
                self._numbers.append(number)
                words.append(bare)
                length += len(bare) + 1
        self.text = " ".join(words)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the offset where the text of some lines starts, and the offset where the text after them starts."""
        low, high = bisect_left(self._numbers, first), bisect_right(self._numbers, last)
        start = self._starts[low] if low < len(self._starts) else len(self.text)
        return start, self._starts[high] if high < len(self._starts) else len(self.text)

    def line_at(self, offset: int) -> int:
        """Return the number of the line that contains the character at an offset."""
        return self._numbers[bisect_right(self._starts, offset) - 1]


#: Why a file cannot be read. `dangling`: the path is a symbolic link whose target does not exist.
Why = Literal["missing", "dangling", "folder", "outside", "large", "binary", "special", "forbidden", "submodule"]


class Absent(msgspec.Struct, frozen=True):
    """A file that cannot be read, and why."""

    path: str
    why: Why


class Workspace(ABC):
    """A tree of files: a work tree or a commit."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        #: The root, with links resolved.
        self.folder = os.path.realpath(root)
        self._named = os.path.abspath(root)
        self._cache: OrderedDict[str, SourceFile | Absent] = OrderedDict()
        self._cached = 0
        self._normal: dict[str, str | None] = {}

    @cached_property
    def root(self) -> Path:
        """The root as a `Path`."""
        return Path(self.folder)

    @abstractmethod
    def _load(self, path: str) -> SourceFile | Absent:
        """Read a file by its normalized path."""

    @abstractmethod
    def _list(self) -> list[str]:
        """Return the normalized paths of all files, at most `MAX_LISTED`."""

    def exists(self, written: str) -> bool:
        """Whether a path from a document names an existing file, readable or not."""
        file = self.read(written)
        return isinstance(file, SourceFile) or file.why in ("large", "binary", "special", "forbidden")

    def normal(self, written: str) -> str | None:
        """Return a path from a document relative to the root, which may be named through a link; None if outside."""
        try:
            return self._normal[written]
        except KeyError:
            inside = normalize_path(written, self.folder)
            inside = normalize_path(written, self._named) if inside is None else inside
            if len(self._normal) < MAX_LISTED:
                self._normal[written] = inside
            return inside

    def folder_of(self, file: str) -> str:
        """Return the folder of a file, relative to the root; empty for the root and for a folder elsewhere."""
        inside = self.normal(os.path.abspath(file))
        return os.path.dirname(inside) if inside else ""

    def read(self, written: str) -> SourceFile | Absent:
        """Read a file by a path from a document."""
        path = self.normal(written)
        if path is None:
            return Absent(written, "outside")
        if not path or "\0" in path:
            return Absent(path, "folder" if not path else "missing")
        file = self._cache.get(path)
        if file is None:
            file = self._load(path)
            self._keep(path, file)
        else:
            self._cache.move_to_end(path)
        return file

    def _keep(self, path: str, file: SourceFile | Absent) -> None:
        self._cache[path] = file
        self._cached += _weight(file)
        while self._cached > MAX_CACHE and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= _weight(dropped)

    @cached_property
    def paths(self) -> list[str]:
        """All files, sorted by path."""
        return sorted(self._list())

    @cached_property
    def index(self) -> FileIndex:
        """The names of the files that belong to the project: all but the ignored ones."""
        return FileIndex(self._list_project())

    def _list_project(self) -> list[str]:
        """Return the normalized paths of all files that are not ignored."""
        return self._list()

    def is_empty_folder(self, path: str) -> bool:
        """Return whether a path is a folder without entries, such as that of a submodule that is not checked out."""
        return False

    def close(self) -> None:  # noqa: B027 (most trees hold nothing open)
        """Release open files and processes."""


def _weight(file: SourceFile | Absent) -> int:
    return len(file.text) + 200 if isinstance(file, SourceFile) else 200


class WorkTree(Workspace):
    """The files on disk, including ignored and untracked ones."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__(root)
        self._folders: dict[str, dict[str, str] | Why] = {}
        #: The path without links of each folder whose names are known.
        self._real_folders: dict[str, str] = {}

    def _load(self, path: str) -> SourceFile | Absent:
        exact = self._exact(path)
        if isinstance(exact, Absent):
            return exact
        folder, _, name = exact.rpartition("/")
        full = os.path.join(self._real_folders[folder], name)
        is_link = os.path.islink(full)
        if is_link:
            full = os.path.realpath(full)
        if not self._holds(full):
            return Absent(path, "outside")
        file = _read(path, full)
        is_dangling = is_link and isinstance(file, Absent) and file.why == "missing" and not os.path.islink(full)
        return Absent(path, "dangling") if is_dangling else file

    def _holds(self, full: str) -> bool:
        """Whether a path without links is in the checkout and is not one of git's own files."""
        top = os.path.join(self.folder, "")
        inside = full.startswith(top) and ".git" not in full[len(top) :].lower().split(os.sep)
        return inside or full == self.folder

    def _exact(self, path: str) -> str | Absent:
        """Return the path as it is spelled on disk. Case must match, even on a file system that ignores it."""
        folder = ""
        for part in path.split("/"):
            names = self._names(folder)
            if isinstance(names, str):
                return Absent(path, names)
            spelled = names.get(part) or names.get(unicodedata.normalize("NFC", part))
            if spelled is None:
                return Absent(path, "missing")
            folder = f"{folder}/{spelled}" if folder else spelled
        return folder

    def is_empty_folder(self, path: str) -> bool:
        """Return whether a path is a folder without entries, such as that of a submodule that is not checked out."""
        inside = self.normal(path)
        exact = self._exact(inside) if inside else Absent(path, "outside")
        return isinstance(exact, str) and os.path.isdir(os.path.join(self.folder, exact)) and not self._names(exact)

    def _names(self, folder: str) -> dict[str, str] | Why:
        """Return the names in a folder; a folder outside the root is not listed."""
        names = self._folders.get(folder)
        if names is None:
            names = self._folders[folder] = self._listed(folder)
        return names

    def _listed(self, folder: str) -> dict[str, str] | Why:
        full = self._real_folders[folder] = os.path.realpath(os.path.join(self.folder, folder))
        if not self._holds(full):
            return "outside"
        try:
            entries = os.listdir(full)
        except PermissionError:
            return "forbidden"
        except OSError:
            return {}
        composed = {unicodedata.normalize("NFC", name): name for name in entries if not name.isascii()}
        return composed | {name: name for name in entries}

    def _list(self) -> list[str]:
        files: list[str] = []
        folders = [""]
        while folders and len(files) < MAX_LISTED:
            folder = folders.pop()
            try:
                entries = sorted(os.scandir(os.path.join(self.folder, folder)), key=lambda entry: entry.name)
            except OSError:
                continue  # not readable, or deleted in the meantime
            if folder and any(entry.name == "pyvenv.cfg" for entry in entries):
                continue  # a virtual environment: installed packages
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name in SKIPPED_DIRECTORIES:  # in a submodule, `.git` is a file
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                elif entry.is_file(follow_symlinks=False):
                    files.append(path)
        return files[:MAX_LISTED]

    def _list_project(self) -> list[str]:
        return project_files(self.folder) or self._list()


def _read(path: str, full: str) -> SourceFile | Absent:
    """Open a file without blocking on pipes, check its type and read it."""
    try:
        opened = os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except IsADirectoryError:
        return Absent(path, "folder")
    except PermissionError:
        return Absent(path, "folder" if os.path.isdir(full) else "forbidden")
    except OSError as error:
        return Absent(path, "special" if error.errno == errno.ENXIO else "missing")
    try:
        about = os.fstat(opened)
        if stat.S_ISDIR(about.st_mode):
            return Absent(path, "folder")
        if not stat.S_ISREG(about.st_mode):
            return Absent(path, "special")
        if about.st_size > MAX_FILE:
            return Absent(path, "large")
        data = _content(opened, about.st_size)
    except OSError:
        return Absent(path, "forbidden")
    finally:
        os.close(opened)
    return from_bytes(path, data)


def _content(opened: int, size: int) -> bytes:
    """Return the content of an open file, at most one byte more than the limit; `size` is what it had a moment ago."""
    parts: list[bytes] = []
    left = MAX_FILE + 1
    while left > 0 and (part := os.read(opened, min(left, size + _BINARY_PROBE))):
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def from_bytes(path: str, data: bytes) -> SourceFile | Absent:
    """Return a text file, or the reason why it is not one."""
    if len(data) > MAX_FILE:
        return Absent(path, "large")
    if data.find(b"\0", 0, _BINARY_PROBE) >= 0:
        return Absent(path, "binary")
    return SourceFile(path, data)
