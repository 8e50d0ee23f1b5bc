"""A script of sed, as far as it writes, reads or runs something beside the lines that it is given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.shell import Command

_LONGEST = 5_000
#: Commands whose word goes on to the end of the line.
_TO_LINE_END = "aicbtT:rRwW"


def read_script(command: Command, script: str) -> None:
    """Add what a script does to files."""
    from remit.gate.expansion import Arg

    if len(script) > _LONGEST:
        command.effects.give_up("a script of sed is too long")
        return
    at = 0
    while at < len(script):
        at = _after_address(script, at)
        letter = script[at : at + 1]
        at += 1
        files = ""
        if letter in ("s", "y"):
            end = _after_parts(script, at)
            if end < 0:
                command.effects.give_up("a script of sed cannot be read")
                return
            flags = script[end : _line_end(script, end)]
            words = flags.partition("w")[0].partition(";")[0].partition("}")[0]
            if letter == "s" and "e" in words:
                letter = "e"
            at = end + len(words)
            if letter == "s" and flags[len(words) :].startswith("w"):
                letter, at = "w", at + 1
        if letter == "e":
            command.effects.give_up("a script of sed runs another program")
        elif letter and letter in _TO_LINE_END:
            end = _line_end(script, at)
            files, at = script[at:end].strip(), end
        if files and letter in "wW":
            command.write(Arg(files))
        elif files and letter in "rR":
            command.read(Arg(files))


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end


def _after_address(script: str, at: int) -> int:
    """Where a command's letter stands: after white space, brackets, numbers and `/patterns/`."""
    while at < len(script):
        letter = script[at]
        if letter == "/":
            at = _after_pattern(script, at + 1, "/")
        elif letter == "\\" and at + 1 < len(script):
            at = _after_pattern(script, at + 2, script[at + 1])
        elif letter.isspace() or letter.isdigit() or letter in ";{}!,~+$IM":
            at += 1
        else:
            break
    return at


def _after_parts(script: str, at: int) -> int:
    """After the two parts of `s/a/b/`; -1 if they have no end."""
    sign = script[at : at + 1]
    middle = _after_pattern(script, at + 1, sign)
    end = _after_pattern(script, middle, sign)
    return end if sign and end <= len(script) else -1


def _after_pattern(script: str, at: int, sign: str) -> int:
    """After the next such sign that is not escaped; beyond the end if there is none."""
    while at < len(script) and script[at] != sign:
        at += 2 if script[at] == "\\" else 1
    return at + 1
