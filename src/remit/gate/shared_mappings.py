"""Files that processes can write through memory: their sizes and times need not change, so their content is compared.

The first write to a page of a shared mapping changes the times of a file, later ones do not until the system writes the
page to disk. While a process that a call left behind runs, the files that any process of this user has mapped in this
way are compared by their digests.
"""

from __future__ import annotations

import os

from remit.gate.record_store import digest_of
from remit.regular_files import read_regular

_MAX_FILES = 200
_MAX_FILE = 16_000_000
_MAX_MAPS = 1_000_000


def mapped_files(project: str, earlier: list[str]) -> dict[str, str]:
    """Return the digests of the files of a project that a process can write through memory, and of `earlier` ones."""
    root = os.path.realpath(project)
    paths = dict.fromkeys(earlier)
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            paths.update(dict.fromkeys(_written_by(name, root)))
    return {path: _digest(os.path.join(root, path)) for path in list(paths)[:_MAX_FILES]}


def _written_by(process: str, root: str) -> list[str]:
    """Return the files below a folder that a process has mapped for writing, shared with the file."""
    try:
        with open(f"/proc/{process}/maps", "rb") as file:
            data = file.read(_MAX_MAPS)
    except OSError:  # it has ended, or it is another user's
        return []
    start = os.fsencode(root) + b"/"
    if start not in data:
        return []
    rows = (row.split(None, 5) for row in data.splitlines() if start in row)
    mapped = (row[5] for row in rows if len(row) == 6 and row[1][1:2] == b"w" and row[1][3:4] == b"s")
    return [os.fsdecode(path[len(start) :]) for path in mapped if path.startswith(start)]


def _digest(path: str) -> str:
    data = read_regular(path, _MAX_FILE)
    return digest_of(data) if data is not None else ""
