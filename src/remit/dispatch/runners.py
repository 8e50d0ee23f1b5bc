"""Other runners: a program is the subagent. It gets the brief and the task as JSON, and answers with a result.

Only programs that the configuration names may run: a definition can choose one, not bring one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.aio import cancel_and_wait
from remit.dispatch.events import EventWriter
from remit.dispatch.finish import RunEnd, RunStopped
from remit.dispatch.redact import redact
from remit.dispatch.settings import Settings
from remit.dispatch.tools.process_tree import descendants, send_signal
from remit.dispatch.tools.processes import close_pipes, isolated_command
from remit.evidence.receipts import Receipt
from remit.registry.model import Brief
from remit.store.jobs import Job
from remit.store.transcript import Transcript, UsageSums
from remit.workspace.safe_git import without_secrets

_PYTHON = shlex.quote(sys.executable)
#: Analysers that print SARIF, run from this environment: `remit[review]` brings them. Isolated (-I), so that a
#: checkout cannot bring a module of that name.
ANALYSERS = {
    "ruff": f"{_PYTHON} -I -m ruff check --output-format sarif --exit-zero --no-cache "
    "--extend-select B,PLE --extend-ignore S101 {isolated} {scope}",
    "bandit": f"{_PYTHON} -I -m bandit --recursive --quiet --format sarif --exit-zero --skip B101 {{scope}}",
}
#: Agents of other makers as their own commands. `{prompt}` becomes the whole task, `{scope}` the job's paths,
#: `{isolated}` the option that keeps ruff from settings outside the checkout, where that has none for these paths.
PRESETS = {
    "claude": "claude -p {prompt}",
    "codex": "codex exec {prompt}",
    "gemini": "gemini -p {prompt}",
    **ANALYSERS,
}
#: So often it is said that a program runs, and so many times before it would be taken for hung.
_ALIVE_SECONDS = 30.0
_TIMES_BEFORE_HUNG = 4
MAX_OUTPUT = 16 * 1024 * 1024
#: How long a program may take to end after SIGTERM; the supervisor needs a little longer to end the rest.
_GRACE_SECONDS = 2.0
_END_SECONDS = 5.0
_LOOK_SECONDS = 0.02


async def run_program(
    brief: Brief, job: Job, root: Path, settings: Settings, transcript: Transcript, narrator: EventWriter
) -> RunEnd:
    """Run the program of a brief; what it prints is the result, or SARIF that becomes one.

    A program that was running when its worker died is started again: it has to bear that.
    """
    name = brief.command or ""
    line = {**PRESETS, **settings.runners}.get(name)
    if line is None:
        raise RunStopped("error", f"this worker has no command {name!r} under `runners` in its configuration")
    command = _command(line, brief, job, root)
    await narrator.tell("program", {"command": name})
    known = _environment(without_keys=brief.runner == "sarif")
    alive = min(_ALIVE_SECONDS, settings.hung_seconds / _TIMES_BEFORE_HUNG)
    code, output, errors = await _run(command, _stdin(brief, job), root, transcript, known, alive)
    if settings.is_redacting:
        output, errors = [await asyncio.to_thread(redact, text) for text in (output, errors)]
    receipt = Receipt(tool="Bash", arguments={"command": name}, exit=code, failed=code != 0)
    call = f"program:{job.attempt}"
    await transcript.begin_call(call, 1, name, {"command": name})
    await transcript.finish_call(call, output[:10_000], receipt, is_failed=code != 0)
    text = output
    if brief.runner == "sarif":
        from remit.dispatch.sarif_result import sarif_result

        text = await asyncio.to_thread(sarif_result, output.encode("utf-8", "replace"), job.agent, root, brief.kind)
    elif code != 0:
        return RunEnd(
            "error", output.strip(), f"{name} ended with code {code}: {errors[-500:].strip() or output[-500:].strip()}"
        )
    await transcript.save_message(0, msgspec.json.encode({"kind": "program", "text": text}), UsageSums(turns=1), text)
    return RunEnd("completed", text.strip())


def _command(line: str, brief: Brief, job: Job, root: Path) -> list[str]:
    told = "\n\n".join(filter(None, (brief.system, brief.contract, job.prompt)))
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise RunStopped("error", f"the command line of {brief.command!r} cannot be read: {error}") from error
    if not words:
        raise RunStopped("error", f"the command line of {brief.command!r} is empty")
    if "/" in words[0] and not words[0].startswith("/"):
        # Else a checkout could bring the program itself.
        raise RunStopped("error", f"the command {brief.command!r} must name a program on the PATH or an absolute path")
    scope = [f"./{path}" if path.startswith("-") else path for path in job.request.get("scope") or ["."]]
    isolated = [] if all(_has_ruff_settings(root, path) for path in scope) else ["--isolated"]
    special = {"{prompt}": [told], "{scope}": scope, "{isolated}": isolated}
    return [one for word in words for one in special.get(word, [word])]


def _has_ruff_settings(root: Path, path: str) -> bool:
    """Whether a checkout has settings for ruff at a path or above it; else ruff takes those of folders above all."""
    folder = (root / path).resolve()
    inside = [one for one in (folder, *folder.parents) if one.is_relative_to(root.resolve())]
    return any(_configures_ruff(one) for one in inside)


def _configures_ruff(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("ruff.toml", ".ruff.toml")):
        return True
    try:
        return "ruff" in tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
    except (OSError, ValueError, AttributeError):
        return False


def _stdin(brief: Brief, job: Job) -> bytes:
    task = {"schema": "remit.task/1", "job": job.id, "agent": job.agent, "prompt": job.prompt}
    return msgspec.json.encode({**task, "brief": msgspec.to_builtins(brief)})


def _environment(*, without_keys: bool) -> dict[str, str]:
    """What a program may know of ours: an analyser no keys, another maker's agent its own."""
    if without_keys:
        return without_secrets()
    return {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}


