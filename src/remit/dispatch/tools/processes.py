"""Run programs from the event loop, with limits on time and output, and end them with all their processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remit.dispatch.tools.supervisor import descendants, marked, send_signal

#: Seconds that a program may take to end after SIGTERM before it is killed.
GRACE = 0.5
#: Additional seconds for the supervisor to end the program's descendants.
_SUPERVISOR_SECONDS = 2.5
#: Seconds to read the rest from the pipes of a program that has ended.
_DRAIN_SECONDS = 1.0
_CHUNK = 65_536
#: A variable of the environment of a call's processes, with a different value for each call.
MARK = "REMIT_CALL"
_KILL_ROUNDS = 20
_WATCH_SECONDS = 0.1
_PAUSE = 0.02
_MAX_ERRORS = 4_096
_START = "import sys;sys.path.insert(0,sys.argv[1]);from remit.dispatch.tools.{module} import main;main(sys.argv[2:])"


class ProcessResult(NamedTuple):
    """The result of a program."""

    #: The exit code; None if the program was stopped because its time was up.
    status: int | None
    output: bytes
    #: Bytes of output beyond the limit.
    dropped: int
    #: The beginning of its standard error.
    errors: str
    #: The supervisor was killed, so processes of the program may still run.
    is_abandoned: bool = False


def isolated_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package without site packages and environment variables."""
    source = str(Path(__file__).resolve().parents[3])
    return [sys.executable, "-I", "-S", "-c", _START.format(module=module), source, *arguments]


async def run_process(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    limit: int,
    stdin: bytes = b"",
    merged: bool = False,
) -> ProcessResult:
    """Run a program and return at most `limit` bytes of its output; `merged` includes its standard error."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
    )
    output, errors = _LimitedReader(limit), _LimitedReader(_MAX_ERRORS)
    work = asyncio.gather(
        _feed(process.stdin, stdin), output.read(process.stdout), errors.read(process.stderr), process.wait()
    )
    status: int | None = None
    watching = asyncio.create_task(_end_abandoned(process, environment.get(MARK, "")))
    is_abandoned = False
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(work)
        status = process.returncode
    except TimeoutError:
        pass  # stopped below, like after a cancellation or a failed reader
    finally:
        watching.cancel()
        is_abandoned = process.returncode is not None and process.returncode < 0
        if process.returncode is None:
            send_signal(signal.SIGTERM, [process.pid])  # before any await, which could be cancelled again
            await asyncio.shield(_stop(process))
        await close_pipes(process, work)
    text = errors.data.decode("utf-8", "replace").strip()
    return ProcessResult(status, bytes(output.data), output.dropped, text, is_abandoned=is_abandoned)


async def _end_abandoned(process: asyncio.subprocess.Process, mark: str) -> None:
    """Wait until a supervisor is killed, and kill what is left of its program, which may keep the pipes open."""
    while process.returncode is None:  # noqa: ASYNC110 (`wait` also waits for a descendant that keeps a pipe open)
        await asyncio.sleep(_WATCH_SECONDS)
    if process.returncode < 0:
        await asyncio.to_thread(_kill_marked, mark)


def _kill_marked(mark: str) -> None:
    """Kill what is left of a program whose supervisor was killed. A process without the mark is not found."""
    for _ in range(_KILL_ROUNDS):
        left = marked(MARK, mark) if mark else []
        if not left:
            return
        send_signal(signal.SIGKILL, left)
        time.sleep(_PAUSE)


class _LimitedReader:
    """Keeps the first bytes of a pipe; the rest is read, counted and dropped."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.dropped = 0
        self._limit = limit

    async def read(self, pipe: asyncio.StreamReader | None) -> None:
        """Read to the end."""
        while pipe is not None and (chunk := await pipe.read(_CHUNK)):
            left = self._limit - len(self.data)
            self.data += chunk[:left]
            self.dropped += max(len(chunk) - left, 0)


async def _feed(pipe: asyncio.StreamWriter | None, data: bytes) -> None:
    if pipe is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(data)
        await pipe.drain()
    pipe.close()


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a program after SIGTERM; then kill it and all its processes."""
    try:
        async with asyncio.timeout(GRACE + _SUPERVISOR_SECONDS):
            await process.wait()
    except TimeoutError:
        left = await asyncio.to_thread(descendants, process.pid)
        send_signal(signal.SIGKILL, [process.pid, *left])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # `wait` also waits for a descendant that keeps a pipe open
            async with asyncio.timeout(1):
                await process.wait()


async def close_pipes(process: asyncio.subprocess.Process, work: asyncio.Future[Any]) -> None:
    """Read the rest from the pipes of a program that has ended, and close them: a descendant may keep one open."""
    done, _ = await asyncio.wait([work], timeout=_DRAIN_SECONDS)
    if not done:
        work.cancel()
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 (there is no public way to close the pipes)
        await asyncio.wait([work])
    with contextlib.suppress(asyncio.CancelledError, OSError):
        work.result()
