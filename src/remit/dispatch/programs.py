"""A program run to its end under a supervisor: whatever it started ends with it, with its job and with the worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.dispatch.tools.family import descendants, send
from remit.dispatch.tools.processes import isolated, let_go

MAX_OUTPUT = 16 * 1024 * 1024
#: How long a program may take to end after SIGTERM; the supervisor needs a little longer to end the rest.
_GRACE_SECONDS = 2.0
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.02


class Printed(NamedTuple):
    """How a program ended (128 and the signal's number if a signal ended it), and what it printed."""

    code: int
    output: bytes
    errors: bytes


def program_of(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The path of the program that a command names. Raises OSError; what the PATH says of relative folders is left out.

    The program runs in the checkout: found there, it would be the checkout's.
    """
    folders = [one for one in environment.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")]
    found = shutil.which(command[0], path=os.pathsep.join(folders))
    if found is not None:
        return found
    is_there = "/" in command[0] and Path(command[0]).exists()
    raise PermissionError(13, os.strerror(13)) if is_there else FileNotFoundError(2, os.strerror(2))


async def run_supervised(command: Sequence[str], given: bytes, folder: Path, environment: Mapping[str, str]) -> Printed:
    """Run a program; if the waiting is cancelled, it is ended first. Raises OSError if it cannot be started."""
    program = await asyncio.to_thread(program_of, command, environment)
    settings = msgspec.json.encode({"parent": os.getpid(), "grace": _GRACE_SECONDS, "limits": {}}).decode()
    process = await asyncio.create_subprocess_exec(
        *isolated("supervisor", settings, program, *command[1:]),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=dict(environment),
    )
    output, errors = bytearray(), bytearray()
    talk = asyncio.gather(_write(process, given), _read(process.stdout, output), _read(process.stderr, errors))
    try:
        while process.returncode is None:  # noqa: ASYNC110 (`wait` waits for whoever still holds the output, too)
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        await asyncio.shield(_wind_up(process, talk))
    return Printed(process.returncode, bytes(output), bytes(errors))


async def _write(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is told
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None, kept: bytearray) -> None:
    while stream is not None and (piece := await stream.read(65_536)):
        kept += piece[: max(0, MAX_OUTPUT - len(kept))]


async def _wind_up(process: asyncio.subprocess.Process, talk: asyncio.Future[tuple[None, None, None]]) -> None:
    """End the program if it runs, and let go of its pipes: somebody may hold one open for ever."""
    if process.returncode is None:
        send(signal.SIGTERM, [process.pid])
        if not await _is_over(process, _END_SECONDS):
            left = await asyncio.to_thread(descendants, process.pid)
            send(signal.SIGKILL, [process.pid, *left])
            await _is_over(process, _END_SECONDS)
    await let_go(process, talk)


async def _is_over(process: asyncio.subprocess.Process, seconds: float) -> bool:
    ends = asyncio.get_running_loop().time() + seconds
    while process.returncode is None and asyncio.get_running_loop().time() < ends:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(_LOOK_SECONDS)
    return process.returncode is not None
