"""The tools Read, Glob and LS: the lines of a file, numbered like `cat -n`, and the names of files."""

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
#: Characters reserved for the note about the remaining lines.
_NOTE_CHARACTERS = 300


async def read_lines(call: ToolCall, args: arguments.Read) -> ToolAnswer:
    """Return as many numbered lines as fit, and a note on how to read the next ones."""
    return await call.in_thread(lambda: _read(call, args))


def _read(call: ToolCall, args: arguments.Read) -> ToolAnswer:
    path, data, _ = call.confined.read(args.file_path)
    if b"\0" in data[:_BINARY_PROBE]:
        raise ToolRefused(f"{path!r} is a binary file and is not shown. Read a text file instead.")
    lines = lines_of(data.decode("utf-8", "replace"))
    first = max(args.offset or 1, 1)
    wanted = args.limit or call.limits.lines
    digest = digest_of(data)
    if not lines:
        return ToolAnswer(f"[{path} is empty.]", path=path, ranges=((0, 0),), digest=digest)
    if first > len(lines):
        raise ToolRefused(f"{path!r} has {len(lines):,} lines; offset={first} is past its end. Use a smaller offset.")
    shown = _fitting(lines[first - 1 : first - 1 + min(wanted, call.limits.lines)], first, call)
    last = first + len(shown) - 1
    if last < len(lines) and (args.limit is None or last < first + wanted - 1):
        rest = f"[Lines {first}-{last} of {len(lines)}. To continue, Read again with offset={last + 1}.]"
        return ToolAnswer("\n".join([*shown, rest]), path=path, ranges=((first, last),), digest=digest)
    return ToolAnswer("\n".join(shown), path=path, ranges=((first, last),), digest=digest)


def lines_of(text: str) -> list[str]:
    r"""Split a text at `\n` and `\r\n`. A last line without an end counts."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _fitting(lines: list[str], first: int, call: ToolCall) -> list[str]:
    """Return as many numbered lines as fit into the output, at least one. Long lines are cut with a note."""
    numbered: list[str] = []
    left = call.limits.characters - _NOTE_CHARACTERS
    for number, line in enumerate(lines, first):
        text = f"{number:>6}\t{cut_line(line, min(call.limits.line_characters, max(left, 80)))}"
        left -= len(text) + 1
        if left < 0 and numbered:
            break
        numbered.append(text)
    return numbered


def cut_line(line: str, limit: int) -> str:
    """Return a line, or its beginning with the number of characters that were cut."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]} [… {len(line) - limit:,} more characters in this line]"


async def glob_files(call: ToolCall, args: arguments.Glob) -> ToolAnswer:
    """Return the files whose path matches a pattern, sorted."""
    return await call.in_thread(lambda: _glob(call, args))


def _glob(call: ToolCall, args: arguments.Glob) -> ToolAnswer:
    within, pattern = _pattern(call, args)
    found: list[str] = []
    with call.confined.folder(within or ".") as (above, folder):
        start = len(above) + 1 if above else 0
        for path in islice(walk(folder, above, call.check, args.pattern, call.confined.closed), call.limits.files):
            if pattern.matches(path[start:]):
                found.append(one_line(path))
                if len(found) > call.limits.names:
                    break
    if not found:
        return ToolAnswer(f"No files match {args.pattern!r} in {within or 'the workspace'}. Try a wider pattern.")
    more = len(found) > call.limits.names
    found = sorted(found[: call.limits.names])
    lines = [*found, *([f"[Only the first {len(found):,} are shown. Use a narrower pattern.]"] if more else [])]
    return ToolAnswer("\n".join(lines), marks=tuple((name, 0) for name in found))


def _pattern(call: ToolCall, args: arguments.Glob) -> tuple[str, Pattern]:
    """Return the folder to search and the pattern below it. An absolute pattern inside the root is allowed."""
    text = args.pattern.strip().replace("\\", "/")
    if text.startswith(("/", "~")):
        text = call.confined.relative(text)
    if ".." in text.split("/") or not text:
        raise ToolRefused("The pattern must stay inside the workspace. Write it without .., such as src/**/*.py.")
    try:
        return call.confined.relative(args.path or "."), Pattern(text)
    except ValueError as error:
        raise ToolRefused(f"The pattern has {error}. Use a simpler pattern.") from error


async def list_folder(call: ToolCall, args: arguments.LS) -> ToolAnswer:
    """Return the names in a folder. Those of folders end with a slash."""
    return await call.in_thread(lambda: _ls(call, args))


def _ls(call: ToolCall, args: arguments.LS) -> ToolAnswer:
    try:
        ignored = [Pattern(text, anywhere=True) for text in args.ignore]
    except ValueError as error:
        raise ToolRefused(f"A pattern in ignore has {error}. Use a simpler pattern.") from error
    with call.confined.folder(args.path or ".") as (path, folder):
        names = sorted(os.listdir(folder))[: call.limits.files]  # noqa: PTH208 (a descriptor, not a path)
        call.check()
        shown = []
        for name in names:
            full_path = f"{path}/{name}" if path else name
            if not is_closed_name(name) and not any(pattern.matches(full_path) for pattern in ignored):
                shown.append(one_line(_marked(name, folder)))
    text = "\n".join(shown[: call.limits.names])
    if len(shown) > call.limits.names:
        text += f"\n[Only the first {call.limits.names:,} of {len(shown):,} names are shown. Use Glob with a pattern.]"
    return ToolAnswer(text or f"[{path or 'The workspace'} is empty.]", path=path or ".")


def _marked(name: str, folder: int) -> str:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return name
    if stat.S_ISDIR(mode):
        return f"{name}/"
    return f"{name} (link)" if stat.S_ISLNK(mode) else name
