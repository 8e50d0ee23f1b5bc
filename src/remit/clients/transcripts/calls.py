"""The tool calls of an agent, from the transcript of its client: what the readers of all clients share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import msgspec

from remit.evidence.commands import shell_reads, simple_commands
from remit.evidence.kept_output import kept_log, kept_output
from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern
from remit.shell.command_list import join_folder

#: Characters of an output, and calls of a transcript, that are read.
MAX_OUTPUT = 2_000_000
MAX_CALLS = 100_000
_MAX_NAMES = 5000
#: Lines of a notice of the client below those of a file.
_MAX_NOTICE = 12
_MAX_REFUSAL = 1_000
_TAG = lazy_pattern(r"</?tool_use_error>")
_NUMBERED = lazy_pattern(r"\s*(\d{1,9})(?:\t|→)")
_HIT = lazy_pattern(r"^(?:\./)?([^\s:][^:]{0,400}):(\d{1,9}):")
_OWN_HIT = lazy_pattern(r"^(\d{1,9})[:\-]")
_CONTEXT = lazy_pattern(r"-(\d{1,9})-")
_NOTICES = ("Found ", "No files found", "No matches found", "[Showing results", "(Results are truncated")
_SEARCHERS = frozenset({"ack", "ag", "egrep", "fgrep", "grep", "rg"})


def kept_lines(call: Receipt, output: str) -> str | None:
    """Return the lines of an output that may show the outcome of a command."""
    if call.action == "run":
        return kept_output(call.command, output)
    return kept_log(call.path or "", output) if call.action == "read" else None


def refusal(output: str) -> str:
    """Return the first line of what a tool printed that was refused to change a file."""
    lines = (_TAG.sub("", line).strip() for line in output[:_MAX_REFUSAL].split("\n"))
    return next((line for line in lines if line), "")


class LineFields(msgspec.Struct):
    """The fields of a line that every reader decodes."""

    type: str = ""
    cwd: str | None = None
    timestamp: str | None = None
    #: The session and the place of a line of Claude Code.
    sessionId: str | None = None  # noqa: N815 - the client's name
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 - the client's name
    #: What comes before a summary of the conversation, and whether the line is one.
    logicalParentUuid: str | None = None  # noqa: N815 - the client's name
    isCompactSummary: bool | None = None  # noqa: N815 - the client's name
    isSidechain: bool | None = None  # noqa: N815 - the client's name
    isMeta: bool | None = None  # noqa: N815 - the client's name
    isApiErrorMessage: bool | None = None  # noqa: N815 - the client's name
    #: The subagent that a line of Copilot CLI belongs to.
    agentId: str | None = None  # noqa: N815 - the client's name
    #: A message of opencode.
    info: Any = None
    parts: Any = None


class LineMessage(msgspec.Struct):
    """The message of a line of Claude Code."""

    content: Any = None
    model: str | None = None


class TranscriptLine(LineFields):
    """The fields of a line that a reader of any client uses."""

    message: LineMessage | None = None
    #: The content of a line of Codex.
    payload: Any = None
    #: The content of a line of Copilot CLI.
    data: Any = None


class AgentCalls(ABC):
    """The calls in the lines of a client's transcript. A reader adds them; it ignores lines of other clients."""

    def __init__(self, path: str = "", agent: str = "") -> None:
        self._path = path
        #: Only the calls of this agent count; "" for all.
        self._agent = agent
        self._calls: dict[str, Receipt] = {}
        #: The working directories of the agent, in the order of their first use.
        self.roots: dict[str, None] = {}
        #: The calls whose end was read after their result, because they ran in the background, in that order.
        self.ended_later: list[str] = []
        #: Whether a line of this client was read.
        self.is_known = False

    @abstractmethod
    def add(self, line: TranscriptLine) -> bool:
        """Add a line; False if it is not one of this client."""

    @property
    def receipts(self) -> list[Receipt]:
        """The calls in the order of their start."""
        return list(self._calls.values())

    @property
    def names(self) -> list[str]:
        """The names of the calls in the order of their start."""
        return list(self._calls)

    @property
    def count(self) -> int:
        """The number of calls so far."""
        return len(self._calls)

    def _append(self, receipts: Iterable[Receipt]) -> None:
        """Add calls that need no id, because their line also has the result."""
        for receipt in receipts:
            if len(self._calls) < MAX_CALLS:
                self._calls[f"#{len(self._calls)}"] = receipt

    def _add_root(self, folder: object) -> None:
        if isinstance(folder, str) and folder:
            self.roots.setdefault(folder)


