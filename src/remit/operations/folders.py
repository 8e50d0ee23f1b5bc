"""The folders that a program may use: no path of a request leads out of them."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from remit.checking import read_source
from remit.errors import UsageError

_MAX_PATH = 4_096


class Folders:
    """The folders of a caller. Relative paths start in `start`, which is one of them or inside of one.

    A caller on another machine may not read files: it has to send texts.
    """

    def __init__(self, roots: Sequence[Path], start: Path | None = None, *, may_read: bool = True) -> None:
        self._may_read = may_read
        self.roots = tuple(root.resolve() for root in roots)
        found = (start or roots[0]).resolve()
        self.start = found if any(found.is_relative_to(root) for root in self.roots) else self.roots[0]

    def folder(self, name: str) -> Path:
        """Return a folder of a request. Raises UsageError if it is not in the folders, also by a link."""
        return self._inside(name, "folder")

    def text(self, text: str | None, path: str) -> bytes:
        """Return a text that was sent, else the content of the file at its path."""
        if text is not None:
            return text.encode("utf-8", "replace")
        if not self._may_read:
            raise UsageError("pass the text")
        if path == "-":
            raise UsageError("pass a text, or the path of a file")
        return self.read(path)

    def read(self, name: str) -> bytes:
        """Return the content of a file, as `read_source` does. Raises UsageError if it is not in the folders."""
        file = self._inside(name, "file")
        try:
            is_file = stat.S_ISREG(file.stat().st_mode)
        except OSError as error:
            raise UsageError(f"{name[:_MAX_PATH]}: {error.strerror or error}") from error
        if not is_file:  # a pipe or a device could block the server or never end
            raise UsageError(f"{name!r} is not a file")
        return read_source(file)

    def _inside(self, name: str, what: str) -> Path:
        if len(name) > _MAX_PATH:
            raise UsageError(f"the path of the {what} is too long")
        try:
            path = (self.start / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a loop of links is a RuntimeError before Python 3.13
            raise UsageError(f"the {what} {name!r} cannot be used") from error
        if not any(path.is_relative_to(root) for root in self.roots):
            raise UsageError(f"the {what} {name!r} is outside of {', '.join(map(str, self.roots))}")
        return path
