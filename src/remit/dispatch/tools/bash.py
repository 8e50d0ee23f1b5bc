"""The Bash tool: run a command in the workspace, without secrets, within limits, and end all its processes."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from remit.dispatch.tools import sandbox
from remit.dispatch.tools.confined import ToolCall
from remit.dispatch.tools.deciding import FolderIdentity, deciding_entries
from remit.dispatch.tools.processes import GRACE, MARK, ProcessResult, isolated_command, run_process
from remit.dispatch.tools.tool_types import NumberArgument, ToolAnswer, ToolArguments, ToolLimits, ToolRefused
from remit.shell.syntax import parse

#: The variables of the worker's environment that a command gets; all others could be secrets.
_PASSED_VARIABLES = ("PATH", "LANG", "LANGUAGE", "TZ")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_TIMED_OUT = 124
_KILLED = 137
_ABANDONED = (
    "The process that supervises the command was killed. Its other processes were ended as far as they could be found; "
    "some may still run."
)
#: Renamed files that an answer names.
_MAX_MOVED = 20
#: A timeout up to this number can only mean seconds.
_MAX_AS_SECONDS = 600


class Bash(ToolArguments, frozen=True):
    """Arguments of Bash."""

    command: Annotated[str, Meta(min_length=1, max_length=20_000)]
    timeout: Annotated[NumberArgument, Meta(description="Milliseconds; a number up to 600 means seconds.")] | None = (
        None
    )
    description: Annotated[str, Meta(description="What the command does, in a few words.")] | None = None


async def bash(call: ToolCall, args: Bash) -> ToolAnswer:
    """Run a command and return its output and exit code."""
    check_allowed(args.command, call.patterns)
    if "\0" in args.command or not _encodable(args.command):
        raise ToolRefused(
            "The command contains characters that cannot be passed to a program. Write it as plain text.", exit=126
        )
    problem = await asyncio.to_thread(sandbox.sandbox_problem)
    present = await asyncio.to_thread(deciding_entries, call.confined.root)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="remit-bash-"))
    try:
        (scratch / "home").mkdir(mode=0o700)
        environment = {**_environment(str(scratch) if problem else sandbox.INSIDE), MARK: secrets.token_hex(16)}
        words = await asyncio.to_thread(
            _words, call, args.command, scratch, environment, None if problem else list(present)
        )
        result = await run_process(
            words,
            environment=environment,
            folder=call.confined.root,
            seconds=_seconds(args.timeout, call.limits),
            limit=call.limits.kept_bytes,
            merged=True,
        )
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True))
    answer = _answer(result, _seconds(args.timeout, call.limits))
    moved = await asyncio.to_thread(_set_aside, call.confined.root, present)
    return msgspec.structs.replace(answer, text=f"{answer.text}\n{moved}") if moved else answer


def _set_aside(root: Path, before: Mapping[str, FolderIdentity]) -> str:
    """Rename what a command has created and what would decide what runs next; return sentences for the model."""
    lines = []
    for name, folder in sorted(deciding_entries(root).items()):
        if before.get(name) == folder:
            continue
        other = f"{name}.proposed-{secrets.token_hex(4)}"
        try:
            (root / name).rename(root / other)
        except OSError as error:
            lines.append(f"[{name} decides what runs next, and could not be renamed: {error.strerror}. Remove it.]")
            continue
        lines.append(f"[{name} decides what runs next, so it was renamed to {other}. Only a person puts it in place.]")
    if len(lines) > _MAX_MOVED:
        lines[_MAX_MOVED:] = [f"[{len(lines) - _MAX_MOVED} more were renamed.]"]
    return "\n".join(lines)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _seconds(timeout: int | None, limits: ToolLimits) -> float:
    if not timeout:
        return limits.shell_seconds
    seconds = float(timeout) if timeout <= _MAX_AS_SECONDS else timeout / 1000
    return min(seconds, limits.max_shell_seconds)


def _words(
    call: ToolCall, command: str, scratch: Path, environment: dict[str, str], protected: list[str] | None
) -> list[str]:
    """Return the words of the command line: supervisor, sandbox, shell, command. Without `protected`, no sandbox."""
    limits = call.limits
    settings = {
        "parent": os.getpid(),
        "grace": GRACE,
        "environment": environment,
        "limits": {
            "RLIMIT_CORE": 0,
            "RLIMIT_CPU": limits.processor_seconds,
            # Not the address space: node and the JVM reserve far more of it than they use.
            "RLIMIT_DATA": limits.memory_bytes,
            "RLIMIT_FSIZE": limits.written_bytes,
            "RLIMIT_NPROC": limits.processes,
        },
    }
    shell = next((path for path in ("/bin/bash", "/usr/bin/bash") if Path(path).exists()), "/bin/sh")
    plain = ["--noprofile", "--norc"] if shell.endswith("bash") else []
    prefix = []
    if protected is not None:
        prefix = sandbox.sandbox_command(
            call.confined.root, scratch, network=limits.network, hidden=limits.hidden, protected=protected
        )
    return isolated_command("supervisor", msgspec.json.encode(settings).decode(), *prefix, shell, *plain, "-c", command)


def _environment(temporary: str) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if name in _PASSED_VARIABLES or name.startswith("LC_")}
    rustup = Path(os.path.expanduser("~/.rustup"))  # noqa: PTH111 (Path.home() raises if there is no home)
    if rustup.is_dir():  # otherwise its programs look for their toolchain in the call's temporary home
        passed["RUSTUP_HOME"] = str(rustup)
    return (
        {"PATH": _PATH}
        | passed
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


def _answer(result: ProcessResult, seconds: float) -> ToolAnswer:
    text = result.output.decode("utf-8", "replace").rstrip("\n")
    if result.dropped:
        text += f"\n[{result.dropped:,} more bytes were printed and dropped. Print less, or redirect to a file.]"
    if result.is_abandoned:
        return ToolAnswer(f"{_ABANDONED}\n{text}".rstrip("\n"), exit=_KILLED, failed=True)
    if result.status is None:
        reason = (
            f"The command took longer than {seconds:g} seconds and was stopped with all its processes. "
            "Set a longer timeout, or run less."
        )
        return ToolAnswer(f"{reason}\n{text}".rstrip("\n"), exit=_TIMED_OUT, failed=True)
    if result.status:
        return ToolAnswer(f"Exit code {result.status}\n{text}".rstrip("\n"), exit=result.status, failed=True)
    return ToolAnswer(text or "[The command printed nothing; exit code 0.]", exit=0)


class _Unclear(Exception):
    """The part of a command line that cannot be checked against patterns."""


def check_allowed(command: str, patterns: Sequence[str]) -> None:
    """Raise ToolRefused for a command line that the patterns do not allow. Without patterns, all are allowed."""
    if not patterns:
        return
    allowed = ", ".join(f"Bash({pattern})" for pattern in patterns)
    try:
        commands = _plain_commands(command)
    except _Unclear as error:
        raise ToolRefused(
            f"The command contains {error}, which is not allowed here. You may run only: {allowed}. "
            "Write plain commands with their values spelled out, one call each.",
            exit=126,
        ) from error
    denied = next((words for words in commands if not any(_covers(pattern, words) for pattern in patterns)), None)
    if denied is not None or not commands:
        what = repr(shlex.join(denied or [])[:200])
        raise ToolRefused(f"{what} is not allowed. You may run only: {allowed}. Use one of these.", exit=126)


def is_everything(pattern: str) -> bool:
    """Return whether a pattern allows every command."""
    return pattern.strip() in ("*", ":*")


def _covers(pattern: str, words: list[str]) -> bool:
    text = pattern.strip()
    begins = text.endswith((":*", " *"))
    try:
        wanted = shlex.split(text[:-2] if begins else text)
    except ValueError:
        return False
    return bool(wanted) and (words[: len(wanted)] == wanted if begins else words == wanted)


def _plain_commands(command: str) -> list[list[str]]:
    """Return the words of each command of a line. Raises `_Unclear` for all but plain commands."""
    if "\0" in command:
        raise _Unclear("a NUL character")
    if "\\\n" in command:
        raise _Unclear("a line that continues after a backslash")
    script = parse(command)
    if script.problem:
        raise _Unclear(f"something that cannot be checked ({script.problem})")
    if script.has_comment:
        raise _Unclear("a comment")
    for node in script.nodes:
        if node.body is not None or node.is_function or node.keywords or node.keyword:
            raise _Unclear("a group, function, loop or condition")
        if node.redirections:
            raise _Unclear("a redirection")
        if node.substitutions or any(word.plain is None for word in node.words):
            raise _Unclear("an expansion ($, backquote or process substitution)")
    return [[word.text for word in node.words] for node in script.nodes if node.words]
