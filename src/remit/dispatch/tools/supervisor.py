"""The process between a worker and a command: sets the command's limits and ends all its processes with it.

It adopts the orphaned processes of the command, including daemons in another session (on Linux, as a "child
subreaper"). It ends all of them when the command ends, on SIGTERM, and when the worker dies.
It runs in an isolated interpreter with one thread, so that limits can be set between fork and exec.

    supervisor SETTINGS PROGRAM ARGUMENT…      SETTINGS: {"parent", "grace", "limits": {"RLIMIT_…": number},
                                               "environment": the program's; default: the supervisor's}
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time

_SUBREAPER, _PARENT_DEATH = 36, 1
_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Python ignores these signals, but a program needs their default action: `yes | head` depends on it.
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
#: How long to kill a command that starts processes faster than they are killed.
_KILL_SECONDS = 2.0
_PAUSE = 0.02


def main(words: list[str]) -> None:
    """Run a command and exit with its status: 128 plus the signal number if a signal ended it."""
    settings = json.loads(words[0])
    _control(_SUBREAPER, 1)
    _control(_PARENT_DEATH, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    if os.getppid() != settings["parent"]:
        os._exit(143)  # the worker died before its death signal was requested
    command = os.fork()
    if command == 0:
        _exec(words[1:], settings["limits"], settings.get("environment"))
    status = _outcome(command)
    if status is None:
        send_signal(signal.SIGTERM, descendants(os.getpid()))
        _wait_for_all(float(settings["grace"]))
    _kill_all()
    os._exit(143 if status is None else status)


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _exec(program: list[str], limits: dict[str, int], environment: dict[str, str] | None) -> None:
    """In the child: start a session, set the limits, restore signals, and execute the program."""
    try:
        os.setsid()
        _control(_PARENT_DEATH, signal.SIGKILL)
        for number in _RESTORED:
            signal.signal(number, signal.SIG_DFL)
        for name, limit in limits.items():
            _set_limit(getattr(resource, name), limit)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.execvpe(program[0], program, os.environ if environment is None else environment)  # noqa: S606 (the purpose of this module)
    except OSError as error:
        os.write(2, f"{program[0]} cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _set_limit(which: int, limit: int) -> None:
    """Set a limit, but never above the current hard limit."""
    _, hard = resource.getrlimit(which)
    lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(which, (lowest, lowest))


def _outcome(command: int) -> int | None:
    """Wait for the command and return its exit status; None if it must be stopped first."""
    while True:
        status = _reap(command)
        if status is not None:
            return status
        got = signal.sigwaitinfo(_WATCHED)
        if got.si_signo != signal.SIGCHLD:
            return None


def _reap(command: int = 0) -> int | None:
    """Reap all ended children, and return the status of the command if it is one of them."""
    status = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == command:
                code = os.waitstatus_to_exitcode(ended[1])
                status = code if code >= 0 else 128 - code
    except ChildProcessError:
        pass
    return status


def _wait_for_all(seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while descendants(os.getpid()):
        if time.monotonic() >= deadline:
            return False
        signal.sigtimedwait([signal.SIGCHLD], _PAUSE)
        _reap()
    return True


def _kill_all() -> None:
    deadline = time.monotonic() + _KILL_SECONDS
    while (left := descendants(os.getpid())) and time.monotonic() < deadline:
        send_signal(signal.SIGKILL, left)
        _wait_for_all(_PAUSE)


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
    living: list[int] = []
    waiting = [of]
    while waiting:
        below = children.pop(waiting.pop(0), [])
        living += below
        waiting += below
    return living


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
    processes = []
    try:
        names = os.listdir("/proc")  # noqa: PTH208 (as above)
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123 (as above)
                if name.isdigit() and wanted in file.read().split(b"\0"):
                    processes.append(int(name))
        except OSError:
            continue
    return processes


def send_signal(number: signal.Signals, processes: list[int]) -> None:
    """Send a signal to processes, ignoring those that have ended."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
