"""Resolve the paths that a model writes, and open files only inside the workspace."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import errno
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from remit.dispatch.tools.deciding import decides_what_runs
from remit.dispatch.tools.openat import (
    Closed,
    NotRegular,
    OutsideRoot,
    RefusedPath,
    closed_by,
    open_folder,
    parent_of,
    read_file,
)
from remit.dispatch.tools.tool_types import ToolLimits, ToolRefused
from remit.store.storable import to_storable
from remit.workspace.git_folder import git_folders
from remit.workspace.paths import normalize_path
from remit.workspace.safe_git import root_above

_MAX_PATH = 4_096
_MAX_NEAR = 5_000
_RESULT_FILE = re.compile(r"\d{1,18}\.md")
_SPILL_FILE = re.compile(r"[A-Za-z0-9_-]{1,120}\.txt")


class Confined:
    """The folder of a job, and the folder with the long outputs of its calls."""

    def __init__(self, root: Path, spill: Path, limits: ToolLimits) -> None:
        self.root = root.resolve()
        self.top = str(self.root)
        self.spill = Path(os.path.abspath(spill))  # noqa: PTH100 (a link must stay visible: it is refused)
        self.limits = limits
        hidden = (os.path.realpath(path) for path in limits.hidden)
        #: A hidden folder that contains the root, such as the one with all worktrees, does not hide the root.
        self._hidden = tuple(path for path in hidden if not is_within(self.top, path))
        self._named = os.path.abspath(root)  # noqa: PTH100 (as the caller spells it)

    def relative(self, written: str) -> str:
        """Return a written path relative to the root; empty for the root itself. Raises ToolRefused."""
        if "\0" in written or not _encodable(written):
            raise ToolRefused("The path contains characters that a file name cannot have. Write it as plain text.")
        if len(written) > _MAX_PATH:
            raise ToolRefused(f"The path is longer than {_MAX_PATH:,} characters. Write the path of one file.")
        inside = normalize_path(written, self.top)
        if inside is None:
            inside = normalize_path(written, self._named)
        if inside is None or self.is_closed(inside):
            raise self._outside(written)
        return inside

    def is_closed(self, inside: str) -> bool:
        """Return whether a path leads into a closed folder, directly or through a link."""
        folders = self._closed_folders()
        if not folders:
            return False
        real = os.path.realpath(os.path.join(self.top, inside))  # noqa: PTH118 (plain names)
        return any(is_within(real, folder) for folder in folders)

    @property
    def closed(self) -> Closed:
        """Return the folders of the workspace that no path may lead into."""
        return closed_by(self._closed_folders())

    def _closed_folders(self) -> tuple[str, ...]:
        """Return the hidden folders and the folders of git: a hook written there would run outside the sandbox."""
        checkout = root_above(self.root)
        of_git = map(str, git_folders(checkout)) if checkout else ()
        return (*self._hidden, *(folder for folder in of_git if is_within(folder, self.top) and folder != self.top))

    def _outside(self, written: str) -> ToolRefused:
        return ToolRefused(
            f"{written[:200]!r} is outside the workspace (or belongs to git or Remit) and cannot be used. "
            f"Write a path relative to the workspace, such as src/main.py, or an absolute path below {self.top}."
        )

    @contextlib.contextmanager
    def _refusing(self, written: str, path: str) -> Iterator[None]:
        """Convert errors of the file system into refusals for a model."""
        shown = repr((path or ".")[:200])
        try:
            yield
        except OutsideRoot as error:
            raise self._outside(written) from error
        except RefusedPath as error:
            raise ToolRefused(
                f"{shown} decides what runs next (settings of Remit or of a client, hooks, definitions), so only a "
                "person changes it. Continue without it, and propose the change in your result."
            ) from error
        except NotRegular as error:
            raise ToolRefused(f"{shown} is a pipe, socket or device. Only regular files can be used.") from error
        except FileNotFoundError as error:
            raise ToolRefused(f"{shown} does not exist{self._near(path)} Find the file with Glob or LS.") from error
        except IsADirectoryError as error:
            raise ToolRefused(f"{shown} is a folder. List it with LS, or name a file in it.") from error
        except NotADirectoryError as error:
            raise ToolRefused(f"A part of {shown} is a file, not a folder. Look at the folder with LS.") from error
        except PermissionError as error:
            raise ToolRefused(f"{shown} cannot be opened: permission denied. Continue without it.") from error
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ToolRefused(f"{shown} was not written: the disk is full. Report that in your result.") from error
            reason = error.strerror or "it cannot be opened"
            raise ToolRefused(f"{shown}: {reason}. Check the path with LS, or continue without it.") from error

    def _near(self, path: str) -> str:
        """Return `; did you mean 'src/Main.py'?` for a similar name in the same folder, or a full stop."""
        above, _, last = path.rpartition("/")
        try:
            with open_folder(self.top, above, self.closed) as folder:
                listed = os.listdir(folder)[:_MAX_NEAR]  # noqa: PTH208 (a descriptor, not a path)
        except OSError:
            return "."
        names = {name.lower(): name for name in listed}
        near = difflib.get_close_matches(last.lower(), names, n=1)
        return f"; did you mean {to_storable(f'{above}/{names[near[0]]}'.lstrip('/'))!r}?" if near else "."

    def is_spilled(self, written: str) -> bool:
        """Return whether a path names a stored output, or the stored result of another agent."""
        folder, _, name = written.strip().rpartition("/")
        if folder in self.limits.results:
            return _RESULT_FILE.fullmatch(name) is not None
        return folder == str(self.spill) and _SPILL_FILE.fullmatch(name) is not None

    def read(self, written: str) -> tuple[str, bytes, os.stat_result]:
        """Return a file's path for the receipt, its content and its status."""
        if self.is_spilled(written):
            path = written.strip()
            top, _, within = path.rpartition("/")
            limit, closed = 4 * self.limits.kept_bytes, Closed()
        else:
            path = within = self.relative(written)
            top, limit, closed = self.top, self.limits.file_bytes, self.closed
        with self._refusing(written, path):
            data, about = read_file(top, within, limit, closed)
        if len(data) > limit:
            raise ToolRefused(
                f"{path!r} is larger than {limit // 1024**2:,} MB and is not read. Search it with Grep, "
                "or read a part of it with Bash (head, tail, sed -n) if you have it."
            )
        return path, data, about

    @contextlib.contextmanager
    def folder(self, written: str) -> Iterator[tuple[str, int]]:
        """Open a folder below the root and return its path and descriptor."""
        path = self.relative(written)
        with contextlib.ExitStack() as stack:
            with self._refusing(written, path):
                opened = stack.enter_context(open_folder(self.top, path, self.closed))
            yield path, opened

    def kind(self, written: str) -> tuple[str, bool]:
        """Return a path relative to the root, and whether it names a folder."""
        path = self.relative(written)
        with self._refusing(written, path), parent_of(self.top, path, closed=self.closed) as (folder, name):
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return path, stat.S_ISDIR(about.st_mode)

    @contextlib.contextmanager
    def target(self, written: str, *, create: bool) -> Iterator[tuple[str, int, str, os.stat_result | None]]:
        """Open the folder to write to. Return the path, the folder, the name in it, and its current file if any."""
        path = self.relative(written)
        if not path:
            raise ToolRefused("The path is the workspace itself. Name a file in it.")
        parent = parent_of(self.top, path, create=create, closed=self.closed, is_refused=decides_what_runs)
        with self._refusing(written, path), parent as (folder, name):
            try:
                about = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                about = None
            if about is None and not name.isprintable():
                raise ToolRefused(f"{name[:200]!r} has characters that cannot be seen. Use another name.")
            if name == "." or (about and stat.S_ISDIR(about.st_mode)):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            if about and not stat.S_ISREG(about.st_mode):
                raise NotRegular(errno.EINVAL, "is not a regular file", name)
            yield path, folder, name, about


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or is inside it; both without links."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_T = TypeVar("_T")
#: How long a cancelled call waits for its thread, so that a write that has started can finish.
_CANCEL_SECONDS = 2.0


