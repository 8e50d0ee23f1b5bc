"""Bash: a command in the workspace, without secrets, limited, and ended with all it started."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from remit.dispatch.tools import arguments, sandbox
from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.granting import check_granted
from remit.dispatch.tools.model import Answer, Refused, ToolLimits
from remit.dispatch.tools.processes import GRACE, Ran, isolated, run

#: All that a command gets of the worker's environment; everything else may be a secret.
_KEPT = ("PATH", "LANG", "LANGUAGE", "TZ")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_TIMED_OUT = 124
#: A wish up to this number can only mean seconds.
_AS_SECONDS = 600


async def bash(call: Call, given: arguments.Bash) -> Answer:
    """What a command prints, and how it ended."""
    check_granted(given.command, call.patterns)
    if "\0" in given.command or not _encodable(given.command):
        raise Refused("The command holds characters that cannot be passed on. Write it as plain text.", exit=126)
    why_open = await asyncio.to_thread(sandbox.obstacle)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="remit-bash-"))
    try:
        (scratch / "home").mkdir(mode=0o700)
        known = _environment(str(scratch) if why_open else sandbox.INSIDE)
        words = await asyncio.to_thread(_words, call, given.command, scratch, known, sandboxed=not why_open)
        ran = await run(
            words,
            environment=known,
            folder=call.ground.root,
            seconds=_seconds(given.timeout, call.limits),
            most=call.limits.kept_bytes,
            merged=True,
        )
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True))
    return _told(ran, _seconds(given.timeout, call.limits))


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _seconds(timeout: int | None, limits: ToolLimits) -> float:
    if not timeout:
        return limits.shell_seconds
    wish = float(timeout) if timeout <= _AS_SECONDS else timeout / 1000
    return min(wish, limits.max_shell_seconds)


def _words(call: Call, command: str, scratch: Path, known: dict[str, str], *, sandboxed: bool) -> list[str]:
    """Supervisor, sandbox, shell, command."""
    limits = call.limits
    settings = {
        "parent": os.getpid(),
        "grace": GRACE,
        "environment": known,
        "limits": {
            "RLIMIT_CORE": 0,
            "RLIMIT_CPU": limits.processor_seconds,
            # Not the address space: node and the JVM reserve far more of it than they ever use.
            "RLIMIT_DATA": limits.memory_bytes,
            "RLIMIT_FSIZE": limits.written_bytes,
            "RLIMIT_NPROC": limits.processes,
        },
    }
    shell = next((found for found in ("/bin/bash", "/usr/bin/bash") if Path(found).exists()), "/bin/sh")
    plain = ["--noprofile", "--norc"] if shell.endswith("bash") else []
    around = (
        sandbox.enclosed(call.ground.root, scratch, network=limits.network, hidden=limits.hidden) if sandboxed else []
    )
    return isolated("supervisor", msgspec.json.encode(settings).decode(), *around, shell, *plain, "-c", command)


def _environment(temporary: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}
    rustup = Path(os.path.expanduser("~/.rustup"))  # noqa: PTH111 (Path.home() raises where there is none)
    if rustup.is_dir():  # else its programs look for their toolchain in the call's own home
        kept["RUSTUP_HOME"] = str(rustup)
    return (
        {"PATH": _PATH}
        | kept
        | {
            "HOME": f"{temporary}/home",
            "TMPDIR": temporary,
            "TERM": "dumb",
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "NO_COLOR": "1",
        }
    )


def _told(ran: Ran, seconds: float) -> Answer:
    text = ran.output.decode("utf-8", "replace").rstrip("\n")
    if ran.dropped:
        text += f"\n[{ran.dropped:,} more bytes were printed and dropped. Print less, or into a file.]"
    if ran.status is None:
        why = (
            f"The command took longer than {seconds:g} seconds and was stopped with all it had started. "
            "Set a longer timeout, or run less."
        )
        return Answer(f"{why}\n{text}".rstrip("\n"), exit=_TIMED_OUT, failed=True)
    if ran.status:
        return Answer(f"Exit code {ran.status}\n{text}".rstrip("\n"), exit=ran.status, failed=True)
    return Answer(text or "[The command printed nothing; exit code 0.]", exit=0)
