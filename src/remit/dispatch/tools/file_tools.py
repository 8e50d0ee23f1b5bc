"""The tools Read, Glob and LS: the lines of a file, numbered like `cat -n`, and the names of files."""

from __future__ import annotations

import os
import stat
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta
from rapidfuzz import fuzz, process

from remit.configuration import parse_toml
from remit.dispatch.tools.confined import ToolCall
from remit.dispatch.tools.openat import is_closed_name, open_file, store_file, walk
from remit.dispatch.tools.tool_types import (
    MAX_PATTERN,
    FolderArgument,
    NumberArgument,
    PathArgument,
    ToolAnswer,
    ToolArguments,
    ToolRefused,
    digest_of,
    one_line,
)
from remit.globs import Pattern

_BINARY_PROBE = 8_192
#: Characters reserved for the note about the remaining lines.
_NOTE_CHARACTERS = 300


class Read(ToolArguments, frozen=True):
    """Arguments of Read."""

    file_path: PathArgument
    offset: Annotated[NumberArgument, Meta(description="The first line to show, counted from 1.")] | None = None
    limit: Annotated[NumberArgument, Meta(description="The number of lines to show.")] | None = None


class Glob(ToolArguments, frozen=True):
    """Arguments of Glob."""

    pattern: Annotated[str, Meta(description="E.g. **/*.py or src/*.{ts,tsx}.", max_length=MAX_PATTERN)]
    path: FolderArgument | None = None


class LS(ToolArguments, frozen=True):
    """Arguments of LS."""

    path: FolderArgument | None = None
    ignore: Annotated[
        list[Annotated[str, Meta(max_length=200)]], Meta(description="Names to leave out, e.g. *.pyc.", max_length=100)
    ] = []


class Write(ToolArguments, frozen=True):
    """Arguments of Write."""

    file_path: PathArgument
    content: str


class Edit(ToolArguments, frozen=True):
    """Arguments of Edit."""

    file_path: PathArgument
    old_string: Annotated[str, Meta(description="The exact text to replace, with its indentation.")]
    new_string: str
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


async def read_lines(call: ToolCall, args: Read) -> ToolAnswer:
    """Return as many numbered lines as fit, and a note on how to read the next ones."""
    return await call.in_thread(lambda: _read(call, args))


def _read(call: ToolCall, args: Read) -> ToolAnswer:
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


async def glob_files(call: ToolCall, args: Glob) -> ToolAnswer:
    """Return the files whose path matches a pattern, sorted."""
    return await call.in_thread(lambda: _glob(call, args))


def _glob(call: ToolCall, args: Glob) -> ToolAnswer:
    within, pattern = _pattern(call, args)
    names: list[str] = []
    with call.confined.folder(within or ".") as (above, folder):
        start = len(above) + 1 if above else 0
        for path in islice(walk(folder, above, call.check, args.pattern, call.confined.closed), call.limits.files):
            if pattern.matches(path[start:]):
                names.append(one_line(path))
                if len(names) > call.limits.names:
                    break
    if not names:
        return ToolAnswer(f"No files match {args.pattern!r} in {within or 'the workspace'}. Try a wider pattern.")
    more = len(names) > call.limits.names
    names = sorted(names[: call.limits.names])
    lines = [*names, *([f"[Only the first {len(names):,} are shown. Use a narrower pattern.]"] if more else [])]
    return ToolAnswer("\n".join(lines), marks=tuple((name, 0) for name in names))


def _pattern(call: ToolCall, args: Glob) -> tuple[str, Pattern]:
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


async def list_folder(call: ToolCall, args: LS) -> ToolAnswer:
    """Return the names in a folder. Those of folders end with a slash."""
    return await call.in_thread(lambda: _ls(call, args))


def _ls(call: ToolCall, args: LS) -> ToolAnswer:
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


_MAX_HINT_LINES = 5_000
_PROJECT_FILE = "pyproject.toml"
#: The minimum similarity of a line that a hint suggests.
_MIN_SIMILARITY = 60


async def write_file(call: ToolCall, args: Write) -> ToolAnswer:
    """Create a file, or replace its whole content."""
    return await call.in_thread(lambda: _write(call, args))


def _write(call: ToolCall, args: Write) -> ToolAnswer:
    data = _encoded(args.content, call)
    with call.confined.target(args.file_path, create=True) as (path, folder, name, about):
        owner = (about.st_uid, about.st_gid) if about else None
        if name == _PROJECT_FILE:
            _refuse_other_settings(_current(folder, name, call) if about else b"", data)
        call.check()
        store_file(folder, name, data, about.st_mode if about else None, owner)
    verb = "Replaced" if about else "Created"
    return ToolAnswer(f"{verb} {path} ({len(lines_of(args.content)):,} lines).", path=path, digest=digest_of(data))


