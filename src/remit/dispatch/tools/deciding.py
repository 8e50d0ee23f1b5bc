"""Files and folders that decide what runs next: settings of Remit and of clients, hooks, definitions.

A job must not write them, wherever in the workspace they are: a client that is started in a folder below obeys those
of that folder.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from remit.deciding_files import FILES, FOLDED_FILES, FOLDERS, PARTS

#: What a job must not write, by its name: also the rest of `.claude`, which a client reads as memory, rules and styles.
CLOSED_NAMES = frozenset({*FILES, *FOLDERS, ".claude"})
_FOLDED_NAMES = frozenset(name.lower() for name in CLOSED_NAMES)
#: The same by the names of a folder and of an entry in it. The folders of git are closed as a whole.
CLOSED_PAIRS = frozenset(
    (above, name) for above, _, name in (part.partition("/") for part in PARTS) if above not in (".claude", ".git")
)
#: Entries of a workspace that are looked at. Those of the upper folders come first.
_MAX_ENTRIES = 200_000
#: Folders in which no client is started: git's own files, and installed packages.
_NOT_SEARCHED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", "site-packages", ".tox", ".remit"})


#: A folder, under any name: device and inode.
FolderIdentity = tuple[int, int]


def decides_what_runs(path: str) -> bool:
    """Return whether a file decides what runs next: settings, hooks, MCP servers, definitions, dismissals."""
    parts = [_folded(part) for part in path.split("/")]
    if any(part in _FOLDED_NAMES for part in parts[:-1]) or parts[-1] in FOLDED_FILES:
        return True
    return any(pair in CLOSED_PAIRS for pair in pairwise(parts))


def _folded(name: str) -> str:
    """Return a name as a file system may compare it: some ignore case, invisible characters or dots at the end."""
    bare = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", bare).casefold().rstrip(". ")


def _is_closed_entry(name: str, above: str) -> bool:
    folded = _folded(name)
    return folded in _FOLDED_NAMES or (_folded(above), folded) in CLOSED_PAIRS


def deciding_entries(root: Path) -> dict[str, FolderIdentity]:
    """Return the entries of a workspace that decide what runs next, by their paths relative to it.

    Each comes with the folder that contains it. In the sandbox an entry is read-only and cannot be replaced, but a
    folder above it can be.
    """
    return dict(_search(root))


def _search(root: Path) -> Iterator[tuple[str, FolderIdentity]]:
    """Yield the files and folders with the names that are looked for, those of the upper folders first."""
    folders, seen = [""], 0
    for folder in folders:  # grows
        try:
            about, above = (root / folder).lstat(), folder.rpartition("/")[2]
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    seen += 1
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if _is_closed_entry(entry.name, above):
                        yield path, (about.st_dev, about.st_ino)
                    elif entry.name not in _NOT_SEARCHED and entry.is_dir(follow_symlinks=False):
                        folders.append(path)
        except OSError:  # removed in the meantime, or not readable
            continue
        if seen > _MAX_ENTRIES:
            return
