"""Writing files so that an interruption leaves the old one or the new one, never half of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from remit.errors import EnvironmentBroken


def fresh_name(path: Path) -> Path:
    """Where a file is written before it takes the other's place; one name, so that nothing piles up."""
    return path.with_name(f".{path.name}.remit-new")


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put a file in the place of another in one step; it keeps the other's permissions."""
    fresh = fresh_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.stat().st_mode & 0o777 if path.exists() else mode
        with suppress(FileNotFoundError):
            fresh.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(fresh, flags, 0o666 if own is None else own)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if own is not None:
            fresh.chmod(own)
        fresh.replace(path)
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            fresh.unlink()


def read_bytes(path: Path, limit: int) -> bytes | None:
    """A file's bytes, at most one more than the limit; None: there is none."""
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EnvironmentBroken(f"{path} cannot be read: {error.strerror}") from error
