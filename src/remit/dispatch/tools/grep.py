"""Grep: a regular expression over the files of the workspace.

The search runs in a process of its own that is killed when the time is up. Python's `re` can take for ever on
a hostile pattern and cannot be interrupted in a thread; `git grep` and ripgrep are not on every host, know no
files outside git or other syntaxes, and are no safer. Files that git ignores are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec

from remit.dispatch.tools import arguments
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.git import git_result
from remit.dispatch.tools.model import ToolAnswer, ToolRefused
from remit.dispatch.tools.openat import is_closed_name, walk
from remit.dispatch.tools.output import one_line
from remit.dispatch.tools.processes import ProcessResult, isolated_command, run_process
from remit.globs import Pattern

_MAX_CONTEXT = 1_000
_LISTED = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


async def grep(call: ToolCall, given: arguments.Grep) -> ToolAnswer:
    """Lines, files or counts that match, sorted by path."""
    paths = await _paths(call, given)
    if not paths:
        return ToolAnswer("There are no files to search. Look at path and glob, or at the folder with LS.")
    head = msgspec.json.encode(_wanted(call, given))
    names = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    ran = await run_process(
        isolated_command("grep_process"),
        environment={"LC_ALL": "C.UTF-8"},
        folder=call.ground.root,
        seconds=call.seconds_left,
        most=call.limits.kept_bytes,
        given=head + b"\n" + names,
    )
    return _told(call, given, ran, len(paths))


def _wanted(call: ToolCall, given: arguments.Grep) -> dict[str, Any]:
    rows = min(given.head_limit or call.limits.matches, call.limits.matches)
    return {
        "top": call.ground.top,
        "closed": sorted(call.ground.closed),
        "seconds": int(call.limits.seconds) + 5,
        "pattern": given.pattern,
        "ignore_case": given.ignore_case,
        "multiline": given.multiline,
        "mode": given.output_mode,
        "before": min(given.before or given.around, _MAX_CONTEXT),
        "after": min(given.after or given.around, _MAX_CONTEXT),
        "rows": rows,
        "file_bytes": call.limits.file_bytes,
        "width": call.limits.line_characters,
    }


async def _paths(call: ToolCall, given: arguments.Grep) -> list[str]:
    """The files to search: one that is named, else those below a folder that git does not ignore."""
    path, is_folder = await call.in_thread(lambda: call.ground.kind(given.path or "."))
    if not is_folder:
        return [path]  # even if it is a link or ignored: it is meant
    try:
        wanted = Pattern(given.glob, anywhere=True) if given.glob else None
    except ValueError as error:
        raise ToolRefused(f"The glob has {error}. Ask for fewer at a time.") from error
    listed = await _known_to_git(call, path)

    def chosen() -> list[str]:
        if listed:
            return _fitting(sorted(_open_ones(listed, call)), path, wanted, call)
        with call.ground.folder(path or ".") as (above, folder):
            return _fitting(walk(folder, above, call.check, path, call.ground.closed), path, wanted, call)

    return await call.in_thread(chosen)


def _fitting(paths: Iterable[str], above: str, wanted: Pattern | None, call: ToolCall) -> list[str]:
    start = len(above) + 1 if above else 0
    every = islice(paths, call.limits.files)
    return [path for path in every if wanted is None or wanted.matches(path[start:]) or wanted.matches(path)]


def _open_ones(paths: list[str], call: ToolCall) -> list[str]:
    """Without the files in folders that are closed; each folder is looked at once."""
    folders: dict[str, bool] = {}
    kept = []
    for path in paths:
        folder = path.rpartition("/")[0]
        if folder not in folders:
            call.check()
            folders[folder] = call.ground.is_closed(folder)
        if not folders[folder]:
            kept.append(path)
    return kept


async def _known_to_git(call: ToolCall, path: str) -> list[str]:
    """The files below a folder by git's word; none where there is no git, or all of them are ignored."""
    try:
        ran = await git_result(call, *_LISTED, "--", path or ".", share=0.5)
    except ToolRefused:
        return []
    if ran.status != 0 or ran.dropped:
        return []
    names = set(ran.output.decode("utf-8", "surrogateescape").split("\0"))
    return [name for name in names if name and not any(map(is_closed_name, name.split("/")))]


def _told(call: ToolCall, given: arguments.Grep, ran: ProcessResult, searched: int) -> ToolAnswer:
    rows, end = _rows(ran.output)
    lines = [_line(row, given) for row in rows]
    marks = tuple((one_line(row[0]), row[1] if given.output_mode == "content" else 0) if row else None for row in rows)
    if ran.status is None:
        why = f"[The search took longer than {call.limits.seconds:g} seconds and was stopped. Use a simpler pattern"
        return ToolAnswer("\n".join([*lines, f"{why}, or a narrower path or glob.]"]), marks=marks, failed=True)
    if ran.status or end is None:
        if ran.dropped:
            return ToolAnswer(
                "\n".join([*lines, "[There is more. Use a narrower pattern, path or glob.]"]), marks=marks
            )
        raise ToolRefused(f"The search failed: {ran.complaint[-200:] or 'no reason given'}. Use a simpler pattern.")
    if "error" in end:
        why = f"The pattern is no regular expression: {end['error']}."
        raise ToolRefused(f"{why} Correct it; ( ) [ ] {{ }} . * + ? meant as themselves need a \\ before them.")
    if end["more"]:
        lines.append(f"[Only the first {sum(row is not None for row in rows):,} are shown. Use a narrower pattern.]")
    if end["unread"]:
        lines.append(f"[{end['unread']:,} files were not searched: too large, or they cannot be opened.]")
    if not rows:
        lines.insert(0, f"No matches in {searched:,} files. Try another pattern, -i, or a wider path.")
    return ToolAnswer("\n".join(lines), marks=marks if rows else ())


def _rows(output: bytes) -> tuple[list[list[Any] | None], dict[str, Any] | None]:
    """The rows that came whole, and the last word of the search if it came to its end."""
    rows: list[list[Any] | None] = []
    for line in output.split(b"\n"):
        try:
            row = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if isinstance(row, dict):
            return rows, row
        rows.append(row)
    return rows, None


def _line(row: list[Any] | None, given: arguments.Grep) -> str:
    if row is None:
        return "--"
    path, number, matches, text = one_line(row[0]), *row[1:]
    if given.output_mode == "files_with_matches":
        return path
    if given.output_mode == "count":
        return f"{path}:{text}"
    sign = ":" if matches else "-"
    return f"{path}{sign}{number}{sign}{text}" if given.numbers else f"{path}{sign}{text}"
