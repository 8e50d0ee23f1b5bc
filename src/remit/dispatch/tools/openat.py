"""Open files below a folder so that no link leads out of it, even one that is replaced meanwhile.

Each part of a path is opened separately, relative to the folder before it, without following links. A link is read,
and its target is opened in the same way from the top. So these functions resolve links, not the kernel: a target must
be below the top and outside git's own folders. Other closed folders are recognized by device and inode, not by name.
Standard library only: the search process loads this module in an isolated interpreter.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from remit.globs import SKIPPED_DIRECTORIES
from remit.workspace.atomic_write import replace_file

_MAX_LINKS = 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: Folders that no path may lead into, by device and inode.
Closed = frozenset[tuple[int, int]]
_NONE: Closed = frozenset()
_MAX_DEPTH = 200


class OutsideRoot(OSError):
    """A path leads out of the folder, or to the files of git or Remit."""


class RefusedPath(OSError):
    """A path leads to a file that the caller refuses."""


class NotRegular(OSError):
    """A path names something that is not a regular file."""


def is_closed_name(name: str) -> bool:
    """Return whether a file system may treat a name as `.git` or `.remit`.

    Some ignore case, invisible characters or trailing dots, or have short names. A hook in `.git`, or a setting of the
    embedded database in `.remit`, would run outside the sandbox.
    """
    bare = "".join(character for character in name if unicodedata.category(character) != "Cf")
    folded = unicodedata.normalize("NFKC", bare).casefold().split(":")[0].rstrip(". ")
    return folded in (".git", "git~1", ".remit", "remit~1")


@contextlib.contextmanager
def parent_of(
    top: str,
    path: str,
    *,
    create: bool = False,
    closed: Closed = _NONE,
    is_refused: Callable[[str], bool] = lambda _: False,
) -> Iterator[tuple[int, str]]:
    """Open the folder that contains a path below `top`. Return it with the last name, which is not a link.

    The name is `.` for the top itself. `create` creates missing folders. `is_refused` gets each part of the way as it
    is opened, without links, so that no link that is made in the meantime leads past it.
    """
    waiting = _parts(path)[::-1]
    done: list[str] = []
    links = 0
    folders = [os.open(top, _FOLDER & ~os.O_NOFOLLOW)]
    try:
        while waiting:
            name = waiting.pop()
            if name == "..":
                if not done:
                    raise OutsideRoot(errno.EXDEV, "leads out of the folder", path)
                done.pop()
                os.close(folders.pop())
                continue
            if is_closed_name(name):
                raise OutsideRoot(errno.EXDEV, "is git's or remit's own", path)
            target = _link(name, folders[-1])
            if target is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if target.startswith("/"):
                    target = _below(top, target)
                    while len(folders) > 1:
                        os.close(folders.pop())
                    done.clear()
                waiting.extend(_parts(target)[::-1])
                continue
            if is_refused("/".join([*done, name, *waiting[:1]])):
                raise RefusedPath(errno.EPERM, "decides what runs next", path)
            if not waiting:
                yield folders[-1], name
                return
            folders.append(_enter(name, folders[-1], create=create))
            check_open(folders[-1], closed, path)
            done.append(name)
        yield folders[-1], "."
    finally:
        for folder in folders:
            os.close(folder)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _below(top: str, target: str) -> str:
    whole, inside = os.path.normpath(target), f"{top.rstrip('/')}/"
    if whole == top:
        return ""
    if not whole.startswith(inside) or ".." in target.split("/"):
        raise OutsideRoot(errno.EXDEV, "leads out of the folder", target)
    return whole[len(inside) :]


def _link(name: str, folder: int) -> str | None:
    """Return the target of a link, or None if the name is not a link."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _enter(name: str, folder: int, *, create: bool) -> int:
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def closed_by(folders: Iterable[str]) -> Closed:
    """Return the device and inode of each existing folder."""
    closed = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            about = os.stat(folder)  # noqa: PTH116 (no pathlib here)
            closed.add((about.st_dev, about.st_ino))
    return frozenset(closed)


def is_closed(opened: int, closed: Closed) -> bool:
    """Return whether an opened folder is a closed one."""
    about = os.fstat(opened) if closed else None
    return about is not None and (about.st_dev, about.st_ino) in closed


def check_open(opened: int, closed: Closed, path: str) -> None:
    """Raise OutsideRoot if an opened folder is a closed one."""
    if is_closed(opened, closed):
        raise OutsideRoot(errno.EXDEV, "is git's or remit's own", path)


def open_file(name: str, folder: int) -> int:
    """Open a regular file in an opened folder, without waiting for the other end of a pipe or a device."""
    try:
        opened = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, a device without a driver
            raise NotRegular(errno.EINVAL, "is not a regular file", name) from error
        raise
    mode = os.fstat(opened).st_mode
    if stat.S_ISREG(mode):
        return opened
    os.close(opened)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    raise NotRegular(errno.EINVAL, "is not a regular file", name)


def read_file(top: str, path: str, limit: int, closed: Closed = _NONE) -> tuple[bytes, os.stat_result]:
    """Return the first `limit` + 1 bytes of a regular file below a folder, and its status."""
    with parent_of(top, path, closed=closed) as (folder, name):
        opened = open_file(name, folder)
    with os.fdopen(opened, "rb") as file:
        return file.read(limit + 1), os.fstat(opened)


@contextlib.contextmanager
def open_folder(top: str, path: str, closed: Closed = _NONE) -> Iterator[int]:
    """Open a folder below `top`."""
    with parent_of(top, path, closed=closed) as (folder, name):
        opened = os.open(name, _FOLDER, dir_fd=folder)
    try:
        check_open(opened, closed, path)
        yield opened
    finally:
        os.close(opened)


def store_file(folder: int, name: str, data: bytes, mode: int | None, owner: tuple[int, int] | None) -> None:
    """Replace a file in an opened folder atomically: a reader sees the old or the new content."""
    replace_file(name, data, mode=None if mode is None else mode & 0o777, folder=folder, owner=owner)


class _WalkOptions(NamedTuple):
    """The options of a walk."""

    check: Callable[[], None]
    included: frozenset[str]
    closed: Closed


def walk(
    folder: int, above: str, check: Callable[[], None], pattern: str = "", closed: Closed = frozenset()
) -> Iterator[str]:
    """Yield the paths of files and links below an opened folder, sorted, without those in closed folders.

    Generated folders such as `node_modules` are skipped unless `pattern` names them.
    """
    options = _WalkOptions(check, frozenset(pattern.split("/")), closed)
    yield from _walk(folder, f"{above}/" if above else "", options, _MAX_DEPTH)


def _walk(folder: int, above: str, options: _WalkOptions, depth: int) -> Iterator[str]:
    options.check()
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_closed_name(entry.name):
                continue
            if not entry.is_dir(follow_symlinks=False):
                files.append(entry.name)
            elif entry.name not in SKIPPED_DIRECTORIES or entry.name in options.included:
                folders.append(entry.name)
    for name in sorted([*files, *(f"{name}/" for name in folders)]):
        if not name.endswith("/"):
            yield above + name
        elif depth:
            yield from _walk_folder(folder, above, name, options, depth)


def _walk_folder(folder: int, above: str, name: str, options: _WalkOptions, depth: int) -> Iterator[str]:
    try:
        opened = os.open(name.rstrip("/"), _FOLDER, dir_fd=folder)
    except OSError:
        return  # no permission, or removed or replaced by a link meanwhile
    try:
        if not is_closed(opened, options.closed):
            yield from _walk(opened, above + name, options, depth - 1)
    finally:
        os.close(opened)
