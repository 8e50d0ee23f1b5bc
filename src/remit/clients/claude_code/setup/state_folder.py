"""Can the gate keep its state in a project? Looked at without leaving anything there."""

from __future__ import annotations

import os
import tempfile
from itertools import islice
from pathlib import Path

from remit.clients.claude_code.setup.place import Place

#: More files than a gate ever keeps side by side.
_MOST_FILES = 10_000


def state_problem(place: Place) -> str:
    """What hinders the gate, with the file or folder that does; empty: nothing."""
    folder = place.gate
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
        return f"{folder} must be a folder of its own, and is a link or a file"
    there = next(one for one in (folder, *folder.parents) if one.exists())
    try:
        if there == folder and folder.stat().st_uid != os.geteuid():
            return f"{folder} belongs to somebody else"
        with tempfile.TemporaryFile(dir=there):
            pass
        return _barred(folder) if there == folder else ""
    except OSError as error:
        return f"{there} cannot be written: {error.strerror}"


def _barred(folder: Path) -> str:
    """The first thing in the folder that this user may not read and write, as one of another user's may be."""
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_FILES):
            needed = os.R_OK | os.W_OK | (os.X_OK if entry.is_dir() else 0)
            if not os.access(entry.path, needed):
                return f"{entry.path} cannot be read and written"
    return ""
