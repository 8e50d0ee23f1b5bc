"""Run a program as a subagent: it reads the brief and the task as JSON and prints a result.

Only programs that the configuration lists can run for a definition: it chooses one of them and cannot add one. A person
who names a program in a job or a plan may also choose a preset.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.aio import run_with_keepalive
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.finish import RunEnd, RunStopped
from remit.dispatch.tools.processes import close_pipes, isolated_command
from remit.dispatch.tools.supervisor import descendants, send_signal
from remit.dispatch.worker_settings import Settings
from remit.errors import shorten_error
from remit.evidence.receipts import Receipt
from remit.registry.definition import Brief
from remit.secrets.scan import redact
from remit.store.jobs import Job
from remit.store.transcript import Transcript, UsageSums

#: Agents of other vendors and their commands. `{prompt}` is replaced by the whole task, `{scope}` by the job's paths.
#: The task follows `--`: it is never read as an option.
PRESETS = {
    "claude": "claude -p -- {prompt}",
    "codex": "codex exec -- {prompt}",
    "gemini": "gemini -- {prompt}",
}
#: As a command line in the configuration: lists a preset with its own command line.
_PRESET = "preset"
MAX_OUTPUT = 16 * 1024 * 1024
#: How long a program may take to end after SIGTERM; the supervisor takes a little longer to end its descendants.
_GRACE_SECONDS = 2.0
_END_SECONDS = 5.0
_POLL_SECONDS = 0.02


def listed_programs(settings: Settings, *, chosen_by_person: bool) -> dict[str, str]:
    """Return the command lines by name that may run: the listed ones, and for a person also the presets."""
    listed = {
        name: PRESETS.get(name, line) if line.strip() == _PRESET else line for name, line in settings.runners.items()
    }
    return {**PRESETS, **listed} if chosen_by_person else listed


class ProgramOutput(NamedTuple):
    """The output of a program and its exit code (128 plus the signal number if a signal ended it)."""

    code: int
    output: bytes
    errors: bytes


async def run_program(
    brief: Brief, job: Job, root: Path, settings: Settings, transcript: Transcript, events: EventWriter
) -> RunEnd:
    """Run the program of a brief. Its output is the result.

    A program that was running when its worker died is started again, so it must tolerate that.
    """
    name = brief.command or ""
    line = listed_programs(settings, chosen_by_person=bool(job.request.get("command"))).get(name)
    if line is None:
        raise RunStopped("error", f"this worker has no command {name!r} under `commands` in its configuration")
    await events.emit("program", {"command": name})
    command = _command(line, brief, job, root)
    running = run_supervised(command, _stdin(brief, job), root, _environment())
    # As long as the program runs, the job does not hang; it is stopped when this attempt loses the job.
    try:
        ended = await run_with_keepalive(running, transcript.touch, settings.keepalive_seconds)
    except OSError as error:
        raise RunStopped("error", f"{command[0]} cannot be started: {error.strerror}") from error
    code, output, errors = ended.code, _decoded(ended.output), _decoded(ended.errors)
    if settings.is_redacting:
        output, errors = [await asyncio.to_thread(redact, text) for text in (output, errors)]
    receipt = Receipt(tool="Bash", arguments={"command": name}, exit=code, failed=code != 0)
    call = f"program:{job.attempt}"
    await transcript.begin_call(call, 1, name, {"command": name})
    shown = f"{errors}\n{output}" if code else output
    await transcript.finish_call(call, shown[:10_000], receipt, is_failed=code != 0)
    if code != 0:
        cause = shorten_error(errors.strip() or output.strip(), 500)
        return RunEnd("error", output.strip(), f"{name} ended with code {code}: {cause}")
    message = msgspec.json.encode({"kind": "program", "text": output})
    await transcript.save_message(0, message, UsageSums(turns=1), output)
    return RunEnd("completed", output.strip())


def _command(line: str, brief: Brief, job: Job, root: Path) -> list[str]:
    prompt = "\n\n".join(filter(None, (brief.system, brief.contract, job.prompt)))
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise RunStopped("error", f"the command line of {brief.command!r} cannot be parsed: {error}") from error
    if not words:
        raise RunStopped("error", f"the command line of {brief.command!r} is empty")
    if "/" in words[0] and not words[0].startswith("/"):
        # A relative path would run a program of the checkout.
        raise RunStopped("error", f"the command {brief.command!r} must name a program on the PATH or an absolute path")
    scope = [f"./{path}" if path.startswith("-") else path for path in job.request.get("scope") or ["."]]
    # A command line without `--` must not take a task that begins with a dash for an option.
    special = {"{prompt}": [f" {prompt}" if prompt.startswith("-") else prompt], "{scope}": scope}
    return [replacement for word in words for replacement in special.get(word, [word])]


def _stdin(brief: Brief, job: Job) -> bytes:
    task = {"schema": "remit.task/1", "job": job.id, "agent": job.agent, "prompt": job.prompt}
    return msgspec.json.encode({**task, "brief": msgspec.to_builtins(brief)})


def _environment() -> dict[str, str]:
    """Return the environment of a program: with the keys of the user, without the settings of Remit."""
    return {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def resolve_program(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the path of the program that a command names. Raises OSError.

    Relative folders of the PATH are ignored: the program runs in the checkout and must not be a file of it.
    """
    folders = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    path = shutil.which(command[0], path=os.pathsep.join(folders))
    if path is not None:
        return path
    exists = "/" in command[0] and Path(command[0]).exists()
    raise PermissionError(13, os.strerror(13)) if exists else FileNotFoundError(2, os.strerror(2))


async def run_supervised(
    command: Sequence[str],
    stdin: bytes,
    folder: Path,
    environment: Mapping[str, str],
) -> ProgramOutput:
    """Run a program under the supervisor. If this is cancelled, the program is ended first. Raises OSError."""
    program = await asyncio.to_thread(resolve_program, command, environment)
    settings = msgspec.json.encode({"parent": os.getpid(), "grace": _GRACE_SECONDS, "limits": {}}).decode()
    process = await asyncio.create_subprocess_exec(
        *isolated_command("supervisor", settings, program, *command[1:]),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=dict(environment),
    )
    output, errors = bytearray(), bytearray()
    pipes = asyncio.gather(_write(process, stdin), _read(process.stdout, output), _read(process.stderr, errors))
    try:
        while process.returncode is None:  # noqa: ASYNC110 (`wait` also waits for a descendant that keeps a pipe open)
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        await asyncio.shield(_end(process, pipes))
    return ProgramOutput(process.returncode, bytes(output), bytes(errors))


async def _write(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the program may ignore its input
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None, output: bytearray) -> None:
    while stream is not None and (piece := await stream.read(65_536)):
        output += piece[: max(0, MAX_OUTPUT - len(output))]


async def _end(process: asyncio.subprocess.Process, pipes: asyncio.Future[tuple[None, None, None]]) -> None:
    """End the program if it is running, and close its pipes, which a descendant could keep open for ever."""
    if process.returncode is None:
        send_signal(signal.SIGTERM, [process.pid])
        if not await _has_ended(process, _END_SECONDS):
            left = await asyncio.to_thread(descendants, process.pid)
            send_signal(signal.SIGKILL, [process.pid, *left])
            await _has_ended(process, _END_SECONDS)
    await close_pipes(process, pipes)


async def _has_ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None
