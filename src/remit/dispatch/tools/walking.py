"""Every file below a folder, in order, without following links."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from remit.dispatch.tools.beneath import Closed, is_closed, is_closed_name

#: What tools put into a checkout: passed over unless the caller names it.
GENERATED = frozenset(
    {"node_modules", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".venv", ".tox"}
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAX_DEPTH = 200


class _Way(NamedTuple):
    """What holds for a whole walk."""

    check: Callable[[], None]
    named: frozenset[str]
    closed: Closed


def walk(
    folder: int, above: str, check: Callable[[], None], named: str = "", closed: Closed = frozenset()
) -> Iterator[str]:
    """Paths of files and links below an opened folder, without those in closed folders.

    `named` is a text in which generated folders may be named.
    """
    way = _Way(check, frozenset(named.split("/")), closed)
    yield from _walk(folder, f"{above}/" if above else "", way, _MAX_DEPTH)


def _walk(folder: int, above: str, way: _Way, depth: int) -> Iterator[str]:
    way.check()
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_closed_name(entry.name):
                continue
            if not entry.is_dir(follow_symlinks=False):
                files.append(entry.name)
            elif entry.name not in GENERATED or entry.name in way.named:
                folders.append(entry.name)
    for name in sorted([*files, *(f"{name}/" for name in folders)]):
        if not name.endswith("/"):
            yield above + name
        elif depth:
            yield from _inside(folder, above, name, way, depth)


def _inside(folder: int, above: str, name: str, way: _Way, depth: int) -> Iterator[str]:
    try:
        opened = os.open(name.rstrip("/"), _FOLDER, dir_fd=folder)
    except OSError:
        return  # forbidden, gone, or swapped for a link meanwhile
    try:
        if not is_closed(opened, way.closed):
            yield from _walk(opened, above + name, way, depth - 1)
    finally:
        os.close(opened)
