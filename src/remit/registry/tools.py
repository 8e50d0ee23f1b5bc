"""The names of tools, and the tools that a worker grants. The names are those of Claude Code.

A tool is written `Name` or `Name(pattern)`; a tool of an MCP server `mcp__server__tool`, `mcp__server__*` or
`mcp__server`. Names outside the catalogue are never granted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from remit.errors import did_you_mean

#: The tools of Remit's worker, in the order in which they are shown.
OFFERED = (
    *("Read", "Grep", "Glob", "LS", "GitLog", "GitDiff", "GitShow", "GitBlame"),
    *("Edit", "Write", "Bash"),
)
#: The tools that a definition of a checkout may have without a word of the person.
DESCRIBED = tuple(name for name in OFFERED if name != "Bash")
#: Further tools of Claude Code. They are known names, so they are not reported as typing mistakes.
_CLIENT = (
    *("Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree"),
    *("KillShell", "ListMcpResources", "LSP", "Monitor", "NotebookEdit", "NotebookRead", "ReadMcpResource"),
    *("SendMessage", "Skill", "SlashCommand", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop"),
    *("TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch"),
)
CATALOGUE = (*OFFERED, *_CLIENT)
#: Earlier names, and names of other clients for the same tool. They are compared without case, `_`, `-` and spaces.
ALIASES = {
    "Task": "Agent",
    "MultiEdit": "Edit",
    "StrReplace": "Edit",
    "EditFile": "Edit",
    "View": "Read",
    "ReadFile": "Read",
    "WriteFile": "Write",
    "CreateFile": "Write",
    "GrepTool": "Grep",
    "GlobTool": "Glob",
    "ListFiles": "LS",
    "ListDirectory": "LS",
    "Shell": "Bash",
    "KillBash": "KillShell",
    "FetchUrl": "WebFetch",
    "ListMcpResourcesTool": "ListMcpResources",
    "ReadMcpResourceTool": "ReadMcpResource",
}
#: Ways to write "every tool"; the first is the canonical one.
EVERY_TOOL = "*"
EVERYTHING = frozenset({EVERY_TOOL, "all", "alltools"})
#: Tools that have to be named: "every tool" does not include them.
BY_NAME = ("Bash",)
MAX_TOOLS = 200
MAX_NAME = 200

_MCP = re.compile(r"mcp__[A-Za-z0-9._-]+?(?:__[A-Za-z0-9._*-]+)?$")
_WRITTEN = re.compile(r"([^()]+?)\s*(\(.*\))?$", re.DOTALL)


class KnownTool(NamedTuple):
    """A tool: its name in the catalogue, and its pattern with brackets or an empty text."""

    name: str
    pattern: str = ""

    def __str__(self) -> str:
        return self.name + self.pattern


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


_BY_FOLDED = {_folded(name): name for name in CATALOGUE} | {_folded(name): tool for name, tool in ALIASES.items()}


@lru_cache(maxsize=4096)
def find_tool(text: str, custom: frozenset[str] = frozenset()) -> KnownTool | None:
    """Return the tool that a text names, or None; `custom` are those of a worker."""
    text = text.strip()
    if text in custom or (_MCP.match(text) and len(text) <= MAX_NAME):
        return KnownTool(text)
    parts = _WRITTEN.match(text) if len(text) <= MAX_NAME and text.isprintable() else None
    if parts is None:
        return None
    name = parts[1] if parts[1] in custom else _BY_FOLDED.get(_folded(parts[1]))
    return KnownTool(name, parts[2] or "") if name else None


def server_of(name: str) -> str | None:
    """Return the MCP server of a tool; None if it is not a tool of a server."""
    return name.removeprefix("mcp__").partition("__")[0] if _MCP.match(name) else None


def is_all_tools(text: str) -> bool:
    """Return whether a text means every tool."""
    return _folded(text) in EVERYTHING


def nearest_tool(text: str, custom: Iterable[str] = ()) -> str:
    """Return `, did you mean 'Read'?` for a misspelt name; empty if no name is similar."""
    by_folded = {name.lower(): name for name in (*CATALOGUE, *custom)}
    near = did_you_mean(text[:MAX_NAME].partition("(")[0].strip(), by_folded)
    for folded, name in by_folded.items():
        near = near.replace(f"{folded!r}", f"{name!r}")
    return near


def split_names(text: str) -> list[str]:
    """Split a text into names at commas and line breaks, and at spaces if every word is a tool; not inside brackets."""
    return list(_split(text))


@lru_cache(maxsize=256)
def _split(text: str) -> tuple[str, ...]:
    names: list[str] = []
    for piece in _pieces(text, ",\n"):
        words = list(_pieces(piece, " \t"))
        is_name = find_tool(piece) is not None or is_all_tools(piece)
        names += words if len(words) > 1 and not is_name and all(find_tool(word) for word in words) else [piece]
    return tuple(names)


def _pieces(text: str, separators: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character in separators and not depth:
            if piece := text[start:position].strip():
                yield piece
            start = position + 1
    if piece := text[start:].strip():
        yield piece


class AllowList:
    """The tools that subagents may use."""

    def __init__(self, names: Iterable[str]) -> None:
        expanded: list[str] = []
        explicit: list[str] = []
        for name in filter(None, map(str.strip, names)):
            expanded += OFFERED if is_all_tools(name) else (name,)
            explicit += () if is_all_tools(name) else (name,)
        #: Custom tools of the worker, which are not in the catalogue.
        self.own = frozenset(name for name in expanded if find_tool(name) is None)
        self.tools = tuple(dict.fromkeys(filter(None, (find_tool(name, self.own) for name in expanded))))
        named = {find_tool(name, self.own) for name in explicit}
        #: The tools of a subagent if neither its job nor its definition lists tools.
        self.default = tuple(tool for tool in self.tools if tool.name not in BY_NAME or tool in named)
        whole = {tool.name for tool in self.tools if not tool.pattern}
        self._servers = tuple(
            name.removesuffix("*") if name.endswith("__*") else f"{name}__"
            for name in whole
            if _MCP.match(name) and (name.endswith("__*") or name.count("__") == 1)
        )
        #: Names that are allowed without a pattern. `mcp__server` and `mcp__server__*` mean the same.
        self._whole = whole | {prefix.removesuffix("__") for prefix in self._servers}

    def granted(self, tool: KnownTool) -> tuple[KnownTool, ...]:
        """Return the allowed part of a tool: the tool, its allowed patterns, or nothing."""
        if tool.name in self._whole or (self._servers and tool.name.startswith(self._servers)):
            return (tool,)
        if tool in self.tools:
            return (tool,)
        patterns = tuple(allowed for allowed in self.tools if allowed.name == tool.name)
        return patterns if not tool.pattern else ()

    def __iter__(self) -> Iterator[KnownTool]:
        return iter(self.tools)


def intersection(tools: Iterable[KnownTool], others: Collection[KnownTool]) -> list[KnownTool]:
    """Return the tools that both lists allow. If only one list has a pattern for a tool, the pattern remains."""
    return [granted for tool in tools for granted in AllowList(map(str, others)).granted(tool)]
