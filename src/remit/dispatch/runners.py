"""Other runners: a program is the subagent. It gets the brief and the task as JSON, and answers with a result.

Only programs that the configuration names may run: a definition can choose one, not bring one.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tomllib
from pathlib import Path

import msgspec

from remit.dispatch.narrator import Narrator
from remit.dispatch.outcome import Ended, Stopped
from remit.dispatch.programs import run_supervised
from remit.dispatch.redact import redacted
from remit.dispatch.settings import Settings
from remit.evidence.receipts import Receipt
from remit.registry.model import Brief
from remit.store.ending import ended
from remit.store.jobs import Job
from remit.store.transcript import Sums, Transcript
from remit.workspace.variables import without_secrets

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
    alive = min(_ALIVE_SECONDS, settings.hung_seconds / _TIMES_BEFORE_HUNG)
    code, output, errors = await _run(command, _stdin(brief, job), root, transcript, known, alive)
    if settings.is_redacting:
        output, errors = [await asyncio.to_thread(redacted, text) for text in (output, errors)]
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
    if not words:
        raise Stopped("error", f"the command line of {brief.command!r} is empty")
    if "/" in words[0] and not words[0].startswith("/"):
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
        raise Stopped("error", f"{command[0]} cannot be started: {error.strerror}") from error
    finally:
        await ended(working, living)
    return code, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


async def _stay_alive(transcript: Transcript, seconds: float) -> None:
    """A program may take its time: as long as it runs, the job does not hang. Raises Fenced where it is lost."""
    while True:
        await asyncio.sleep(seconds)
        await transcript.hold()
