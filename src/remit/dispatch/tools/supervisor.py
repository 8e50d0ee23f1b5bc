"""The process between a worker and a command: sets the limits, and lets nothing of the command outlive the call.

It adopts whatever the command leaves behind, daemons with a session of their own included (Linux: as a "child
subreaper"), ends all of it when the command ends or a SIGTERM comes, and does so too if the worker dies.
It is started in an isolated interpreter with one thread, so the limits can be set between fork and exec.

    supervisor SETTINGS PROGRAM ARGUMENT…      SETTINGS: {"parent", "grace", "limits": {"RLIMIT_…": number},
                                               "environment": all that the program gets; else this one's}
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time

from remit.dispatch.tools.process_tree import descendants, send_signal

_SUBREAPER, _PARENT_DEATH = 36, 1
_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Python ignores these; a program must have them as usual: `yes | head` ends by one.
_USUAL = (signal.SIGPIPE, signal.SIGXFSZ)
#: Against a command that starts processes faster than they are ended.
_GIVE_UP = 2.0
_PAUSE = 0.02


def main(words: list[str]) -> None:
    """Run a command and exit with its status: 128 and the signal's number if a signal ended it."""
    settings = json.loads(words[0])
    _control(_SUBREAPER, 1)
    _control(_PARENT_DEATH, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    if os.getppid() != settings["parent"]:
        os._exit(143)  # the worker died before it could be watched
    command = os.fork()
    if command == 0:
        _become(words[1:], settings["limits"], settings.get("environment"))
    status = _outcome(command)
    if status is None:
        send_signal(signal.SIGTERM, descendants(os.getpid()))
        _wait_for_all(float(settings["grace"]))
    _end_all()
    os._exit(143 if status is None else status)


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _become(program: list[str], limits: dict[str, int], environment: dict[str, str] | None) -> None:
    """In the child: its own session, the limits, the usual signals; then the program."""
    try:
        os.setsid()
        _control(_PARENT_DEATH, signal.SIGKILL)
        for number in _USUAL:
            signal.signal(number, signal.SIG_DFL)
        for name, most in limits.items():
            _limit(getattr(resource, name), most)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.execvpe(program[0], program, os.environ if environment is None else environment)  # noqa: S606 (this is what it is for)
    except OSError as error:
        os.write(2, f"{program[0]} cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _limit(which: int, most: int) -> None:
    """Set a limit, never above the one that is in force."""
    _, hard = resource.getrlimit(which)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (lowest, lowest))


def _outcome(command: int) -> int | None:
    """The exit status of the command, or None if it is to be stopped first."""
    while True:
        status = _reap(command)
        if status is not None:
            return status
        got = signal.sigwaitinfo(_WATCHED)
        if got.si_signo != signal.SIGCHLD:
            return None


def _reap(command: int = 0) -> int | None:
    """Take note of every child that has ended; the status of the command if it is among them."""
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
    ends = time.monotonic() + seconds
    while descendants(os.getpid()):
        if time.monotonic() >= ends:
            return False
        signal.sigtimedwait([signal.SIGCHLD], _PAUSE)
        _reap()
    return True


def _end_all() -> None:
    ends = time.monotonic() + _GIVE_UP
    while (left := descendants(os.getpid())) and time.monotonic() < ends:
        send_signal(signal.SIGKILL, left)
        _wait_for_all(_PAUSE)
