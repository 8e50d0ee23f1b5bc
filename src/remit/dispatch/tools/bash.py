"""Bash: a command in the workspace, without secrets, limited, and ended with all it started."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from remit.dispatch.tools import arguments, sandbox
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.model import ToolAnswer, ToolLimits, ToolRefused
from remit.dispatch.tools.processes import GRACE, ProcessResult, isolated_command, run_process

#: All that a command gets of the worker's environment; everything else may be a secret.
_KEPT = ("PATH", "LANG", "LANGUAGE", "TZ")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_TIMED_OUT = 124
#: A wish up to this number can only mean seconds.
_AS_SECONDS = 600
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|\n]")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\([$`"\\])')
_EXPANSION = re.compile(r"`|\$[\w({\[@*#?!$'\"-]")
#: Not in a program's name or in what a pattern compares, but harmless in what comes after.
_REFUSED = {
    "<": "a redirection",
    ">": "a redirection",
    "(": "a group or substitution",
    ")": "a group or substitution",
    "`": "a substitution",
    "\0": "a NUL",
}


async def bash(call: ToolCall, given: arguments.Bash) -> ToolAnswer:
    """What a command prints, and how it ended."""
    check_allowed(given.command, call.patterns)
    if "\0" in given.command or not _encodable(given.command):
        raise ToolRefused("The command holds characters that cannot be passed on. Write it as plain text.", exit=126)
    why_open = await asyncio.to_thread(sandbox.sandbox_problem)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="remit-bash-"))
    try:
        (scratch / "home").mkdir(mode=0o700)
        known = _environment(str(scratch) if why_open else sandbox.INSIDE)
        words = await asyncio.to_thread(_words, call, given.command, scratch, known, sandboxed=not why_open)
        ran = await run_process(
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


def _words(call: ToolCall, command: str, scratch: Path, known: dict[str, str], *, sandboxed: bool) -> list[str]:
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
        sandbox.sandbox_command(call.ground.root, scratch, network=limits.network, hidden=limits.hidden)
        if sandboxed
        else []
    )
    return isolated_command("supervisor", msgspec.json.encode(settings).decode(), *around, shell, *plain, "-c", command)


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


def _told(ran: ProcessResult, seconds: float) -> ToolAnswer:
    text = ran.output.decode("utf-8", "replace").rstrip("\n")
    if ran.dropped:
        text += f"\n[{ran.dropped:,} more bytes were printed and dropped. Print less, or into a file.]"
    if ran.status is None:
        why = (
            f"The command took longer than {seconds:g} seconds and was stopped with all it had started. "
            "Set a longer timeout, or run less."
        )
        return ToolAnswer(f"{why}\n{text}".rstrip("\n"), exit=_TIMED_OUT, failed=True)
    if ran.status:
        return ToolAnswer(f"Exit code {ran.status}\n{text}".rstrip("\n"), exit=ran.status, failed=True)
    return ToolAnswer(text or "[The command printed nothing; exit code 0.]", exit=0)


class _Unclear(Exception):
    """What a command line holds that cannot be judged beforehand."""


def check_allowed(command: str, patterns: Sequence[str]) -> None:
    """Refuse a command line that the patterns do not allow; no patterns allow every one."""
    if not patterns:
        return
    allowed = ", ".join(f"Bash({pattern})" for pattern in patterns)
    try:
        commands = simple_commands(command)
    except _Unclear as error:
        raise ToolRefused(
            f"The command holds {error}, which is not allowed here. You may run only: {allowed}. "
            "Write plain commands with their values spelled out, one call each.",
            exit=126,
        ) from error
    denied = next((words for words in commands if not any(_covers(pattern, words) for pattern in patterns)), None)
    if denied is not None or not commands:
        what = repr(shlex.join(denied or [])[:200])
        raise ToolRefused(f"{what} is not allowed. You may run only: {allowed}. Use one of these.", exit=126)


def is_everything(pattern: str) -> bool:
    """Whether a pattern allows every command."""
    return pattern.strip() in ("*", ":*")


def _covers(pattern: str, words: list[str]) -> bool:
    text = pattern.strip()
    begins = text.endswith((":*", " *"))
    try:
        wanted = shlex.split(text[:-2] if begins else text)
    except ValueError:
        return False
    return bool(wanted) and (words[: len(wanted)] == wanted if begins else words == wanted)


def simple_commands(command: str) -> list[list[str]]:
    """The words of each command of a line, without their quotes. Raises for what cannot be judged."""
    found: list[list[str]] = [[]]
    word: str | None = None
    at = 0
    while at < len(command):
        operator = _OPERATOR.match(command, at)
        character = command[at]
        if operator or character in " \t":
            if word is not None:
                found[-1].append(word)
            word = None
            if operator:
                found.append([])
            at = operator.end() if operator else at + 1
            continue
        piece, at = _piece(command, at, starts=word is None)
        word = (word or "") + piece
    if word is not None:
        found[-1].append(word)
    return [words for words in found if words]


def _piece(command: str, at: int, *, starts: bool) -> tuple[str, int]:
    """A piece of a word from a place on, without quotes, and where it ends."""
    character = command[at]
    if character in _REFUSED:
        raise _Unclear(_REFUSED[character])
    if character == "#" and starts:
        raise _Unclear("a comment")
    if _EXPANSION.match(command, at):
        raise _Unclear("an expansion ($ or backquote)")
    if character == "'":
        return _quoted(_SINGLE, command, at)
    if character == '"':
        text, end = _quoted(_DOUBLE, command, at)
        if _EXPANSION.search(re.sub(r"\\.", "", text, flags=re.DOTALL)):
            raise _Unclear("an expansion ($ or backquote)")
        return _ESCAPED.sub(r"\1", text), end
    if character == "\\":
        if at + 1 >= len(command) or command[at + 1] == "\n":
            raise _Unclear("a line that goes on after a backslash")
        return command[at + 1], at + 2
    return character, at + 1


def _quoted(form: re.Pattern[str], command: str, at: int) -> tuple[str, int]:
    found = form.match(command, at)
    if found is None:
        raise _Unclear("a quote that does not end")
    return found[1], found.end()
