"""The files on disk over a long time: what is kept in memory is dropped when the disk changes."""

from __future__ import annotations

import os
import time

from remit.workspace.files import Absent, SourceFile, Why, WorkTree

#: The next comparison with the disk waits for this many times the duration of the last one.
_PAUSES = 10
#: What identifies the content of a file or folder: change time, size and number on the disk.
_Stamp = tuple[int, int, int]


class LiveTree(WorkTree):
    """A work tree that stays open. `refresh` forgets what changed on disk since it was read."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__(root)
        self._file_stamps: dict[str, _Stamp | None] = {}
        self._folder_stamps: dict[str, _Stamp | None] = {}
        self._next_comparison = 0.0

    def _load(self, path: str) -> SourceFile | Absent:
        self._file_stamps[path] = self._stamp(path)
        return super()._load(path)

    def _listed(self, folder: str) -> dict[str, str] | Why:
        self._folder_stamps[folder] = self._stamp(folder)
        return super()._listed(folder)

    def refresh(self, *, lists_files: bool = False) -> bool:
        """Forget what changed on disk, and return whether something did.

        `lists_files`: the files of the project are listed again, which takes longer.
        """
        started = time.monotonic()
        if started < self._next_comparison and not lists_files:
            return False
        folders = [folder for folder, stamp in self._folder_stamps.items() if stamp != self._stamp(folder)]
        if folders:
            self._folders.clear()
            self._real_folders.clear()
            self._folder_stamps.clear()
        changed = [
            path
            for path, found in self._cache.items()
            if (folders and isinstance(found, Absent)) or self._file_stamps.get(path) != self._stamp(path)
        ]
        for path in changed:
            self._drop(path)
            self._file_stamps.pop(path, None)
        if lists_files:
            for name in ("paths", "index"):
                self.__dict__.pop(name, None)
        finished = time.monotonic()
        self._next_comparison = finished + _PAUSES * (finished - started)
        return bool(changed or folders or lists_files)

    def _stamp(self, path: str) -> _Stamp | None:
        """Return the stamp of a file or folder; None if nothing is there. Nothing is opened."""
        try:
            about = os.stat(os.path.join(self.folder, path))
        except (OSError, ValueError):
            return None
        return about.st_mtime_ns, about.st_size, about.st_ino
