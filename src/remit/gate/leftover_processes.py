"""Processes that outlive the command which started them. Where the system has no `/proc`, none is found.

They are recognised by their start times and their parents. The numbers of processes wrap around, so a higher number is
not a later process.
"""

from __future__ import annotations

import os
import time

from remit.gate.session_entries import Process
from remit.regular_files import read_regular

_PROC = "/proc"
_MAX_FOUND = 8
_MAX_ENVIRONMENT = 1 << 17
_MAX_PARENTS = 50
#: Variables that a shell sets by itself.
_SET_BY_SHELLS = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})
#: Names of processes that adopt others, besides the first process.
_ADOPTERS = ("systemd", "init", "tini", "dumb-init", "docker-init")


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container


def process_time() -> int:
    """Return the time now as start times of processes are stated, in ticks since the system started; 0 without it."""
    try:
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    except (AttributeError, OSError, ValueError):
        return 0


def left_running(project: str, since: int) -> list[Process]:
    """Return processes, started at or after the time `since`, that a command in the project left behind.

    They work or were started in the project, or their own parents have ended, as those of a daemon.
    """
    if not since or not os.path.isdir(_PROC):
        return []
    root, group = os.path.realpath(project), _read(os.path.join(_PROC, "self", "cgroup"), 2_000)
    running = {name: about for name in os.listdir(_PROC) if name.isdigit() and (about := _about(name)) is not None}
    fresh = {name: about for name, about in running.items() if int(about[0]) >= since and int(name) != os.getpid()}
    left: list[Process] = []
    for name, about in sorted(fresh.items(), key=lambda process: (int(process[1][0]), int(process[0]))):
        if len(left) < _MAX_FOUND and (_belongs_to(name, root) or _is_daemon(name, fresh, group, root)):
            left.append(Process(number=int(name), started=about[0], name=about[1]))
    return left


def _is_daemon(name: str, fresh: Container[str], group: str, root: str) -> bool:
    """Return whether a process has no parent that was there before, but the control group of this session.

    A service that the system starts has another control group, and what a person starts has a parent. What another
    command left behind has the folder in which that was started in its environment.
    """
    if _start_folder(name) not in ("", "/", os.path.expanduser("~")):
        return False
    above, parent = name, _parent(name)
    for _ in range(_MAX_PARENTS):
        if parent not in fresh:
            break
        above, parent = parent, _parent(parent)
    if not group or not parent or parent in fresh or _read(os.path.join(_PROC, name, "cgroup"), 2_000) != group:
        return False
    # In a container, the first process may be a program that starts others itself.
    return _is_adopter(parent) or (parent == "1" and (_hides(above) or _names(name, root) or _has_others(above)))


def _hides(name: str) -> bool:
    """Return whether a process was started without any environment."""
    folder = os.path.join(_PROC, name)
    return not _read(os.path.join(folder, "environ"), 1) and bool(_read(os.path.join(folder, "cmdline"), 1))


def _has_others(name: str) -> bool:
    """Return whether a process has variables, but at most half of those that the first process gives to others.

    The first process may start some with more or fewer variables. If its variables cannot be read, those of the process
    count that it has started above this one.
    """
    inherited = (_variables("1") or _variables(_below_first(str(os.getpid())))).keys() - _SET_BY_SHELLS
    variables = _variables(name).keys()
    return bool(variables) and bool(inherited) and 2 * len(variables & inherited) <= len(inherited)


def _below_first(name: str) -> str:
    for _ in range(_MAX_PARENTS):
        parent = _parent(name)
        if parent in ("1", "0", ""):
            break
        name = parent
    return name


def _names(name: str, root: str) -> bool:
    """Return whether the command line of a process names the project."""
    return root in _read(os.path.join(_PROC, name, "cmdline"), _MAX_ENVIRONMENT)


def _is_adopter(name: str) -> bool:
    """Return whether a process adopts those whose parents have ended: the manager of a user's session."""
    about = _about(name)
    return about is not None and about[1] in _ADOPTERS


def _parent(name: str) -> str:
    rest = _read(os.path.join(_PROC, name, "stat"), 2_000).rpartition(")")[2].split()
    return rest[1] if len(rest) > 1 else ""


def is_running(process: Process) -> bool:
    """Return whether a recorded process still runs; its number may belong to another one by now."""
    about = _about(str(process.number))
    return about is not None and about[0] == process.started


def _belongs_to(name: str, root: str) -> bool:
    folder = os.path.join(_PROC, name)
    try:
        if os.stat(folder).st_uid != os.geteuid():
            return False
        place = os.readlink(os.path.join(folder, "cwd"))
    except OSError:  # it has ended, or it is another user's
        return False
    return any(path == root or path.startswith(root + "/") for path in (place, _start_folder(name)))


def _start_folder(name: str) -> str:
    """Return the folder in which a process was started; "" if its environment does not state it."""
    variables = "\0" + _environment(name)
    return variables.partition("\0PWD=")[2].partition("\0")[0]


def _variables(name: str) -> dict[str, str]:
    parts = _environment(name).split("\0")
    return {key: value for key, sign, value in (part.partition("=") for part in parts) if sign}


def _environment(name: str) -> str:
    return _read(os.path.join(_PROC, name, "environ"), _MAX_ENVIRONMENT)


def _about(name: str) -> tuple[str, str] | None:
    """Return the start time and the name of a process that has not ended."""
    text = _read(os.path.join(_PROC, name, "stat"), 2_000)
    program, _, rest = text.partition("(")[2].rpartition(")")
    words = rest.split()
    if len(words) < 20 or words[0] in ("Z", "X") or not words[19].isdigit():
        return None
    return words[19], "".join(letter if letter.isprintable() else "?" for letter in program[:40])


def _read(path: str, limit: int) -> str:
    return os.fsdecode(read_regular(path, limit) or b"")
