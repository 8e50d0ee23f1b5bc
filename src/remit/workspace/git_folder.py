"""Where git keeps its own files for a checkout, and whether they keep to themselves.

Whoever writes a `.git`, or an archive with one in it, could lead git to any repository of the host: by a pointer,
by a link, or by alternates. Nothing here waits for a pipe, reads without a bound or fails on a circle of links.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_POINTER = 4_096
_MAX_ALTERNATES = 65_536
_MAX_ENTRIES = 500_000
#: In a git folder, but not read by the commands that look at history: hooks are often links to a project's own.
_NOT_READ = frozenset({"hooks", "modules", "lfs", "annex"})


def linked_home(root: Path) -> Path | None:
    """The repository of a linked work tree or submodule at a root, if it says itself that the root is its own.

    A `.git` file alone proves nothing: whoever writes one could point it at any repository of the host.
    """
    pointer = root / ".git"
    home = None if pointer.is_symlink() else _pointed(pointer, "gitdir:")
    if home is None:
        return None
    back = _pointed(home / "gitdir", "")
    if back is not None and back == _real(pointer):
        shared = _pointed(home / "commondir", "")
        return shared if shared is not None and home.parent == shared / "worktrees" else None
    inside = next((above for above in root.parents if (above / ".git" / "modules") in home.parents), None)
    return home if inside is not None and not (inside / ".git").is_symlink() else None


def git_folders(checkout: Path) -> list[Path]:
    """The folders that git would take for its own at a checkout, wherever its `.git` leads, without links."""
    pointer = checkout / ".git"
    home = _real(pointer) if pointer.is_dir() else _pointed(pointer, "gitdir:")
    if home is None:
        return []
    shared = _pointed(home / "commondir", "")
    return [home] if shared is None else [home, shared]


def external_reference(folder: Path, check: Callable[[], None]) -> str:
    """What in a git folder makes git read elsewhere, or wait for ever, in words; empty if nothing does.

    `check` is called now and then, and may raise to end the search.
    """
    top = str(folder)
    for count, (path, entry) in enumerate(_entries(top)):
        if count % 1_000 == 0:
            check()
        if count > _MAX_ENTRIES:
            return f"holds more than {_MAX_ENTRIES:,} files"
        if entry.is_symlink():
            if not _is_inside(os.path.realpath(path), top):
                return "holds a link that leads out of it"
        elif not entry.is_dir() and not entry.is_file() and not _is_socket(entry):
            return "holds a pipe or device"
        elif entry.name in ("alternates", "http-alternates") and _lends(path, top):
            return "borrows the objects of another repository (alternates)"
    return ""


def _entries(top: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if folder == top and entry.name in _NOT_READ:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry.path, entry
        except OSError:
            continue  # what may not be read leads nowhere


def _is_socket(entry: os.DirEntry[str]) -> bool:
    """Whether it cannot be opened, and so holds nobody up: git itself keeps one for its monitor of files."""
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return True


def _lends(alternates: str, top: str) -> bool:
    """Whether a list of further places for objects, relative to the folder of objects, names one outside."""
    data = _read(alternates, _MAX_ALTERNATES)
    if data is None or len(data) > _MAX_ALTERNATES:
        return True
    objects = os.path.dirname(os.path.dirname(alternates))
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        if not line or line.startswith("#"):
            continue
        if line.startswith('"') or "\0" in line or not _is_inside(os.path.realpath(os.path.join(objects, line)), top):
            return True
    return False


def _is_inside(real: str, top: str) -> bool:
    return real == top or real.startswith(f"{top}{os.sep}")


def _pointed(pointer: Path, mark: str) -> Path | None:
    """The path that a file of git's holds, without links; None if it holds none."""
    data = _read(pointer, _MAX_POINTER)
    text = (data or b"")[:_MAX_POINTER].decode("utf-8", "surrogateescape")
    if data is None or not text.startswith(mark) or "\0" in text:
        return None
    return _real(pointer.parent / text.removeprefix(mark).strip())


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` fails on a circle of links


def _read(path: str | Path, most: int) -> bytes | None:
    """The beginning of a regular file, and one byte more if there are more; None for anything else."""
    try:
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return None
    try:
        return os.read(opened, most + 1) if stat.S_ISREG(os.fstat(opened).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(opened)


def keep_out_of_git(folder: Path) -> None:
    """Make the folder, and tell git to leave all of it alone. Raises OSError where that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        suppress(FileExistsError),
        (folder / ".gitignore").open("x", encoding="utf-8") as file,
    ):  # a link is not followed
        file.write("*\n")
