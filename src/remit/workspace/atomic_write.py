"""Replace files atomically, and lock files between processes.

All modules that write files which other processes read use these functions. Standard library only and without
pathlib, which takes as long to load as the whole gate: every hook process loads this module.
"""

from __future__ import annotations

import contextlib
import os
import time

from remit.errors import EnvironmentBroken

#: Temporary files have this form in the folder of their target, and no other file of ours has.
_PREFIX, _SUFFIX = ".remit-", ".tmp"
_BLOCK = 1 << 26
_RANDOM_BYTES = 8
#: Seconds between two attempts to get a lock: the first pause and the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.01


def replace_file(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    mode: int | None = None,
    sync: bool = True,
    folder: int | None = None,
    owner: tuple[int, int] | None = None,
) -> None:
    """Replace a file in one step: a reader sees the old file or the new one, and so does the disk after a crash.

    A link at `path` is replaced, not followed. `mode` is the new file's permissions (None: those of any new file),
    `folder` an opened folder that contains `path`, and `owner` a user and group that the file gets if this process may
    set them. Without `sync`, a power failure may lose the content. Raises OSError.
    """
    name = f"{_PREFIX}{os.urandom(_RANDOM_BYTES).hex()}{_SUFFIX}"
    temporary = name if folder is not None else os.path.join(os.path.dirname(path), name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        try:
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, data[written : written + _BLOCK])
            if owner is not None:
                _set_owner(descriptor, owner)
            if mode is not None:
                os.chmod(descriptor if os.chmod in os.supports_fd else temporary, mode)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _remove(temporary, folder)
        raise


def replace_below(root: str | os.PathLike[str], name: str, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file below a folder, and create the folders on the way. Raises OSError if one of them is a link.

    A checkout could lead a text that is written for a person to a place outside.
    """
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
    folder = os.open(root, flags)
    try:
        *parts, last = name.split("/")
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=folder)
            inner = os.open(part, flags | getattr(os, "O_NOFOLLOW", 0), dir_fd=folder)
            os.close(folder)
            folder = inner
        replace_file(last, data, mode=mode, folder=folder)
    finally:
        os.close(folder)


def permissions(path: str | os.PathLike[str]) -> int | None:
    """Return the permissions of a file, for its replacement; None if it does not exist."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        return None


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove temporary files that killed processes left in a folder. Call it only while no other process writes."""
    length = len(_PREFIX) + 2 * _RANDOM_BYTES + len(_SUFFIX)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX) and len(name) == length:
            _remove(os.path.join(folder, name))


def file_lock(path: str, timeout: float | None = None) -> int:
    """Create a file if needed and lock it; return its descriptor. Closing the descriptor releases the lock.

    Without a timeout, wait until the lock is free. Raises EnvironmentBroken when the timeout ends.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        descriptor = os.open(path, flags, 0o600)
        try:
            lock_descriptor(descriptor, timeout)
            if _is_same_file(descriptor, path):
                os.utime(descriptor)
                return descriptor
        except TimeoutError:
            os.close(descriptor)
            raise EnvironmentBroken(f"another process has held the lock {path} for {timeout:g} s") from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the file was removed in the meantime


def lock_descriptor(descriptor: int, timeout: float | None = None, *, is_shared: bool = False) -> None:
    """Lock an open file or folder between processes. Raises TimeoutError when the timeout ends; 0 tries once."""
    import fcntl  # late: Windows has no such module

    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    if timeout is None:
        fcntl.flock(descriptor, kind)
        return
    until = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise TimeoutError(f"not locked within {timeout:g} s") from None
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        else:
            return


def _set_owner(descriptor: int, owner: tuple[int, int]) -> None:
    if owner != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, *owner)
        except PermissionError:
            return


def _is_same_file(descriptor: int, path: str) -> bool:
    try:
        current = os.lstat(path)
    except FileNotFoundError:
        return False
    locked = os.fstat(descriptor)
    return (locked.st_dev, locked.st_ino) == (current.st_dev, current.st_ino)


def _remove(path: str, folder: int | None = None) -> None:
    try:
        os.unlink(path, dir_fd=folder)
    except OSError:
        return
