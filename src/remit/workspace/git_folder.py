"""Find git's own files of a checkout, and check that they do not refer to files elsewhere.

A `.git` that came with an archive could make git read any repository of the host: through a pointer file, a link or
alternates. Functions here never wait for a pipe, read without a limit or fail on a cycle of links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from remit.regular_files import read_regular
from remit.workspace.atomic_write import replace_below

_MAX_POINTER = 4_096
_MAX_ALTERNATES = 65_536
_MAX_ENTRIES = 500_000
#: Not read by commands that look at history. Hooks are often links to files of the project.
_NOT_READ = frozenset({"hooks", "modules", "lfs", "annex"})


def linked_home(root: Path) -> Path | None:
    """Return the repository of a linked work tree or submodule, if the repository itself names this root.

    A `.git` file alone proves nothing: it could point to any repository of the host.
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
    """Return the folders that git would use for a checkout, wherever its `.git` leads, with links resolved."""
    pointer = checkout / ".git"
    home = _real(pointer) if pointer.is_dir() else _pointed(pointer, "gitdir:")
    if home is None:
        return []
    shared = _pointed(home / "commondir", "")
    return [home] if shared is None else [home, shared]


def external_reference(folder: Path, check: Callable[[], None]) -> str:
    """Describe what in a git folder would make git read elsewhere or wait forever; return "" if nothing does.

    `check` is called regularly and may raise to end the search.
    """
    top = str(folder)
    for count, (path, entry) in enumerate(_entries(top)):
        if count % 1_000 == 0:
            check()
        if count > _MAX_ENTRIES:
            return f"contains more than {_MAX_ENTRIES:,} files"
        if entry.is_symlink():
            if not _is_inside(os.path.realpath(path), top):
                return "contains a link that leads out of it"
        elif not entry.is_dir() and not entry.is_file() and not _is_socket(entry):
            return "contains a pipe or device"
        elif entry.name in ("alternates", "http-alternates") and _has_outside_alternate(path, top):
            return "uses the objects of another repository (alternates)"
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
            continue  # git cannot read it either


def _is_socket(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a socket. It cannot be opened, so it blocks nothing; git's file monitor uses one."""
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return True


def _has_outside_alternate(alternates: str, top: str) -> bool:
    """Whether a list of alternates, which are relative to the folder of objects, names one outside."""
    data = read_regular(alternates, _MAX_ALTERNATES + 1, follows_links=True)
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
    """Return the path that a pointer file contains, with links resolved; None if it contains no path."""
    data = read_regular(pointer, _MAX_POINTER + 1, follows_links=True)
    text = (data or b"")[:_MAX_POINTER].decode("utf-8", "surrogateescape")
    if data is None or not text.startswith(mark) or "\0" in text:
        return None
    return _real(pointer.parent / text.removeprefix(mark).strip())


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` fails on a cycle of links


def keep_out_of_git(folder: Path) -> None:
    """Create a folder with a `.gitignore` that excludes all of it. Raises OSError, also if the folder is a link."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(folder / ".gitignore") or folder.is_symlink():
        replace_below(folder.parent, f"{folder.name}/.gitignore", b"*\n")