def text_of(value: object) -> str:
    """Return a value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def table_of(value: object) -> dict[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def what_it_showed(call: Receipt, output: str) -> dict[str, Any]:
    """Return the fields of a receipt with the lines and files that a call showed, by the usual form of its output."""
    match call.tool:
        case "Read":
            return {"ranges": shown_ranges(output), "output": kept_log(call.path or "", output)}
        case "Grep":
            return {"hits": grep_hits(call.arguments, output)}
        case "Glob":
            return {"hits": dict.fromkeys(listed_names(output), ())}
        case "Bash":
            return {"hits": shell_hits(call.command, output)}
    return {}


def shown_ranges(output: str) -> tuple[tuple[int, int], ...]:
    """Return the range of lines that a Read showed, by their line numbers; (0, 0) if it showed only a notice."""
    if (first := _NUMBERED.match(output)) is not None:
        end = len(output)
        for _ in range(_MAX_NOTICE):
            start = output.rfind("\n", 0, end) + 1
            if last_line := _NUMBERED.match(output, start):
                if int(last_line[1]) - int(first[1]) == output.count("\n", 0, start):
                    # The usual case: one number on each line, without gaps, and then perhaps a notice.
                    return ((int(first[1]), int(last_line[1])),)
                break
            end = start - 1
            if end < 0:
                break
    numbers = [int(match.group(1)) for line in output.split("\n") if (match := _NUMBERED.match(line))]
    if not numbers:
        return ((0, 0),)
    last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            break  # the following lines are not from the file
        last = number
    return ((numbers[0], last),)


def listed_names(output: str) -> list[str]:
    """Return the files that a search listed, one on each line, without the client's notices."""
    lines = output.split("\n", _MAX_NAMES)[:_MAX_NAMES]
    return [line for line in lines if line.strip() and not line.startswith(_NOTICES)]


def grep_hits(arguments: dict[str, Any], output: str) -> dict[str, tuple[int, ...]]:
    """Return the files that a search listed, with the lines it showed. A search of one file does not print its name."""
    raw = arguments.get("path")
    target = raw if isinstance(raw, str) else None
    match arguments.get("output_mode"):
        case "content" if arguments.get("-n") is not False:
            return _numbered_hits(output, target)
        case "content":
            names = [line.split(":", 1)[0] for line in listed_names(output) if ":" in line]
        case "count":
            names = [line.rsplit(":", 1)[0] for line in listed_names(output) if ":" in line]
        case _:
            names = listed_names(output)
    return dict.fromkeys(names or [target] if target else names, ())


def _numbered_hits(output: str, target: str | None) -> dict[str, tuple[int, ...]]:
    """Parse `path:line:text` and context lines `path-line-text`; `line:text` belongs to the only file searched."""
    lines = [line for line in output.split("\n") if line not in ("", "--") and not line.startswith(_NOTICES)]
    if target and all(_OWN_HIT.match(line) for line in lines):
        return {target: tuple(int(line[: match.end() - 1]) for line in lines if (match := _OWN_HIT.match(line)))}
    hits: dict[str, list[int]] = {}
    around: list[str] = []
    for line in lines:
        if match := _HIT.match(line):
            hits.setdefault(match.group(1), []).append(int(match.group(2)))
        else:
            around.append(line)
    for line in around:
        marks = ((line[: mark.start()].removeprefix("./"), int(mark.group(1))) for mark in _CONTEXT.finditer(line))
        for name, number in marks:
            if name in hits:
                hits[name].append(number)
                break
    return {name: tuple(sorted(set(numbers))) for name, numbers in hits.items()}


def shell_hits(command: str, output: str) -> dict[str, tuple[int, ...]]:
    """Return the lines that a search in the shell showed: `grep -rn word src`."""
    for simple in simple_commands(command):
        if simple.program in _SEARCHERS or (simple.program == "git" and "grep" in simple.words):
            files = [name for name, _ in shell_reads(command)]
            hits = _numbered_hits(output, files[0] if len(files) == 1 else None)
            inside = {name: lines for hit, lines in hits.items() if (name := join_folder(simple.folder, hit))}
            return hits if hits.keys() <= set(files) else inside
    return {}
