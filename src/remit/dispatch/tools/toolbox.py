"""The tools of one job: grant them, run calls, and create the output and the receipt of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remit.dispatch.tools import bash, file_tools, git_tools, grep, sandbox
from remit.dispatch.tools.bash import is_everything
from remit.dispatch.tools.confined import Confined, ToolCall
from remit.dispatch.tools.tool_types import (
    ToolAnswer,
    ToolArguments,
    ToolLimits,
    ToolOutput,
    ToolRefused,
    ToolSpec,
    cap_text,
    parse_arguments,
    schema_of,
)
from remit.evidence.kept_output import kept_output
from remit.evidence.receipts import Receipt
from remit.registry.tools import find_tool
from remit.secrets.scan import redact, redact_all
from remit.store.storable import to_storable

#: Longer arguments are cut in a receipt. The transcript has the whole content, and the receipt its digest.
_MAX_ARGUMENT = 20_000
_MAX_ARGUMENTS = 50
_DEFAULT = ToolLimits()
#: Each search is a process; a model may ask for hundreds at once.
_MAX_SEARCHES = 4


class Toolbox:
    """The tools that a job was granted, confined to its folder."""

    def __init__(
        self,
        root: Path,
        granted: Sequence[str],
        *,
        spill: Path,
        limits: ToolLimits = _DEFAULT,
        is_redacting: bool = True,
    ) -> None:
        self._limits = limits
        self._is_redacting = is_redacting
        self._confined = Confined(root, spill, limits)
        self._tools: dict[str, ToolEntry] = {}
        self._patterns: list[str] = []
        #: Granted names without a tool here: tools of other systems, and patterns of tools other than Bash.
        self.withheld: list[str] = []
        self._grant(granted)
        self._writing = asyncio.Lock()
        self._searching = asyncio.Semaphore(_MAX_SEARCHES)

    def _grant(self, granted: Sequence[str]) -> None:
        is_unlimited = False
        for written in granted:
            tool = find_tool(written)
            if tool is None or tool.name not in TOOLS or (tool.pattern and tool.name != "Bash"):
                self.withheld.append(written)
                continue
            self._tools[tool.name] = TOOLS[tool.name]
            if tool.name == "Bash":
                pattern = tool.pattern[1:-1].strip()
                is_unlimited = is_unlimited or not tool.pattern or is_everything(pattern)
                self._patterns.append(pattern)
        if is_unlimited:
            self._patterns.clear()

    @property
    def specs(self) -> list[ToolSpec]:
        """Return the specs of the granted tools, in the order granted."""
        specs = [tool.spec for tool in self._tools.values()]
        if not self._patterns:
            return specs
        only = f" Only these commands are allowed: {', '.join(self._patterns)} (:* = any further arguments)."
        return [
            msgspec.structs.replace(spec, description=spec.description + only) if spec.name == "Bash" else spec
            for spec in specs
        ]

    @property
    def sandbox(self) -> str:
        """Return a description of the sandbox of Bash on this host."""
        return sandbox.describe_sandbox(network=self._limits.network)

    async def call(self, name: str, arguments: Mapping[str, Any], *, key: str = "") -> ToolOutput:
        """Run a tool. Errors that a model can cause are not raised: the output contains the reason."""
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            answer = await self._answer(name, arguments)
        except ToolRefused as refused:
            answer = ToolAnswer(str(refused), exit=refused.exit, failed=True)
        except OSError as error:
            answer = ToolAnswer(
                f"{name} failed: {error.strerror or error}. Try once more or continue without it.", failed=True
            )
        except MemoryError:
            answer = ToolAnswer(f"{name} failed: there is not enough memory. Ask for less.", failed=True)
        except (ValueError, RuntimeError) as error:  # RuntimeError includes RecursionError
            answer = ToolAnswer(f"{name} failed: {error}. Check the arguments.", failed=True)
        return await asyncio.to_thread(self._output, name, arguments, answer, key, started)

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        tool = self._tools.get(name)
        if tool is None:
            granted = ", ".join(self._tools) or "none"
            raise ToolRefused(f"You do not have the tool {name[:100]!r}. Your tools: {granted}. Use one of them.")
        parsed = parse_arguments(tool.arguments, arguments)
        if name == "Grep":
            async with self._searching:
                return await tool.run(self._call(), parsed)
        if tool.spec.is_read_only:
            return await tool.run(self._call(), parsed)
        async with self._writing:
            return await tool.run(self._call(), parsed)

    def _call(self) -> ToolCall:
        return ToolCall(self._confined, self._limits, tuple(self._patterns))

    def _output(
        self, name: str, arguments: Mapping[str, Any], answer: ToolAnswer, key: str, started: str
    ) -> ToolOutput:
        """Cut the text and create the receipt. Only lines that are sent to the model count as read."""
        text = to_storable(answer.text)
        recorded = recorded_arguments(arguments)
        if self._is_redacting:  # before the text is cut: the whole text goes to a file
            text, recorded = redact(text), redact_all(recorded)
        capped = cap_text(text, self._limits.characters, self._confined.spill, key)
        hits = {path: set(lines) for path, lines in answer.hits.items()}
        for mark in filter(None, answer.marks[: capped.lines]):
            hits.setdefault(mark[0], set()).update((mark[1],) if mark[1] else ())
        receipt = Receipt(
            tool=to_storable(name[:200]),
            arguments=recorded,
            path=to_storable(answer.path) if answer.path is not None else None,
            ranges=answer.ranges,
            exit=answer.exit,
            digest=answer.digest,
            time=started,
            hits={to_storable(path): tuple(sorted(lines)) for path, lines in hits.items()},
            failed=answer.failed,
            output=_kept(recorded, text) if answer.exit is not None else None,
        )
        return ToolOutput(capped.text, receipt, answer.failed)


def _kept(arguments: Mapping[str, Any], text: str) -> str:
    command = arguments.get("command")
    return kept_output(command if isinstance(command, str) else "", text)


def recorded_arguments(arguments: Any) -> dict[str, Any]:
    """Return arguments for a receipt: bounded and storable."""
    if not isinstance(arguments, Mapping):
        return {"arguments": _bounded(str(arguments))}
    return {
        _bounded(str(key))[:200]: value if _is_plain(value) else _bounded(_as_text(value))
        for key, value in list(arguments.items())[:_MAX_ARGUMENTS]
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 63)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)[:_MAX_ARGUMENT]


def _bounded(text: str) -> str:
    clean = to_storable(text[:_MAX_ARGUMENT])
    return clean if len(text) <= _MAX_ARGUMENT else f"{clean} [… {len(text) - _MAX_ARGUMENT:,} more characters]"


class ToolEntry(NamedTuple):
    """A tool."""

    spec: ToolSpec
    arguments: type[ToolArguments]
    run: Callable[[ToolCall, Any], Awaitable[ToolAnswer]]


def _read_only(
    kind: type[ToolArguments], run: Callable[[ToolCall, Any], Awaitable[ToolAnswer]], description: str
) -> ToolEntry:
    return ToolEntry(ToolSpec(kind.__name__, description, schema_of(kind), True, True), kind, run)  # noqa: FBT003 (positional fields of a struct)


def _writing(
    kind: type[ToolArguments],
    run: Callable[[ToolCall, Any], Awaitable[ToolAnswer]],
    description: str,
    *,
    repeatable: bool = False,
) -> ToolEntry:
    spec = ToolSpec(kind.__name__, description, schema_of(kind), is_read_only=False, is_repeatable=repeatable)
    return ToolEntry(spec, kind, run)


_ALL = (
    _read_only(
        file_tools.Read,
        file_tools.read_lines,
        "Read a text file. Lines are numbered; the number and the tab after it are not part of the file. "
        "Up to 2,000 lines at a time: use offset and limit for more.",
    ),
    _read_only(
        grep.Grep,
        grep.grep,
        "Search the files of the workspace with a regular expression. Ignored and binary files are skipped. "
        "Lists matching files unless output_mode is set.",
    ),
    _read_only(file_tools.Glob, file_tools.glob_files, "List files whose path matches a pattern, sorted by path."),
    _read_only(file_tools.LS, file_tools.list_folder, "List the names in one folder. Folders end with /."),
    _read_only(git_tools.GitLog, git_tools.git_log, "List commits, newest first, of a path or of the whole workspace."),
    _read_only(
        git_tools.GitDiff,
        git_tools.git_diff,
        "Show the differences between a commit (default: HEAD) and the files on disk, or between the two commits of "
        "a range.",
    ),
    _read_only(
        git_tools.GitShow, git_tools.git_show, "Show a commit and its changes, or, with path, a file in that commit."
    ),
    _read_only(
        git_tools.GitBlame, git_tools.git_blame, "Show the author and date of the last change of each line of a file."
    ),
    _writing(
        file_tools.Edit,
        file_tools.edit_file,
        "Replace an exact text in a file. It must occur exactly once unless replace_all is set.",
    ),
    _writing(
        file_tools.Write,
        file_tools.write_file,
        "Create a file or replace its whole content. Missing folders are created. For a small change use Edit.",
        repeatable=True,
    ),
    _writing(
        bash.Bash,
        bash.bash,
        "Run a command in the workspace and show its output. It has no input and no terminal, and all processes that "
        "it starts end with it. To read files use Read, Grep and Glob.",
    ),
)
TOOLS = {tool.spec.name: tool for tool in _ALL}
