"""Which command lines a job may run, by the patterns it was granted.

A pattern is a command (`npm test`: exactly that) or the beginning of one (`git log:*`, `git log *`: these words
and any after them). A line of several commands is allowed if each of them is. The text is taken apart by the
rules of the shell; whatever these rules leave to the moment of running (expansions, substitutions,
redirections, groups, comments) is refused, because nobody can tell beforehand what would run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from remit.dispatch.tools.model import Refused

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


class _Unclear(Exception):
    """What a command line holds that cannot be judged beforehand."""


def check_granted(command: str, patterns: Sequence[str]) -> None:
    """Refuse a command line that the patterns do not allow; no patterns allow every one."""
    if not patterns:
        return
    allowed = ", ".join(f"Bash({pattern})" for pattern in patterns)
    try:
        commands = simple_commands(command)
    except _Unclear as error:
        raise Refused(
            f"The command holds {error}, which is not allowed here. You may run only: {allowed}. "
            "Write plain commands with their values spelled out, one call each.",
            exit=126,
        ) from error
    denied = next((words for words in commands if not any(_covers(pattern, words) for pattern in patterns)), None)
    if denied is not None or not commands:
        what = repr(shlex.join(denied or [])[:200])
        raise Refused(f"{what} is not allowed. You may run only: {allowed}. Use one of these.", exit=126)


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
