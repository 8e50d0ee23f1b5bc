"""Every tool: what a model is told of it, its arguments, and what runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from remit.dispatch.tools import arguments, changing, history, listing, reading, searching, shell
from remit.dispatch.tools.calling import Call
from remit.dispatch.tools.model import Answer, ToolSpec


class Tool(NamedTuple):
    """A tool, ready to be called."""

    spec: ToolSpec
    takes: type[msgspec.Struct]
    runs: Callable[[Call, Any], Awaitable[Answer]]


def _looks(takes: type[msgspec.Struct], runs: Callable[[Call, Any], Awaitable[Answer]], description: str) -> Tool:
    return Tool(ToolSpec(takes.__name__, description, arguments.schema_of(takes), True, True), takes, runs)  # noqa: FBT003 (positional fields of a struct)


def _changes(
    takes: type[msgspec.Struct],
    runs: Callable[[Call, Any], Awaitable[Answer]],
    description: str,
    *,
    repeatable: bool = False,
) -> Tool:
    spec = ToolSpec(
        takes.__name__, description, arguments.schema_of(takes), is_read_only=False, is_repeatable=repeatable
    )
    return Tool(spec, takes, runs)


_ALL = (
    _looks(
        arguments.Read,
        reading.read,
        "Read a text file. Lines come numbered; the number and the tab after it are not part of the file. "
        "Up to 2,000 lines at a time: use offset and limit for more.",
    ),
    _looks(
        arguments.Grep,
        searching.grep,
        "Search the files of the workspace with a regular expression. Ignored and binary files are left out. "
        "Lists matching files unless output_mode says otherwise.",
    ),
    _looks(arguments.Glob, listing.glob, "List files whose path matches a pattern, sorted by path."),
    _looks(arguments.LS, listing.ls, "List the names in one folder. Folders end with /."),
    _looks(arguments.GitLog, history.log, "List commits, newest first, of a path or of the whole workspace."),
    _looks(
        arguments.GitDiff,
        history.diff,
        "Show what differs: the files on disk from a commit (HEAD without rev), or two commits with a range.",
    ),
    _looks(arguments.GitShow, history.show, "Show a commit and its changes, or with path a file as it was then."),
    _looks(arguments.GitBlame, history.blame, "Show for each line of a file who changed it last and when."),
    _changes(
        arguments.Edit,
        changing.edit,
        "Replace an exact text in a file. It must occur exactly once unless replace_all is set.",
    ),
    _changes(
        arguments.Write,
        changing.write,
        "Create a file or replace all of it. Folders are made. For a small change use Edit.",
        repeatable=True,
    ),
    _changes(
        arguments.Bash,
        shell.bash,
        "Run a command in the workspace and show what it prints. No input, no terminal; all it started ends with it. "
        "To look at files use Read, Grep and Glob.",
    ),
)
TOOLS = {tool.spec.name: tool for tool in _ALL}