async def edit_file(call: ToolCall, args: Edit) -> ToolAnswer:
    """Replace a text that occurs exactly once, or every occurrence of it."""
    return await call.in_thread(lambda: _edit(call, args))


def _edit(call: ToolCall, args: Edit) -> ToolAnswer:
    if not args.old_string:
        raise ToolRefused("old_string is empty. Give the text to replace, or use Write for a new file.")
    if args.old_string == args.new_string:
        raise ToolRefused("old_string and new_string are the same, so nothing would change. Give the text you want.")
    with call.confined.target(args.file_path, create=False) as (path, folder, name, about):
        if about is None:
            raise FileNotFoundError
        data = _current(folder, name, call)
        text = _decoded(data, path, call)
        changed, count = _replaced(text, args, path, call)
        result = _encoded(changed, call)
        if name == _PROJECT_FILE:
            _refuse_other_settings(data, result)
        call.check()
        store_file(folder, name, result, about.st_mode, (about.st_uid, about.st_gid))
    times = f"{count} places" if count != 1 else "1 place"
    return ToolAnswer(f"Changed {times} in {path}.", path=path, digest=digest_of(result))


def _current(folder: int, name: str, call: ToolCall) -> bytes:
    with open(open_file(name, folder), "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
        return file.read(call.limits.file_bytes + 1)


def _refuse_other_settings(before: bytes, after: bytes) -> None:
    """Refuse to change `[tool.remit]`, which decides what runs next. The rest of the file is the project's."""
    if _own_settings(before) != _own_settings(after):
        raise ToolRefused(
            "The table [tool.remit] decides what runs next, so only a person changes it. Leave it as it is, and "
            "propose the change in your result."
        )


def _own_settings(data: bytes) -> Any:
    if b"remit" not in data:
        return None
    try:
        tool = parse_toml(data.decode()).get("tool")
    except (ValueError, RecursionError):
        return None  # such a file is not obeyed
    return tool.get("remit") if isinstance(tool, dict) else None


def _decoded(data: bytes, path: str, call: ToolCall) -> str:
    if len(data) > call.limits.file_bytes:
        raise ToolRefused(f"{path!r} is larger than {call.limits.file_bytes // 1024**2:,} MB and is not edited here.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolRefused(f"{path!r} is not UTF-8 text; an edit would damage it. Leave it as it is.") from error


def _encoded(text: str, call: ToolCall) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ToolRefused(
            "The text contains characters that UTF-8 cannot encode (lone surrogates). Leave them out."
        ) from error
    if len(data) > call.limits.file_bytes:
        raise _too_large(call)
    return data


def _too_large(call: ToolCall) -> ToolRefused:
    return ToolRefused(f"The file would be larger than {call.limits.file_bytes // 1024**2:,} MB. Write less.")


def _replaced(text: str, args: Edit, path: str, call: ToolCall) -> tuple[str, int]:
    """Return the text after the edit, and the number of replacements. Line ends stay as in the file."""
    old, new = args.old_string, args.new_string
    if "\r\n" in text and old not in text:
        old, new = _with_crlf(old), _with_crlf(new)
    elif "\r\n" in text and "\r\n" not in new and text.count("\r\n") == text.count("\n"):
        new = _with_crlf(new)
    count = text.count(old)
    if count == 0:
        raise ToolRefused(f"old_string does not occur in {path}. {_hint(text, args.old_string)}")
    if count > 1 and not args.replace_all:
        raise ToolRefused(
            f"old_string occurs {count} times in {path}. Add surrounding lines until it occurs once, "
            "or set replace_all to change every one."
        )
    if len(text) + count * (len(new) - len(old)) > call.limits.file_bytes:  # before the memory is allocated
        raise _too_large(call)
    return text.replace(old, new), count


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _hint(text: str, old: str) -> str:
    """Return a hint with the line that is most similar to the first line of `old`."""
    first = next((line.strip() for line in lines_of(old) if line.strip()), "")[:400]
    lines = [line.strip()[:400] for line in lines_of(text)[:_MAX_HINT_LINES]]
    near = process.extractOne(first, lines, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY) if first else None
    if near is None:
        return "Read the file and copy the text exactly, with its indentation and without line numbers."
    return (
        f"The most similar line is {near[2] + 1}: {near[0][:200]!r}. Read the file there and copy the text exactly, "
        "with its indentation and without line numbers."
    )