async def _run(
    command: list[str],
    given: bytes,
    root: Path,
    transcript: Transcript,
    environment: dict[str, str],
    alive: float = _ALIVE_SECONDS,
) -> tuple[int, str, str]:
    """What a program prints. It is ended as soon as the job is cancelled or somebody else's."""
    working = asyncio.create_task(run_supervised(command, given, root, environment))
    living = asyncio.create_task(_stay_alive(transcript, alive))
    try:
        await asyncio.wait({working, living}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await living
        code, output, errors = await working
    except OSError as error:
        raise RunStopped("error", f"{command[0]} cannot be started: {error.strerror}") from error
    finally:
        await cancel_and_wait(working, living)
    return code, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


async def _stay_alive(transcript: Transcript, seconds: float) -> None:
    """A program may take its time: as long as it runs, the job does not hang. Raises Fenced where it is lost."""
    while True:
        await asyncio.sleep(seconds)
        await transcript.hold()


class ProgramOutput(NamedTuple):
    """How a program ended (128 and the signal's number if a signal ended it), and what it printed."""

    code: int
    output: bytes
    errors: bytes


def resolve_program(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The path of the program that a command names. Raises OSError; what the PATH says of relative folders is left out.

    The program runs in the checkout: found there, it would be the checkout's.
    """
    folders = [one for one in environment.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")]
    found = shutil.which(command[0], path=os.pathsep.join(folders))
    if found is not None:
        return found
    is_there = "/" in command[0] and Path(command[0]).exists()
    raise PermissionError(13, os.strerror(13)) if is_there else FileNotFoundError(2, os.strerror(2))


async def run_supervised(
    command: Sequence[str], given: bytes, folder: Path, environment: Mapping[str, str]
) -> ProgramOutput:
    """Run a program; if the waiting is cancelled, it is ended first. Raises OSError if it cannot be started."""
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
    talk = asyncio.gather(_write(process, given), _read(process.stdout, output), _read(process.stderr, errors))
    try:
        while process.returncode is None:  # noqa: ASYNC110 (`wait` waits for whoever still holds the output, too)
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        await asyncio.shield(_wind_up(process, talk))
    return ProgramOutput(process.returncode, bytes(output), bytes(errors))


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
        send_signal(signal.SIGTERM, [process.pid])
        if not await _is_over(process, _END_SECONDS):
            left = await asyncio.to_thread(descendants, process.pid)
            send_signal(signal.SIGKILL, [process.pid, *left])
            await _is_over(process, _END_SECONDS)
    await close_pipes(process, talk)


async def _is_over(process: asyncio.subprocess.Process, seconds: float) -> bool:
    ends = asyncio.get_running_loop().time() + seconds
    while process.returncode is None and asyncio.get_running_loop().time() < ends:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(_LOOK_SECONDS)
    return process.returncode is not None