class ToolCall:
    """The context of one call of a tool."""

    def __init__(self, confined: Confined, limits: ToolLimits, patterns: tuple[str, ...] = ()) -> None:
        self.confined = confined
        self.limits = limits
        #: The command patterns that were granted; empty if every command is allowed.
        self.patterns = patterns
        self._deadline = time.monotonic() + limits.seconds
        self._stopped = threading.Event()

    @property
    def seconds_left(self) -> float:
        """Return how long the call may still take."""
        return max(self._deadline - time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise ToolRefused if the time of the call is up or the call was cancelled. Long work calls this often."""
        if self._stopped.is_set() or not self.seconds_left:
            raise self.too_long()

    def too_long(self) -> ToolRefused:
        """Return the refusal of a call that took too long."""
        return ToolRefused(f"The call took longer than {self.limits.seconds:g} seconds and was stopped. Ask for less.")

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Run blocking work in a thread, within the time of the call."""
        running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            async with asyncio.timeout(self.seconds_left + 0.1):
                return await asyncio.shield(running)
        except TimeoutError:
            self._stopped.set()
            running.add_done_callback(_ignore_outcome)
            raise self.too_long() from None
        except asyncio.CancelledError:
            self._stopped.set()
            running.add_done_callback(_ignore_outcome)
            await asyncio.wait([running], timeout=_CANCEL_SECONDS)
            raise


def _ignore_outcome(done: asyncio.Future[_T]) -> None:
    """Retrieve the outcome of abandoned work, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()
