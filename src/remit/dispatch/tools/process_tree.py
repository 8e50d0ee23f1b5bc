"""Find the descendants of a process in `/proc`, and send signals to them.

Standard library only: the supervisor loads this module in an isolated interpreter.
"""

from __future__ import annotations

import contextlib
import os
import signal


def descendants(of: int) -> list[int]:
    """Return the living descendants of a process, nearest first; an empty list without `/proc`."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 (as below)
    except OSError:
        return []
    for name in names:
        if name.isdigit() and (parent := _living_parent(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [of]
    while waiting:
        below = children.pop(waiting.pop(0), [])
        found += below
        waiting += below
    return found


def _living_parent(name: str) -> int | None:
    """Return the parent of a process; None if the process has ended or is a zombie."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 (hundreds of them, and no pathlib here)
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]) if len(fields) > 1 and fields[0] not in (b"Z", b"X") else None


def marked(variable: str, value: str) -> list[int]:
    """Return the processes whose environment has a variable with this value, as far as they are visible."""
    wanted = f"{variable}={value}".encode()
    found = []
    try:
        names = os.listdir("/proc")  # noqa: PTH208 (as above)
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123 (as above)
                if name.isdigit() and wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found


def send_signal(number: signal.Signals, processes: list[int]) -> None:
    """Send a signal to processes, ignoring those that have ended."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
