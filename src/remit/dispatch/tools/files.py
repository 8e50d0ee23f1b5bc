"""Read: the lines of a file, numbered as `cat -n` does."""

from __future__ import annotations

import os
import stat
from itertools import islice

from remit.dispatch.tools import arguments
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.model import ToolAnswer, ToolRefused, digest_of
from remit.dispatch.tools.openat import is_closed_name, walk
from remit.dispatch.tools.output import one_line
from remit.globs import Pattern

_BINARY_PROBE = 8_192
#: Room for the sentence about what is left.
_NOTE = 300


async def read_lines(call: ToolCall, given: arguments.Read) -> ToolAnswer:
    """The numbered lines that fit, and where the next ones begin."""
    return await call.in_thread(lambda: _read(call, given))


def _read(call: ToolCall, given: arguments.Read) -> ToolAnswer:
    path, data, _ = call.ground.read(given.file_path)
    if b"\0" in data[:_BINARY_PROBE]:
        raise ToolRefused(f"{path!r} is a binary file and is not shown. Read a text file instead.")
    lines = lines_of(data.decode("utf-8", "replace"))
    first = max(given.offset or 1, 1)
    wanted = given.limit or call.limits.lines
    digest = digest_of(data)
    if not lines:
        return ToolAnswer(f"[{path} is empty.]", path=path, ranges=((0, 0),), digest=digest)
    if first > len(lines):
        raise ToolRefused(f"{path!r} has {len(lines):,} lines; offset={first} is past its end. Use a smaller offset.")
    shown = _fitting(lines[first - 1 : first - 1 + min(wanted, call.limits.lines)], first, call)
    last = first + len(shown) - 1
    if last < len(lines) and (given.limit is None or last < first + wanted - 1):
        rest = f"[Lines {first}-{last} of {len(lines)}. For the next ones Read again with offset={last + 1}.]"
        return ToolAnswer("\n".join([*shown, rest]), path=path, ranges=((first, last),), digest=digest)
    return ToolAnswer("\n".join(shown), path=path, ranges=((first, last),), digest=digest)


def lines_of(text: str) -> list[str]:
    r"""Lines without their ends, which are `\n` or `\r\n`; a last line without an end counts."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _fitting(lines: list[str], first: int, call: ToolCall) -> list[str]:
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


async def glob_files(call: ToolCall, given: arguments.Glob) -> ToolAnswer:
    """Files whose path matches a pattern, sorted."""
    return await call.in_thread(lambda: _glob(call, given))


def _glob(call: ToolCall, given: arguments.Glob) -> ToolAnswer:
    within, pattern = _pattern(call, given)
    found: list[str] = []
    with call.ground.folder(within or ".") as (above, folder):
        start = len(above) + 1 if above else 0
        for path in islice(walk(folder, above, call.check, given.pattern, call.ground.closed), call.limits.files):
            if pattern.matches(path[start:]):
                found.append(one_line(path))
                if len(found) > call.limits.names:
                    break
    if not found:
        return ToolAnswer(f"No files match {given.pattern!r} in {within or 'the workspace'}. Try a wider pattern.")
    more = len(found) > call.limits.names
    found = sorted(found[: call.limits.names])
    lines = [*found, *([f"[Only the first {len(found):,} are shown; use a narrower pattern.]"] if more else [])]
    return ToolAnswer("\n".join(lines), marks=tuple((name, 0) for name in found))


def _pattern(call: ToolCall, given: arguments.Glob) -> tuple[str, Pattern]:
    """The folder to begin in and the pattern below it; an absolute pattern inside the root is understood."""
    text = given.pattern.strip().replace("\\", "/")
    if text.startswith(("/", "~")):
        text = call.ground.relative(text)
    if ".." in text.split("/") or not text:
        raise ToolRefused("The pattern must stay inside the workspace: write it without .., such as src/**/*.py.")
    try:
        return call.ground.relative(given.path or "."), Pattern(text)
    except ValueError as error:
        raise ToolRefused(f"The pattern has {error}. Ask for fewer at a time.") from error


async def list_folder(call: ToolCall, given: arguments.LS) -> ToolAnswer:
    """The names in a folder; folders end with a slash."""
    return await call.in_thread(lambda: _ls(call, given))


def _ls(call: ToolCall, given: arguments.LS) -> ToolAnswer:
    try:
        left_out = [Pattern(text, anywhere=True) for text in given.ignore]
    except ValueError as error:
        raise ToolRefused(f"A pattern in ignore has {error}. Ask for fewer at a time.") from error
    with call.ground.folder(given.path or ".") as (path, folder):
        names = sorted(os.listdir(folder))[: call.limits.files]  # noqa: PTH208 (a descriptor, not a path)
        call.check()
        shown = []
        for name in names:
            whole = f"{path}/{name}" if path else name
            if not is_closed_name(name) and not any(pattern.matches(whole) for pattern in left_out):
                shown.append(one_line(_marked(name, folder)))
    text = "\n".join(shown[: call.limits.names])
    if len(shown) > call.limits.names:
        text += f"\n[Only the first {call.limits.names:,} of {len(shown):,} names are shown; use Glob with a pattern.]"
    return ToolAnswer(text or f"[{path or 'The workspace'} is empty.]", path=path or ".")


def _marked(name: str, folder: int) -> str:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return name
    if stat.S_ISDIR(mode):
        return f"{name}/"
    return f"{name} (link)" if stat.S_ISLNK(mode) else name
