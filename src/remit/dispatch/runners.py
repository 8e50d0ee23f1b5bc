"""Other runners: a program is the subagent. It gets the brief and the task as JSON, and answers with a result.

Only programs that the configuration names may run: a definition can choose one, not bring one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
import tomllib
from pathlib import Path

import msgspec

from remit.dispatch.narrator import Narrator
from remit.dispatch.outcome import Ended, Stopped
from remit.dispatch.redact import redacted
from remit.dispatch.settings import Settings
from remit.evidence.receipts import Receipt
from remit.registry.model import Brief
from remit.store.jobs import Job
from remit.store.transcript import Sums, Transcript

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
MAX_OUTPUT = 16 * 1024 * 1024
_GRACE_SECONDS = 3.0
_LOOK_SECONDS = 0.02
_ALIVE_SECONDS = 30.0
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


async def run_program(
    brief: Brief, job: Job, root: Path, settings: Settings, transcript: Transcript, narrator: Narrator
) -> Ended:
    """Run the program of a brief; what it prints is the result, or SARIF that becomes one.

    A program that was running when its worker died is started again: it has to bear that.
    """
    name = brief.command or ""
    line = {**PRESETS, **settings.runners}.get(name)
    if line is None:
        raise Stopped("error", f"this worker has no command {name!r} under `runners` in its configuration")
    command = _command(line, brief, job, root)
    await narrator.tell("program", {"command": name})
    known = _environment(without_keys=brief.runner == "sarif")
    code, output, errors = await _run(command, _stdin(brief, job), root, transcript, known)
    if settings.is_redacting:
        output, errors = redacted(output), redacted(errors)
    receipt = Receipt(tool="Bash", arguments={"command": name}, exit=code, failed=code != 0)
    call = f"program:{job.attempt}"
    await transcript.begin_call(call, 1, name, {"command": name})
    await transcript.finish_call(call, output[:10_000], receipt, is_failed=code != 0)
    text = output
    if brief.runner == "sarif":
        from remit.dispatch.sarif_result import sarif_result

        text = await asyncio.to_thread(sarif_result, output.encode("utf-8", "replace"), job.agent, root, brief.kind)
    elif code != 0:
        return Ended(
            "error", output.strip(), f"{name} ended with code {code}: {errors[-500:].strip() or output[-500:].strip()}"
        )
    await transcript.save_message(0, msgspec.json.encode({"kind": "program", "text": text}), Sums(turns=1), text)
    return Ended("completed", text.strip())


def _command(line: str, brief: Brief, job: Job, root: Path) -> list[str]:
    told = "\n\n".join(filter(None, (brief.system, brief.contract, job.prompt)))
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise Stopped("error", f"the command line of {brief.command!r} cannot be read: {error}") from error
    if words and "/" in words[0] and not words[0].startswith("/"):
        # Else a checkout could bring the program itself.
        raise Stopped("error", f"the command {brief.command!r} must name a program on the PATH or an absolute path")
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
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("REMIT_") and not (without_keys and _SECRET.search(name))
    }


async def _run(
    command: list[str], given: bytes, root: Path, transcript: Transcript, environment: dict[str, str]
) -> tuple[int, str, str]:
    """A program in a group of its own, its output bounded, gone with everything it started when we are."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=root,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    except OSError as error:
        raise Stopped("error", f"{command[0]} cannot be started: {error.strerror}") from error
    living = asyncio.create_task(_stay_alive(transcript))
    try:
        _, output, errors, code = await asyncio.gather(
            _write(process, given), _read(process.stdout), _read(process.stderr), _wait(process)
        )
    finally:
        living.cancel()
        await _end(process)
    return code, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


async def _stay_alive(transcript: Transcript) -> None:
    """A program may take its time: as long as it runs, the job does not hang."""
    while True:
        await asyncio.sleep(_ALIVE_SECONDS)
        await transcript.touch()


async def _write(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is told
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    kept = bytearray()
    while stream is not None and (piece := await stream.read(65_536)):
        kept += piece[: max(0, MAX_OUTPUT - len(kept))]
    return bytes(kept)


async def _wait(process: asyncio.subprocess.Process) -> int:
    """Its exit code; what it left behind ends with it, or it would keep the output open for ever."""
    while process.returncode is None:  # noqa: ASYNC110 (`wait` waits for whoever still holds the output, too)
        await asyncio.sleep(_LOOK_SECONDS)
    _signal(process, signal.SIGKILL)
    return process.returncode


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await process.wait()
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
