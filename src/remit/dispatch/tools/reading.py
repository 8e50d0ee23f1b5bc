"""Read: the lines of a file, numbered as `cat -n` does."""

from __future__ import annotations

from remit.dispatch.tools import arguments
from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.model import Answer, Refused, digest_of

_BINARY_PROBE = 8_192
#: Room for the sentence about what is left.
_NOTE = 300


async def read(call: Call, given: arguments.Read) -> Answer:
    """The numbered lines that fit, and where the next ones begin."""
    return await call.in_thread(lambda: _read(call, given))


def _read(call: Call, given: arguments.Read) -> Answer:
    path, data, _ = call.ground.read(given.file_path)
    if b"\0" in data[:_BINARY_PROBE]:
        raise Refused(f"{path!r} is a binary file and is not shown. Read a text file instead.")
    lines = lines_of(data.decode("utf-8", "replace"))
    first = max(given.offset or 1, 1)
    wanted = given.limit or call.limits.lines
    digest = digest_of(data)
    if not lines:
        return Answer(f"[{path} is empty.]", path=path, ranges=((0, 0),), digest=digest)
    if first > len(lines):
        raise Refused(f"{path!r} has {len(lines):,} lines; offset={first} is past its end. Use a smaller offset.")
    shown = _fitting(lines[first - 1 : first - 1 + min(wanted, call.limits.lines)], first, call)
    last = first + len(shown) - 1
    if last < len(lines) and (given.limit is None or last < first + wanted - 1):
        rest = f"[Lines {first}-{last} of {len(lines)}. For the next ones Read again with offset={last + 1}.]"
        return Answer("\n".join([*shown, rest]), path=path, ranges=((first, last),), digest=digest)
    return Answer("\n".join(shown), path=path, ranges=((first, last),), digest=digest)


def lines_of(text: str) -> list[str]:
    r"""Lines without their ends, which are `\n` or `\r\n`; a last line without an end counts."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _fitting(lines: list[str], first: int, call: Call) -> list[str]:
    """As many numbered lines as the output may hold, at least one; long lines are cut with a note."""
    shown: list[str] = []
    room = call.limits.characters - _NOTE
    for number, line in enumerate(lines, first):
        text = f"{number:>6}\t{cut_line(line, min(call.limits.line_characters, max(room, 80)))}"
        room -= len(text) + 1
        if room < 0 and shown:
            break
        shown.append(text)
    return shown


def cut_line(line: str, most: int) -> str:
    """A line, or its beginning with how much is left of it."""
    if len(line) <= most:
        return line
    return f"{line[:most]} [… {len(line) - most:,} more characters in this line]"
