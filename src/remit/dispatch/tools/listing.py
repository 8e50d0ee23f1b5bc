"""Glob and LS: which files there are."""

from __future__ import annotations

import os
import stat
from itertools import islice

from remit.dispatch.tools import arguments
from remit.dispatch.tools.beneath import is_closed_name
from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.capping import one_line
from remit.dispatch.tools.model import Answer, Refused
from remit.dispatch.tools.patterns import Pattern
from remit.dispatch.tools.walking import walk


async def glob(call: Call, given: arguments.Glob) -> Answer:
    """Files whose path matches a pattern, sorted."""
    return await call.in_thread(lambda: _glob(call, given))


def _glob(call: Call, given: arguments.Glob) -> Answer:
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
        return Answer(f"No files match {given.pattern!r} in {within or 'the workspace'}. Try a wider pattern.")
    more = len(found) > call.limits.names
    found = sorted(found[: call.limits.names])
    lines = [*found, *([f"[Only the first {len(found):,} are shown; use a narrower pattern.]"] if more else [])]
    return Answer("\n".join(lines), marks=tuple((name, 0) for name in found))


def _pattern(call: Call, given: arguments.Glob) -> tuple[str, Pattern]:
    """The folder to begin in and the pattern below it; an absolute pattern inside the root is understood."""
    text = given.pattern.strip().replace("\\", "/")
    if text.startswith(("/", "~")):
        text = call.ground.relative(text)
    if ".." in text.split("/") or not text:
        raise Refused("The pattern must stay inside the workspace: write it without .., such as src/**/*.py.")
    try:
        return call.ground.relative(given.path or "."), Pattern(text)
    except ValueError as error:
        raise Refused(f"The pattern has {error}. Ask for fewer at a time.") from error


async def ls(call: Call, given: arguments.LS) -> Answer:
    """The names in a folder; folders end with a slash."""
    return await call.in_thread(lambda: _ls(call, given))


def _ls(call: Call, given: arguments.LS) -> Answer:
    try:
        left_out = [Pattern(text, anywhere=True) for text in given.ignore]
    except ValueError as error:
        raise Refused(f"A pattern in ignore has {error}. Ask for fewer at a time.") from error
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
    return Answer(text or f"[{path or 'The workspace'} is empty.]", path=path or ".")


def _marked(name: str, folder: int) -> str:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return name
    if stat.S_ISDIR(mode):
        return f"{name}/"
    return f"{name} (link)" if stat.S_ISLNK(mode) else name
