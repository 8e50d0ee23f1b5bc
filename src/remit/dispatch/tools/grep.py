"""The Grep tool: search the files of the workspace with a regular expression.

The search runs in a separate process that is killed when the time is up, because Python's `re` can take for ever on a
hostile pattern and cannot be interrupted in a thread. `git grep` and ripgrep are not on every host, have another
syntax, and are not safer. Files that git ignores are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from remit.dispatch.tools.confined import ToolCall
from remit.dispatch.tools.git_tools import git_result
from remit.dispatch.tools.openat import is_closed_name, walk
from remit.dispatch.tools.processes import ProcessResult, isolated_command, run_process
from remit.dispatch.tools.tool_types import (
    MAX_PATTERN,
    FolderArgument,
    NumberArgument,
    ToolAnswer,
    ToolArguments,
    ToolRefused,
    one_line,
)
from remit.globs import Pattern

_MAX_CONTEXT = 1_000
_LISTED = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


class Grep(ToolArguments, frozen=True):
    """Arguments of Grep."""

    pattern: Annotated[str, Meta(description="A regular expression (Python's syntax).", max_length=MAX_PATTERN)]
    path: FolderArgument | None = None
    glob: (
        Annotated[
            str, Meta(description="Only files that match, e.g. *.py or src/**/*.{ts,tsx}.", max_length=MAX_PATTERN)
        ]
        | None
    ) = None
    output_mode: Annotated[
        Literal["files_with_matches", "content", "count"],
        Meta(description="content: the lines; files_with_matches: the files; count: the matches in each file."),
    ] = "files_with_matches"
    ignore_case: Annotated[bool, Meta(description="Ignore case.")] = field(default=False, name="-i")
    numbers: Annotated[bool, Meta(description="Line numbers, with content.")] = field(default=True, name="-n")
    after: Annotated[NumberArgument, Meta(description="Lines after each match, with content.")] = field(
        default=0, name="-A"
    )
    before: Annotated[NumberArgument, Meta(description="Lines before each match, with content.")] = field(
        default=0, name="-B"
    )
    around: Annotated[NumberArgument, Meta(description="Lines before and after each match.")] = field(
        default=0, name="-C"
    )
    head_limit: Annotated[NumberArgument, Meta(description="The maximum number of lines or files.")] | None = None
    multiline: Annotated[bool, Meta(description="The pattern may span lines; . matches a line end.")] = False


async def grep(call: ToolCall, args: Grep) -> ToolAnswer:
    """Return the lines, files or counts that match, sorted by path."""
    paths = await _paths(call, args)
    if not paths:
        return ToolAnswer("There are no files to search. Check path and glob, or list the folder with LS.")
    head = msgspec.json.encode(_request(call, args))
    names = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    result = await run_process(
        isolated_command("grep_process"),
        environment={"LC_ALL": "C.UTF-8"},
        folder=call.confined.root,
        seconds=call.seconds_left,
        limit=call.limits.kept_bytes,
        stdin=head + b"\n" + names,
    )
    return _answer(call, args, result, len(paths))


def _request(call: ToolCall, args: Grep) -> dict[str, Any]:
    rows = min(args.head_limit or call.limits.matches, call.limits.matches)
    return {
        "top": call.confined.top,
        "closed": sorted(call.confined.closed),
        "seconds": int(call.limits.seconds) + 5,
        "pattern": args.pattern,
        "ignore_case": args.ignore_case,
        "multiline": args.multiline,
        "mode": args.output_mode,
        "before": min(args.before or args.around, _MAX_CONTEXT),
        "after": min(args.after or args.around, _MAX_CONTEXT),
        "rows": rows,
        "file_bytes": call.limits.file_bytes,
        "width": call.limits.line_characters,
    }


async def _paths(call: ToolCall, args: Grep) -> list[str]:
    """Return the files to search: a named file, or the files below a folder that git does not ignore."""
    path, is_folder = await call.in_thread(lambda: call.confined.kind(args.path or "."))
    if not is_folder:
        return [path]  # even a link or an ignored file, because it was named
    try:
        pattern = Pattern(args.glob, anywhere=True) if args.glob else None
    except ValueError as error:
        raise ToolRefused(f"The glob has {error}. Use a simpler glob.") from error
    listed = await _listed_by_git(call, path)

    def choose() -> list[str]:
        if listed:
            return _matching(sorted(_without_closed(listed, call)), path, pattern, call)
        with call.confined.folder(path or ".") as (above, folder):
            return _matching(walk(folder, above, call.check, path, call.confined.closed), path, pattern, call)

    return await call.in_thread(choose)


def _matching(paths: Iterable[str], above: str, pattern: Pattern | None, call: ToolCall) -> list[str]:
    start = len(above) + 1 if above else 0
    limited = islice(paths, call.limits.files)
    return [path for path in limited if pattern is None or pattern.matches(path[start:]) or pattern.matches(path)]


def _without_closed(paths: list[str], call: ToolCall) -> list[str]:
    """Remove the files in closed folders. Each folder is checked once."""
    is_closed: dict[str, bool] = {}
    kept = []
    for path in paths:
        folder = path.rpartition("/")[0]
        if folder not in is_closed:
            call.check()
            is_closed[folder] = call.confined.is_closed(folder)
        if not is_closed[folder]:
            kept.append(path)
    return kept


async def _listed_by_git(call: ToolCall, path: str) -> list[str]:
    """Return the files below a folder that git lists; none without git, or if git ignores all of them."""
    try:
        result = await git_result(call, *_LISTED, "--", path or ".", share=0.5)
    except ToolRefused:
        return []
    if result.status != 0 or result.dropped:
        return []
    names = set(result.output.decode("utf-8", "surrogateescape").split("\0"))
    return [name for name in names if name and not any(map(is_closed_name, name.split("/")))]


def _answer(call: ToolCall, args: Grep, result: ProcessResult, searched: int) -> ToolAnswer:
    rows, end = _rows(result.output)
    lines = [_line(row, args) for row in rows]
    marks = tuple((one_line(row[0]), row[1] if args.output_mode == "content" else 0) if row else None for row in rows)
    if result.status is None:
        note = f"[The search took longer than {call.limits.seconds:g} seconds and was stopped. Use a simpler pattern"
        return ToolAnswer("\n".join([*lines, f"{note}, or a narrower path or glob.]"]), marks=marks, failed=True)
    if result.status or end is None:
        if result.dropped:
            return ToolAnswer(
                "\n".join([*lines, "[There are more matches. Use a narrower pattern, path or glob.]"]), marks=marks
            )
        raise ToolRefused(f"The search failed: {result.errors[-200:] or 'no reason given'}. Use a simpler pattern.")
    if "error" in end:
        raise ToolRefused(
            f"The pattern is not a regular expression: {end['error']}. Correct it: to match one of "
            "( ) [ ] { } . * + ? literally, put a \\ before it."
        )
    if end["more"]:
        lines.append(f"[Only the first {sum(row is not None for row in rows):,} are shown. Use a narrower pattern.]")
    if end["unread"]:
        lines.append(f"[{end['unread']:,} files were not searched: they are too large or cannot be opened.]")
    if not rows:
        lines.insert(0, f"No matches in {searched:,} files. Try another pattern, -i, or a wider path.")
    return ToolAnswer("\n".join(lines), marks=marks if rows else ())


def _rows(output: bytes) -> tuple[list[list[Any] | None], dict[str, Any] | None]:
    """Return the complete rows, and the final message if the search finished."""
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


def _line(row: list[Any] | None, args: Grep) -> str:
    if row is None:
        return "--"
    path, number, matches, text = one_line(row[0]), *row[1:]
    if args.output_mode == "files_with_matches":
        return path
    if args.output_mode == "count":
        return f"{path}:{text}"
    sign = ":" if matches else "-"
    return f"{path}{sign}{number}{sign}{text}" if args.numbers else f"{path}{sign}{text}"
