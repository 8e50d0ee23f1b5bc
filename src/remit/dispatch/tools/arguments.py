"""The arguments of each tool. They have the same names as in Claude Code, because models know these.

The classes define the schema that is sent to a model, and check the arguments that it sends.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, field

from remit.dispatch.tools.model import ToolRefused

_MAX_PATTERN = 4_096
Number = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Path = Annotated[str, Meta(description="Relative to the workspace, or absolute inside it.")]
Folder = Annotated[str, Meta(description="The folder or file to search; default: the whole workspace.")]
Rev = Annotated[str, Meta(description="A commit, branch, tag or range such as main..HEAD.", max_length=400)]


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Read(_Arguments, frozen=True):
    """Arguments of Read."""

    file_path: Path
    offset: Annotated[Number, Meta(description="The first line to show, counted from 1.")] | None = None
    limit: Annotated[Number, Meta(description="The number of lines to show.")] | None = None


class Grep(_Arguments, frozen=True):
    """Arguments of Grep."""

    pattern: Annotated[str, Meta(description="A regular expression (Python's syntax).", max_length=_MAX_PATTERN)]
    path: Folder | None = None
    glob: (
        Annotated[
            str, Meta(description="Only files that match, e.g. *.py or src/**/*.{ts,tsx}.", max_length=_MAX_PATTERN)
        ]
        | None
    ) = None
    output_mode: Annotated[
        Literal["files_with_matches", "content", "count"],
        Meta(description="content: the lines; files_with_matches: the files; count: the matches in each file."),
    ] = "files_with_matches"
    ignore_case: Annotated[bool, Meta(description="Ignore case.")] = field(default=False, name="-i")
    numbers: Annotated[bool, Meta(description="Line numbers, with content.")] = field(default=True, name="-n")
    after: Annotated[Number, Meta(description="Lines after each match, with content.")] = field(default=0, name="-A")
    before: Annotated[Number, Meta(description="Lines before each match, with content.")] = field(default=0, name="-B")
    around: Annotated[Number, Meta(description="Lines before and after each match.")] = field(default=0, name="-C")
    head_limit: Annotated[Number, Meta(description="The maximum number of lines or files.")] | None = None
    multiline: Annotated[bool, Meta(description="The pattern may span lines; . matches a line end.")] = False


class Glob(_Arguments, frozen=True):
    """Arguments of Glob."""

    pattern: Annotated[str, Meta(description="E.g. **/*.py or src/*.{ts,tsx}.", max_length=_MAX_PATTERN)]
    path: Folder | None = None


class LS(_Arguments, frozen=True):
    """Arguments of LS."""

    path: Folder | None = None
    ignore: Annotated[
        list[Annotated[str, Meta(max_length=200)]], Meta(description="Names to leave out, e.g. *.pyc.", max_length=100)
    ] = []


class GitLog(_Arguments, frozen=True):
    """Arguments of GitLog."""

    path: Folder | None = None
    limit: Annotated[int, Meta(ge=1, le=500, description="The maximum number of commits.")] = 20
    rev: Rev | None = None


class GitDiff(_Arguments, frozen=True):
    """Arguments of GitDiff."""

    rev: Rev | None = None
    path: Folder | None = None


class GitShow(_Arguments, frozen=True):
    """Arguments of GitShow."""

    rev: Rev
    path: Annotated[str, Meta(description="Show this file in that commit, instead of the commit.")] | None = None


class GitBlame(_Arguments, frozen=True):
    """Arguments of GitBlame."""

    path: Path
    start: Annotated[int, Meta(ge=1, le=1_000_000_000, description="The first line.")] | None = None
    end: Annotated[int, Meta(ge=1, le=1_000_000_000, description="The last line.")] | None = None


class Write(_Arguments, frozen=True):
    """Arguments of Write."""

    file_path: Path
    content: str


class Edit(_Arguments, frozen=True):
    """Arguments of Edit."""

    file_path: Path
    old_string: Annotated[str, Meta(description="The exact text to replace, with its indentation.")]
    new_string: str
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class Bash(_Arguments, frozen=True):
    """Arguments of Bash."""

    command: Annotated[str, Meta(min_length=1, max_length=20_000)]
    timeout: Annotated[Number, Meta(description="Milliseconds; a number up to 600 means seconds.")] | None = None
    description: Annotated[str, Meta(description="What the command does, in a few words.")] | None = None


_T = TypeVar("_T", bound=msgspec.Struct)


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, without references."""
    _, schemas = msgspec.json.schema_components([kind])
    schema = schemas[kind.__name__]
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def parse_arguments(kind: type[_T], values: Any) -> _T:
    """Convert the arguments of a call; numbers and booleans may be text. Raises ToolRefused."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        names = ", ".join(entry.encode_name + ("" if entry.required else "?") for entry in msgspec.structs.fields(kind))
        raise ToolRefused(f"Wrong arguments: {error}. {kind.__name__} takes {names} (? = optional).") from error
