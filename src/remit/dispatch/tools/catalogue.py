"""Every tool: what a model is told of it, its arguments, and what runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from remit.dispatch.tools import arguments, bash, edit, files, git, grep
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.model import ToolAnswer, ToolSpec


class ToolEntry(NamedTuple):
    """A tool, ready to be called."""

    spec: ToolSpec
    takes: type[msgspec.Struct]
    runs: Callable[[ToolCall, Any], Awaitable[ToolAnswer]]


def _looks(
    takes: type[msgspec.Struct], runs: Callable[[ToolCall, Any], Awaitable[ToolAnswer]], description: str
) -> ToolEntry:
    return ToolEntry(ToolSpec(takes.__name__, description, arguments.schema_of(takes), True, True), takes, runs)  # noqa: FBT003 (positional fields of a struct)


def _changes(
    takes: type[msgspec.Struct],
    runs: Callable[[ToolCall, Any], Awaitable[ToolAnswer]],
    description: str,
    *,
    repeatable: bool = False,
) -> ToolEntry:
    spec = ToolSpec(
        takes.__name__, description, arguments.schema_of(takes), is_read_only=False, is_repeatable=repeatable
    )
    return ToolEntry(spec, takes, runs)


_ALL = (
    _looks(
        arguments.Read,
        files.read_lines,
        "Read a text file. Lines come numbered; the number and the tab after it are not part of the file. "
        "Up to 2,000 lines at a time: use offset and limit for more.",
    ),
    _looks(
        arguments.Grep,
        grep.grep,
        "Search the files of the workspace with a regular expression. Ignored and binary files are left out. "
        "Lists matching files unless output_mode says otherwise.",
    ),
    _looks(arguments.Glob, files.glob_files, "List files whose path matches a pattern, sorted by path."),
    _looks(arguments.LS, files.list_folder, "List the names in one folder. Folders end with /."),
    _looks(arguments.GitLog, git.git_log, "List commits, newest first, of a path or of the whole workspace."),
    _looks(
        arguments.GitDiff,
        git.git_diff,
        "Show what differs: the files on disk from a commit (HEAD without rev), or two commits with a range.",
    ),
    _looks(arguments.GitShow, git.git_show, "Show a commit and its changes, or with path a file as it was then."),
    _looks(arguments.GitBlame, git.git_blame, "Show for each line of a file who changed it last and when."),
    _changes(
        arguments.Edit,
        edit.edit_file,
        "Replace an exact text in a file. It must occur exactly once unless replace_all is set.",
    ),
    _changes(
        arguments.Write,
        edit.write_file,
        "Create a file or replace all of it. Folders are made. For a small change use Edit.",
        repeatable=True,
    ),
    _changes(
        arguments.Bash,
        bash.bash,
        "Run a command in the workspace and show what it prints. No input, no terminal; all it started ends with it. "
        "To look at files use Read, Grep and Glob.",
    ),
)
TOOLS = {tool.spec.name: tool for tool in _ALL}
