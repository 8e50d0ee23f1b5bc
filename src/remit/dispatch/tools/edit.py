"""The tools Write and Edit: write whole files and replace exact texts, atomically."""

from __future__ import annotations

from typing import Any

from remit.configuration import parse_toml
from remit.dispatch.tools import arguments
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.files import lines_of
from remit.dispatch.tools.model import ToolAnswer, ToolRefused, digest_of
from remit.dispatch.tools.openat import open_file, store_file

_MAX_HINT_LINES = 5_000
_PROJECT_FILE = "pyproject.toml"
#: The minimum similarity of a line that a hint suggests.
_MIN_SIMILARITY = 60


async def write_file(call: ToolCall, args: arguments.Write) -> ToolAnswer:
    """Create a file, or replace its whole content."""
    return await call.in_thread(lambda: _write(call, args))


def _write(call: ToolCall, args: arguments.Write) -> ToolAnswer:
    data = _encoded(args.content, call)
    with call.confined.target(args.file_path, create=True) as (path, folder, name, about):
        owner = (about.st_uid, about.st_gid) if about else None
        if name == _PROJECT_FILE:
            _refuse_other_settings(_current(folder, name, call) if about else b"", data)
        call.check()
        store_file(folder, name, data, about.st_mode if about else None, owner)
    verb = "Replaced" if about else "Created"
    return ToolAnswer(f"{verb} {path} ({len(lines_of(args.content)):,} lines).", path=path, digest=digest_of(data))


async def edit_file(call: ToolCall, args: arguments.Edit) -> ToolAnswer:
    """Replace a text that occurs exactly once, or every occurrence of it."""
    return await call.in_thread(lambda: _edit(call, args))


def _edit(call: ToolCall, args: arguments.Edit) -> ToolAnswer:
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


def _replaced(text: str, args: arguments.Edit, path: str, call: ToolCall) -> tuple[str, int]:
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
    from rapidfuzz import fuzz, process  # late: only an error message needs it

    first = next((line.strip() for line in lines_of(old) if line.strip()), "")[:400]
    lines = [line.strip()[:400] for line in lines_of(text)[:_MAX_HINT_LINES]]
    near = process.extractOne(first, lines, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY) if first else None
    if near is None:
        return "Read the file and copy the text exactly, with its indentation and without line numbers."
    return (
        f"The most similar line is {near[2] + 1}: {near[0][:200]!r}. Read the file there and copy the text exactly, "
        "with its indentation and without line numbers."
    )
