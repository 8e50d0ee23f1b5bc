"""All tools: the description for the model, the arguments, and the function that runs each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from remit.dispatch.tools import arguments, bash, edit, files, git, grep
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.model import ToolAnswer, ToolSpec


class ToolEntry(NamedTuple):
    """A tool."""

    spec: ToolSpec
    arguments: type[msgspec.Struct]
    run: Callable[[ToolCall, Any], Awaitable[ToolAnswer]]


def _read_only(
    kind: type[msgspec.Struct], run: Callable[[ToolCall, Any], Awaitable[ToolAnswer]], description: str
) -> ToolEntry:
    return ToolEntry(ToolSpec(kind.__name__, description, arguments.schema_of(kind), True, True), kind, run)  # noqa: FBT003 (positional fields of a struct)


def _writing(
    kind: type[msgspec.Struct],
    run: Callable[[ToolCall, Any], Awaitable[ToolAnswer]],
    description: str,
    *,
    repeatable: bool = False,
) -> ToolEntry:
    spec = ToolSpec(kind.__name__, description, arguments.schema_of(kind), is_read_only=False, is_repeatable=repeatable)
    return ToolEntry(spec, kind, run)


_ALL = (
    _read_only(
        arguments.Read,
        files.read_lines,
        "Read a text file. Lines are numbered; the number and the tab after it are not part of the file. "
        "Up to 2,000 lines at a time: use offset and limit for more.",
    ),
    _read_only(
        arguments.Grep,
        grep.grep,
        "Search the files of the workspace with a regular expression. Ignored and binary files are skipped. "
        "Lists matching files unless output_mode is set.",
    ),
    _read_only(arguments.Glob, files.glob_files, "List files whose path matches a pattern, sorted by path."),
    _read_only(arguments.LS, files.list_folder, "List the names in one folder. Folders end with /."),
    _read_only(arguments.GitLog, git.git_log, "List commits, newest first, of a path or of the whole workspace."),
    _read_only(
        arguments.GitDiff,
        git.git_diff,
        "Show the differences between a commit (default: HEAD) and the files on disk, or between the two commits of "
        "a range.",
    ),
    _read_only(arguments.GitShow, git.git_show, "Show a commit and its changes, or, with path, a file in that commit."),
    _read_only(
        arguments.GitBlame, git.git_blame, "Show the author and date of the last change of each line of a file."
    ),
    _writing(
        arguments.Edit,
        edit.edit_file,
        "Replace an exact text in a file. It must occur exactly once unless replace_all is set.",
    ),
    _writing(
        arguments.Write,
        edit.write_file,
        "Create a file or replace its whole content. Missing folders are created. For a small change use Edit.",
        repeatable=True,
    ),
    _writing(
        arguments.Bash,
        bash.bash,
        "Run a command in the workspace and show its output. It has no input and no terminal, and all processes that "
        "it starts end with it. To read files use Read, Grep and Glob.",
    ),
)
TOOLS = {tool.spec.name: tool for tool in _ALL}
