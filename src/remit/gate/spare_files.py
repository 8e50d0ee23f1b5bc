"""Files of one call, which are written before it and not needed after it.

A file system may take milliseconds to create a file while it writes its journal, but to rename one takes microseconds.
So a file that is not needed any more is kept under another name in its folder, and used for the next call.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: How many files are kept in a folder: about as many as calls run at the same time.
_KEPT = 8
_PREFIX = "spare-"
_FLAGS = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def write_file(path: str, data: bytes) -> None:
    """Write a file that only this call uses, in a spare file if there is one. Raises OSError.

    It is not atomic: who reads the file compares it with a digest.
    """
    if not os.path.lexists(path):
        for spare in _spares(path):
            try:
                if not stat.S_ISREG(os.lstat(spare).st_mode):
                    continue  # a folder here would be in the way of the file
                os.rename(spare, path)
            except OSError:  # it is missing, or another process has taken it
                continue
            if _overwrite(path, data):
                return
            break
    replace_file(path, data, mode=0o600, sync=False)


def remove_file(path: str) -> None:
    """Remove a file that `write_file` has written; perhaps it becomes a spare file."""
    with suppress(OSError):
        if os.lstat(path).st_nlink == 1:
            os.rename(path, next(_spares(path)))
            return
    with suppress(OSError):
        os.unlink(path)


def _spares(path: str) -> Iterator[str]:
    """Yield the names of spare files next to a file. Different files begin with different ones."""
    folder, name = os.path.split(path)
    first = sum(name.encode("utf-8", "surrogateescape")) % _KEPT
    for number in range(_KEPT):
        yield f"{folder}/{_PREFIX}{(first + number) % _KEPT}"


def _overwrite(path: str, data: bytes) -> bool:
    """Replace the content of a spare file. Return False if it is not one of ours, or cannot be written."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        about = os.fstat(descriptor)
        is_own = stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_uid == os.geteuid()
        if not is_own or stat.S_IMODE(about.st_mode) != 0o600 or os.write(descriptor, data) != len(data):
            return False
        if about.st_size > len(data):
            os.ftruncate(descriptor, len(data))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
