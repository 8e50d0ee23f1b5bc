"""Processes that outlive the command which started them. Where the system has no `/proc`, none is found."""

from __future__ import annotations

import os

_PROC = "/proc"
_MAX_FOUND = 8
_MAX_ENVIRONMENT = 1 << 17

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: The number of a process, its start time in the system's ticks, and its name.
    Process = tuple[int, str, str]


def last_process() -> int:
    """Return the number of the newest process, or 0 if it is not known."""
    words = _read(os.path.join(_PROC, "loadavg"), 200).split()
    return int(words[-1]) if words and words[-1].isdigit() else 0


def left_running(project: str, since: int) -> list[Process]:
    """Return processes of this user, newer than the process `since`, that work or were started in the project."""
    newest = last_process()
    if not newest or not since:
        return []
    root = os.path.realpath(project)
    found: list[Process] = []
    for name in sorted(os.listdir(_PROC)):
        # The numbers start again at the lowest free one when they reach their limit.
        if not name.isdigit() or len(found) == _MAX_FOUND or (since <= newest and int(name) <= since):
            continue
        if int(name) != os.getpid() and _belongs_to(name, root) and (about := _about(name)) is not None:
            found.append((int(name), *about))
    return found


def is_running(process: object) -> bool:
    """Return whether a recorded process still runs; its number may belong to another one by now."""
    if not isinstance(process, list | tuple) or len(process) != 3 or not isinstance(process[0], int):
        return False
    about = _about(str(process[0]))
    return about is not None and about[0] == process[1]


def _belongs_to(name: str, root: str) -> bool:
    folder = os.path.join(_PROC, name)
    try:
        if os.stat(folder).st_uid != os.geteuid():
            return False
        place = os.readlink(os.path.join(folder, "cwd"))
    except OSError:  # it has ended, or it is another user's
        return False
    if place == root or place.startswith(root + "/"):
        return True
    variables = _read(os.path.join(folder, "environ"), _MAX_ENVIRONMENT).split("\0")
    return f"PWD={root}" in variables or any(entry.startswith(f"PWD={root}/") for entry in variables)


def _about(name: str) -> tuple[str, str] | None:
    """Return the start time and the name of a process that has not ended."""
    text = _read(os.path.join(_PROC, name, "stat"), 2_000)
    program, _, rest = text.partition("(")[2].rpartition(")")
    words = rest.split()
    if len(words) < 20 or words[0] in ("Z", "X"):
        return None
    return words[19], "".join(letter if letter.isprintable() else "?" for letter in program[:40])


def _read(path: str, limit: int) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(limit))
    except OSError:
        return ""
