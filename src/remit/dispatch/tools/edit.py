"""Write and Edit: whole files and exact replacements, put in place at once."""

from __future__ import annotations

from remit.dispatch.tools import arguments
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.files import lines_of
from remit.dispatch.tools.model import ToolAnswer, ToolRefused, digest_of
from remit.dispatch.tools.openat import open_file, store_file

_MAX_HINT = 5_000
#: Below this a line is not what was meant.
_ALIKE = 60


async def write_file(call: ToolCall, given: arguments.Write) -> ToolAnswer:
    """Create a file, or replace all of it."""
    return await call.in_thread(lambda: _write(call, given))


def _write(call: ToolCall, given: arguments.Write) -> ToolAnswer:
    data = _encoded(given.content, call)
    with call.ground.place(given.file_path, create=True) as (path, folder, name, about):
        owner = (about.st_uid, about.st_gid) if about else None
        call.check()
        store_file(folder, name, data, about.st_mode if about else None, owner)
    what = "Replaced" if about else "Created"
    return ToolAnswer(f"{what} {path} ({len(lines_of(given.content)):,} lines).", path=path, digest=digest_of(data))


async def edit_file(call: ToolCall, given: arguments.Edit) -> ToolAnswer:
    """Replace a text that occurs exactly once, or every occurrence of it."""
    return await call.in_thread(lambda: _edit(call, given))


def _edit(call: ToolCall, given: arguments.Edit) -> ToolAnswer:
    if not given.old_string:
        raise ToolRefused("old_string is empty. Give the text to replace, or use Write for a new file.")
    if given.old_string == given.new_string:
        raise ToolRefused("old_string and new_string are the same, so nothing would change. Give the text you want.")
    with call.ground.place(given.file_path, create=False) as (path, folder, name, about):
        if about is None:
            raise FileNotFoundError
        with open(open_file(name, folder), "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
            data = file.read(call.limits.file_bytes + 1)
        text = _decoded(data, path, call)
        changed, count = _replaced(text, given, path, call)
        result = _encoded(changed, call)
        call.check()
        store_file(folder, name, result, about.st_mode, (about.st_uid, about.st_gid))
    times = f"{count} places" if count != 1 else "1 place"
    return ToolAnswer(f"Changed {times} in {path}.", path=path, digest=digest_of(result))


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
            "The text holds characters that UTF-8 cannot hold (lone surrogates). Leave them out."
        ) from error
    if len(data) > call.limits.file_bytes:
        raise _too_large(call)
    return data


def _too_large(call: ToolCall) -> ToolRefused:
    return ToolRefused(f"The file would be larger than {call.limits.file_bytes // 1024**2:,} MB. Write less.")


def _replaced(text: str, given: arguments.Edit, path: str, call: ToolCall) -> tuple[str, int]:
    """The text after the edit, and how often it was made. Line ends stay as the file has them."""
    old, new = given.old_string, given.new_string
    if "\r\n" in text and old not in text:
        old, new = _with_crlf(old), _with_crlf(new)
    elif "\r\n" in text and "\r\n" not in new and text.count("\r\n") == text.count("\n"):
        new = _with_crlf(new)
    count = text.count(old)
    if count == 0:
        raise ToolRefused(f"old_string does not occur in {path}. {_hint(text, given.old_string)}")
    if count > 1 and not given.replace_all:
        raise ToolRefused(
            f"old_string occurs {count} times in {path}. Add surrounding lines until it occurs once, "
            "or set replace_all to change every one."
        )
    if len(text) + count * (len(new) - len(old)) > call.limits.file_bytes:  # before it takes the memory
        raise _too_large(call)
    return text.replace(old, new), count


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _hint(text: str, old: str) -> str:
    """Where the text is that was probably meant: the line most like the first one."""
    from rapidfuzz import fuzz, process  # late: only a mistake needs it

    first = next((line.strip() for line in lines_of(old) if line.strip()), "")[:400]
    lines = [line.strip()[:400] for line in lines_of(text)[:_MAX_HINT]]
    near = process.extractOne(first, lines, scorer=fuzz.ratio, score_cutoff=_ALIKE) if first else None
    if near is None:
        return "Read the file and copy the text exactly, with its indentation and without line numbers."
    return (
        f"The nearest line is {near[2] + 1}: {near[0][:200]!r}. Read the file there and copy the text exactly, "
        "with its indentation and without line numbers."
    )
