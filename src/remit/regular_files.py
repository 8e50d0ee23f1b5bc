"""Read a regular file of the user or of an agent: it may be a link, a pipe, a device or of any size."""

from __future__ import annotations

import os
import stat

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BLOCK = 1 << 20


def read_regular(
    path: str | os.PathLike[str], limit: int, *, follows_links: bool = False, is_from_end: bool = False
) -> bytes | None:
    """Return at most `limit` bytes of a regular file, the first or the last ones; None if it cannot be read."""
    try:
        descriptor = os.open(path, _FLAGS if follows_links else _FLAGS | _NO_LINK)
    except (OSError, ValueError):
        return None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None
        if is_from_end:
            os.lseek(descriptor, max(0, about.st_size - limit), os.SEEK_SET)
        blocks, left = [], limit
        while left > 0 and (block := os.read(descriptor, min(left, _BLOCK))):
            blocks.append(block)
            left -= len(block)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)
