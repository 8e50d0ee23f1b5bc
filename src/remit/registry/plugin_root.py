"""Reading a plugin's folder: nothing outside it, nothing but regular files, everything bounded and in order."""

from __future__ import annotations

import os
import re
import stat
from itertools import islice

from remit.globs import SKIPPED_WITH_VENV

MAX_FILE = 256 * 1024
MAX_DEPTH = 8
#: Entries of a folder and its folders that are looked at.
MAX_ENTRIES = 20_000
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def entry_problem(entry: str) -> str | None:
    """Why an entry of the plugin path is not followed; None: it may be."""
    if _URL.match(entry):
        return "a URL is not loaded: fetch it yourself and give the folder"
    if entry.startswith("~"):
        return "~ is not expanded: write the whole path"
    if "\0" in entry:
        return "it holds a null character"
    if not os.path.isabs(entry):
        return "a relative path is refused: write the absolute one"
    return None


class PluginRoot:
    """A plugin's folder. Links may lead anywhere inside it, and nowhere else."""

    def __init__(self, shown: str) -> None:
        self.shown = shown.rstrip("/") or "/"
        self.root = os.path.realpath(shown)
        self._folders: dict[str, str | None] = {}

    def inside(self, written: str) -> str | None:
        """A written path as one inside the plugin with `/`; None if it leads out, by its words or by a link."""
        path = os.path.normpath(written)
        if "\0" in written or _URL.match(written) or os.path.isabs(path) or path.split(os.sep)[0] == "..":
            return None
        return path.replace(os.sep, "/") if self._real(path) is not None else None

    def _real(self, path: str) -> str | None:
        """Where a path really stands; None: outside. Each folder is looked up once, and a file in it as it is."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            real = os.path.realpath(os.path.join(self.root, folder))
            self._folders[folder] = real if self._holds(real) else None
        real_folder = self._folders[folder]
        if real_folder is None:
            return None
        whole = os.path.join(real_folder, name)
        if not os.path.islink(whole):
            return whole
        target = os.path.realpath(whole)
        return target if self._holds(target) else None

    def _holds(self, real: str) -> bool:
        return real == self.root or real.startswith(self.root.rstrip(os.sep) + os.sep)

    def is_folder(self, relative: str) -> bool:
        """Whether there is such a folder inside."""
        real = self._real(relative) if self.inside(relative) is not None else None
        return real is not None and os.path.isdir(real)

    def read(self, relative: str) -> bytes:
        """A file's bytes, at most one more than `MAX_FILE`. Raises OSError where it cannot be read."""
        inside = self.inside(relative)
        real = self._real(inside) if inside is not None else None
        if real is None:
            raise OSError(None, "a link that leads out of the plugin")
        # Not followed any further; a pipe does not make it wait.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(real, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(None, "not a regular file")
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                return file.read(MAX_FILE + 1) or b""
        finally:
            os.close(descriptor)

    def name_of(self, relative: str) -> str:
        """A file's path as a person may open it; bytes of it that are not UTF-8 are shown as numbers."""
        path = f"{self.shown.rstrip('/')}/{relative}" if relative not in ("", ".") else self.shown
        return os.fsencode(path).decode("utf-8", "backslashreplace")

    def markdown(self, folder: str) -> tuple[list[str], list[str]]:
        """The Markdown files below a folder, sorted by path, and which folders were not looked into, with the reason.

        Raises OSError where there are too many.
        """
        found: list[str] = []
        odd: list[str] = []
        left = MAX_ENTRIES
        waiting = [(folder, 0)]
        while waiting:
            current, depth = waiting.pop()
            try:
                entries = self._entries(current)
            except OSError as error:
                odd.append(f"{current!r} cannot be read: {error.strerror}")
                continue
            left -= len(entries)
            if left < 0:
                raise OSError(None, f"more than {MAX_ENTRIES} entries")
            for entry in entries:
                path = entry.name if current in ("", ".") else f"{current}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if depth < MAX_DEPTH and not entry.name.startswith(".") and entry.name not in SKIPPED_WITH_VENV:
                        waiting.append((path, depth + 1))
                elif entry.name.lower().endswith(".md"):
                    found.append(path)
                elif entry.is_symlink() and entry.is_dir():
                    odd.append(f"{path!r} is a link to a folder and is not followed")
        return sorted(found), sorted(odd)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """What a folder holds, as far as it is looked at."""
        with os.scandir(os.path.join(self.root, folder)) as entries:
            return list(islice(entries, MAX_ENTRIES + 1))
