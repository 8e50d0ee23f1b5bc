"""Read the folder of a plugin: only regular files inside it, within limits, in a fixed order."""

from __future__ import annotations

import os
import re
import stat
from itertools import islice

from remit.globs import SKIPPED_WITH_VENV

MAX_FILE = 256 * 1024
MAX_DEPTH = 8
#: Entries that are read in a folder and its subfolders.
MAX_ENTRIES = 20_000
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def entry_problem(entry: str) -> str | None:
    """Return why an entry of the plugin path is not loaded; None if it may be."""
    if _URL.match(entry):
        return "a URL is not loaded: download it and set the folder"
    if entry.startswith("~"):
        return "~ is not expanded: write the absolute path"
    if "\0" in entry:
        return "it contains a null character"
    if not os.path.isabs(entry):
        return "a relative path is not loaded: write the absolute path"
    return None


class PluginRoot:
    """The folder of a plugin. Links inside it are followed, links out of it are not."""

    def __init__(self, path: str) -> None:
        #: The folder as the user wrote it.
        self.path = path.rstrip("/") or "/"
        self.root = os.path.realpath(path)
        self._folders: dict[str, str | None] = {}

    def inside(self, path: str) -> str | None:
        """Return a path relative to the plugin with `/`; None if it or a link leads out of the plugin."""
        if "\0" in path or _URL.match(path):
            return None
        path = os.path.normpath(path)
        if os.path.isabs(path) or path.split(os.sep)[0] == "..":
            return None
        return path.replace(os.sep, "/") if self._real(path) is not None else None

    def _real(self, path: str) -> str | None:
        """Resolve a path; None if it is outside. Each folder is resolved once."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            real = os.path.realpath(os.path.join(self.root, folder))
            self._folders[folder] = real if self._contains(real) else None
        real_folder = self._folders[folder]
        if real_folder is None:
            return None
        file = os.path.join(real_folder, name)
        if not os.path.islink(file):
            return file
        target = os.path.realpath(file)
        return target if self._contains(target) else None

    def _contains(self, real: str) -> bool:
        return real == self.root or real.startswith(self.root.rstrip(os.sep) + os.sep)

    def is_folder(self, relative: str) -> bool:
        """Return whether a folder exists inside the plugin."""
        real = self._real(relative) if self.inside(relative) is not None else None
        return real is not None and os.path.isdir(real)

    def read(self, relative: str) -> bytes:
        """Read a file, at most one byte more than `MAX_FILE`. Raise OSError if it cannot be read."""
        inside = self.inside(relative)
        real = self._real(inside) if inside is not None else None
        if real is None:
            raise OSError(None, "a link that leads out of the plugin")
        # Links are resolved already, and a named pipe must not block.
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
        """Return the path of a file for the user; bytes that are not UTF-8 are escaped."""
        path = f"{self.path.rstrip('/')}/{relative}" if relative not in ("", ".") else self.path
        return os.fsencode(path).decode("utf-8", "backslashreplace")

    def markdown(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the Markdown files below a folder, sorted by path, and a warning for each folder that was skipped.

        In the folder of Codex, `.codex/agents`, these are also TOML files.

        Raise OSError if there are too many entries.
        """
        files: list[str] = []
        warnings: list[str] = []
        # Elsewhere a TOML file is something else.
        endings = (".md", ".toml") if self.root.replace(os.sep, "/").endswith("/.codex/agents") else (".md",)
        left = MAX_ENTRIES
        folders = [(folder, 0)]
        while folders:
            current, depth = folders.pop()
            try:
                entries = self._entries(current)
            except OSError as error:
                warnings.append(f"{current!r} cannot be read: {error.strerror}")
                continue
            left -= len(entries)
            if left < 0:
                raise OSError(None, f"more than {MAX_ENTRIES} entries")
            for entry in entries:
                path = entry.name if current in ("", ".") else f"{current}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if depth < MAX_DEPTH and not entry.name.startswith(".") and entry.name not in SKIPPED_WITH_VENV:
                        folders.append((path, depth + 1))
                elif entry.name.lower().endswith(endings):
                    files.append(path)
                elif entry.is_symlink() and entry.is_dir():
                    warnings.append(f"{path!r} is a link to a folder and is not followed")
        return sorted(files), sorted(warnings)

    def names(self) -> list[str]:
        """Return the sorted names of its files and folders, without links and hidden or skipped folders."""
        entries = self._entries(".")
        if len(entries) > MAX_ENTRIES:
            raise OSError(None, f"more than {MAX_ENTRIES} entries")
        return sorted(
            entry.name
            for entry in entries
            if not entry.is_symlink() and not entry.name.startswith(".") and entry.name not in SKIPPED_WITH_VENV
        )

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the entries of a folder, up to the limit."""
        with os.scandir(os.path.join(self.root, folder)) as entries:
            return list(islice(entries, MAX_ENTRIES + 1))
