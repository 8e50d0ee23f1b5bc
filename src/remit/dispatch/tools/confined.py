"""What a path means that a model wrote, and the one way to the file behind it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from remit.dispatch.tools.model import ToolLimits, ToolRefused
from remit.dispatch.tools.openat import Closed, NotRegular, OutsideRoot, closed_by, open_folder, parent_of, read_file
from remit.store.storable import to_storable
from remit.workspace.git_folder import git_folders
from remit.workspace.paths import normalize_path
from remit.workspace.safe_git import root_above

_MAX_PATH = 4_096
_MAX_NEAR = 5_000
_RESULT = re.compile(r"plan-\d{1,18}/\d{1,18}\.md")
_SPILLED = re.compile(r"[A-Za-z0-9_-]{1,120}\.txt")


class Confined:
    """The folder of a job, and the folder that holds the long outputs of its calls."""

    def __init__(self, root: Path, spill: Path, limits: ToolLimits) -> None:
        self.root = root.resolve()
        self.top = str(self.root)
        self.spill = Path(os.path.abspath(spill))  # noqa: PTH100 (a link must stay visible: it is refused)
        self.limits = limits
        hidden = (os.path.realpath(place) for place in limits.hidden)
        #: A folder around the root, such as the one that holds the worktrees of all jobs, hides nothing in it.
        self._hidden = tuple(place for place in hidden if not is_within(self.top, place))
        self._named = os.path.abspath(root)  # noqa: PTH100 (as the caller spells it)

    def relative(self, written: str) -> str:
        """A written path relative to the root; empty for the root itself."""
        if "\0" in written or not _encodable(written):
            raise ToolRefused("The path holds characters that no file name can have; write it as plain text.")
        if len(written) > _MAX_PATH:
            raise ToolRefused(f"The path is longer than {_MAX_PATH:,} characters; write the path of one file.")
        inside = normalize_path(written, self.top)
        if inside is None:
            inside = normalize_path(written, self._named)
        if inside is None or self.is_closed(inside):
            raise self._outside(written)
        return inside

    def is_closed(self, inside: str) -> bool:
        """Whether a path leads to what the job must not see, by its words or by a link."""
        places = self._closed_places()
        if not places:
            return False
        real = os.path.realpath(os.path.join(self.top, inside))  # noqa: PTH118 (plain names)
        return any(is_within(real, place) for place in places)

    @property
    def closed(self) -> Closed:
        """The folders of the workspace that nothing may lead into."""
        return closed_by(self._closed_places())

    def _closed_places(self) -> tuple[str, ...]:
        """What is hidden, and the folder that git takes for its own: a hook planted there would run outside."""
        checkout = root_above(self.root)
        own = map(str, git_folders(checkout)) if checkout else ()
        return (*self._hidden, *(place for place in own if is_within(place, self.top) and place != self.top))

    def _outside(self, written: str) -> ToolRefused:
        return ToolRefused(
            f"{written[:200]!r} lies outside the workspace (or among git's or remit's own files) and cannot be used. "
            f"Write a path relative to the workspace, such as src/main.py, or an absolute one below {self.top}."
        )

    @contextlib.contextmanager
    def _told(self, written: str, path: str) -> Iterator[None]:
        """Turn what the disk says into a sentence for a model."""
        shown = repr((path or ".")[:200])
        try:
            yield
        except OutsideRoot as error:
            raise self._outside(written) from error
        except NotRegular as error:
            raise ToolRefused(f"{shown} is a pipe, socket or device. Only regular files can be used.") from error
        except FileNotFoundError as error:
            raise ToolRefused(f"{shown} does not exist{self._near(path)} Find the file with Glob or LS.") from error
        except IsADirectoryError as error:
            raise ToolRefused(f"{shown} is a folder. List it with LS, or name a file in it.") from error
        except NotADirectoryError as error:
            raise ToolRefused(f"A part of {shown} is a file, not a folder. Look at the folder with LS.") from error
        except PermissionError as error:
            raise ToolRefused(f"{shown} may not be opened: permission denied. Go on without it.") from error
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ToolRefused(f"{shown} was not written: the disk is full. Say so in your result.") from error
            what = error.strerror or "it cannot be opened"
            raise ToolRefused(f"{shown}: {what}. Check the path with LS, or go on without it.") from error

    def _near(self, path: str) -> str:
        """`; did you mean 'src/Main.py'?` for a name in the same folder that is nearly the last one, or a full stop."""
        import difflib  # late: only a message needs it

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
        """Whether a path names a kept output, or a kept result of another agent."""
        folder, _, name = written.strip().rpartition("/")
        if self.limits.results and _RESULT.fullmatch(written.strip().removeprefix(f"{self.limits.results}/")):
            return written.strip().startswith(f"{self.limits.results}/")
        return folder == str(self.spill) and _SPILLED.fullmatch(name) is not None

    def read(self, written: str) -> tuple[str, bytes, os.stat_result]:
        """A file's path for the receipt, its bytes and what it is."""
        if self.is_spilled(written):
            path = written.strip()
            top, _, within = path.rpartition("/")
            most, closed = 4 * self.limits.kept_bytes, Closed()
        else:
            path = within = self.relative(written)
            top, most, closed = self.top, self.limits.file_bytes, self.closed
        with self._told(written, path):
            data, about = read_file(top, within, most, closed)
        if len(data) > most:
            raise ToolRefused(
                f"{path!r} is larger than {most // 1024**2:,} MB and is not read. Search it with Grep, "
                "or look at a part of it with Bash (head, tail, sed -n) if you have it."
            )
        return path, data, about

    @contextlib.contextmanager
    def folder(self, written: str) -> Iterator[tuple[str, int]]:
        """A folder below the root: its path and its descriptor."""
        path = self.relative(written)
        with contextlib.ExitStack() as stack:
            with self._told(written, path):
                opened = stack.enter_context(open_folder(self.top, path, self.closed))
            yield path, opened

    def kind(self, written: str) -> tuple[str, bool]:
        """A path relative to the root, and whether it names a folder (else a file)."""
        path = self.relative(written)
        with self._told(written, path), parent_of(self.top, path, closed=self.closed) as (folder, name):
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return path, stat.S_ISDIR(about.st_mode)

    @contextlib.contextmanager
    def place(self, written: str, *, create: bool) -> Iterator[tuple[str, int, str, os.stat_result | None]]:
        """Where to write: the path, its opened folder, the name in it, and the regular file there now, if any."""
        path = self.relative(written)
        if not path:
            raise ToolRefused("The path is the workspace itself. Name a file in it.")
        around = parent_of(self.top, path, create=create, closed=self.closed)
        with self._told(written, path), around as (folder, name):
            try:
                about = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                about = None
            if name == "." or (about and stat.S_ISDIR(about.st_mode)):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            if about and not stat.S_ISREG(about.st_mode):
                raise NotRegular(errno.EINVAL, "is not a regular file", name)
            yield path, folder, name, about


def is_within(place: str, folder: str) -> bool:
    """Whether a place is a folder or lies in it; both without links."""
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
