"""Programs run from the event loop: limited in time and output, and always ended with what they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remit.dispatch.tools.process_tree import descendants, send_signal

#: How long a program may take to end after SIGTERM before it is killed.
GRACE = 0.5
#: What the supervisor needs beyond that to end the rest.
_SETTLE = 2.5
#: How long the pipes may take to run dry when everybody who should write has ended.
_DRY_SECONDS = 1.0
_CHUNK = 65_536
_MAX_COMPLAINT = 4_096
_START = "import sys;sys.path.insert(0,sys.argv[1]);from remit.dispatch.tools.{module} import main;main(sys.argv[2:])"


class ProcessResult(NamedTuple):
    """What a program did."""

    #: None: it was stopped because its time was up.
    status: int | None
    output: bytes
    #: How much more it printed than was kept.
    dropped: int
    complaint: str


def isolated_command(module: str, *arguments: str) -> list[str]:
    """A module of this package, started in an interpreter that sees neither site packages nor the environment."""
    source = str(Path(__file__).resolve().parents[3])
    return [sys.executable, "-I", "-S", "-c", _START.format(module=module), source, *arguments]


async def run_process(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    most: int,
    given: bytes = b"",
    merged: bool = False,
) -> ProcessResult:
    """Run a program; `merged` puts its complaints into its output, in order."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
    )
    output, complaint = _Kept(most), _Kept(_MAX_COMPLAINT)
    work = asyncio.gather(
        _feed(process.stdin, given), output.read(process.stdout), complaint.read(process.stderr), process.wait()
    )
    status: int | None = None
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(work)
        status = process.returncode
    except TimeoutError:
        pass  # it is stopped below, as it is where the call was cancelled or a reader failed
    finally:
        if process.returncode is None:
            send_signal(signal.SIGTERM, [process.pid])  # at once, even if the waiting is cancelled again
            await asyncio.shield(_stop(process))
        await close_pipes(process, work)
    return ProcessResult(status, bytes(output.data), output.dropped, complaint.data.decode("utf-8", "replace").strip())


class _Kept:
    """The beginning of what comes through a pipe; the rest is read, counted and dropped."""

    def __init__(self, most: int) -> None:
        self.data = bytearray()
        self.dropped = 0
        self._most = most

    async def read(self, pipe: asyncio.StreamReader | None) -> None:
        """Read to the end."""
        while pipe is not None and (chunk := await pipe.read(_CHUNK)):
            room = self._most - len(self.data)
            self.data += chunk[:room]
            self.dropped += max(len(chunk) - room, 0)


async def _feed(pipe: asyncio.StreamWriter | None, given: bytes) -> None:
    if pipe is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(given)
        await pipe.drain()
    pipe.close()


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Wait for a program that was asked to end; then kill it and all it started."""
    try:
        async with asyncio.timeout(GRACE + _SETTLE):
            await process.wait()
    except TimeoutError:
        left = await asyncio.to_thread(descendants, process.pid)
        send_signal(signal.SIGKILL, [process.pid, *left])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # it also waits for whoever holds the other end of a pipe
            async with asyncio.timeout(1):
                await process.wait()


async def close_pipes(process: asyncio.subprocess.Process, work: asyncio.Future[Any]) -> None:
    """Let the readers take what is left in the pipes of a program that is over; somebody may hold one open for ever."""
    done, _ = await asyncio.wait([work], timeout=_DRY_SECONDS)
    if not done:
        work.cancel()
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 (there is no public way to let go of the pipes)
        await asyncio.wait([work])
    with contextlib.suppress(asyncio.CancelledError, OSError):
        work.result()
