"""Watch the sessions that hooks record as files, and import new reports into the ledger: in servers and in workers.

The system reports each change of a gate's folder (inotify), so nothing is polled. A system without inotify is asked
for the times of the folders every few seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Callable

from remit.aio import cancel_and_wait
from remit.clients.hooks.recorded_project import SessionProject, current_project
from remit.clients.hooks.session_import import import_sessions
from remit.errors import RemitError
from remit.store.database import CONNECTION_ERRORS, Database

log = logging.getLogger("remit.sessions")
#: The change of many files at once is one change, and reports are imported at most this often.
_PAUSE_SECONDS = 0.3
#: A folder that does not exist yet, or a system without inotify, is looked at this often.
_LOOK_SECONDS = 2.0
#: Reports that were stored this long before the last import are imported again: clocks of file systems are coarse, and
#: a report that is known is skipped.
_OVERLAP_SECONDS = 5.0
_CLOSE_WRITE, _MOVED_TO = 0x8, 0x80
_NONBLOCK = os.O_NONBLOCK | os.O_CLOEXEC if os.name == "posix" else 0


class FolderWatch:
    """Calls a function after files in some folders have changed."""

    def __init__(self, folders: list[str], on_change: Callable[[], None]) -> None:
        self._folders = folders
        self._on_change = on_change
        self._library = _inotify_library()
        self._descriptor = self._library.inotify_init1(_NONBLOCK) if self._library is not None else -1
        self._times: dict[str, int] = {}

    def start(self) -> None:
        """Receive the next change in the running event loop; after that, none until it is called again."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().add_reader(self._descriptor, self._receive)
        self.look()

    def close(self) -> None:
        """Receive no more changes."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def look(self) -> None:
        """Watch folders that are new; without inotify, find out which folders have changed."""
        for folder in self._folders:
            try:
                found = os.stat(folder)
            except OSError:
                self._times.pop(folder, None)
                continue
            mark = found.st_ino if self._descriptor >= 0 else _newest(folder)
            if self._times.get(folder) == mark:
                continue
            if self._descriptor >= 0 and self._library is not None:
                self._library.inotify_add_watch(self._descriptor, os.fsencode(folder), _CLOSE_WRITE | _MOVED_TO)
            self._times[folder] = mark
            self._on_change()

    def _receive(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)  # a hook changes several files, many times a second
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 65_536)  # which folder it is does not matter
        self._on_change()


def _newest(folder: str) -> int:
    """Return the newest time of the files in a folder: a state is appended to its file."""
    try:
        with os.scandir(folder) as entries:
            return max((entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries), default=0)
    except OSError:  # a file was removed in the meantime
        return 0


def _inotify_library() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "inotify_init1") else None


@contextlib.asynccontextmanager
async def watching_sessions(
    database: Database, folder: str, on_change: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Import the sessions of the project that contains a folder, now and after each change, until the block ends."""
    watching = asyncio.create_task(_watch(database, current_project(folder), on_change))
    try:
        yield
    finally:
        await cancel_and_wait(watching)


async def _watch(database: Database, project: SessionProject, on_change: Callable[[], None]) -> None:
    changed = asyncio.Event()
    watch = FolderWatch(project.folders, changed.set)
    watch.start()
    since = 0.0
    try:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await changed.wait()
            watch.look()
            if not changed.is_set():
                continue
            on_change()
            await asyncio.sleep(_PAUSE_SECONDS)  # the report of a subagent may be written after the state
            changed.clear()
            watch.start()
            started = time.time()
            try:
                await import_sessions(database, project.folders, project.root, since=since)
                since = started - _OVERLAP_SECONDS
            except (RemitError, OSError, *CONNECTION_ERRORS) as error:
                log.warning("the sessions could not be imported: %s", " ".join(str(error).split()))
    finally:
        watch.close()
