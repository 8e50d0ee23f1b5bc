"""Tool names: Claude Code's, so that public definitions work as they are, and what a worker grants of them.

A tool is written `Name` or `Name(pattern)`; a tool of an MCP server `mcp__server__tool`, `mcp__server__*` or
`mcp__server`. Names outside the catalogue are never granted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from remit.errors import did_you_mean

#: What Remit's own worker offers, in the order people read it.
OFFERED = (
    *("Read", "Grep", "Glob", "LS", "GitLog", "GitDiff", "GitShow", "GitBlame"),
    *("Edit", "Write", "Bash"),
)
#: What Claude Code has beside these: known names, so not typing mistakes.
_CLIENT = (
    *("Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree"),
    *("KillShell", "ListMcpResources", "LSP", "Monitor", "NotebookEdit", "NotebookRead", "ReadMcpResource"),
    *("SendMessage", "Skill", "SlashCommand", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop"),
    *("TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch"),
)
CATALOGUE = (*OFFERED, *_CLIENT)
#: Earlier names, and names that other clients give to the same tool. Compared without case, `_`, `-` and spaces.
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
#: Words for "every tool"; the first is ours.
EVERY_TOOL = "*"
EVERYTHING = frozenset({EVERY_TOOL, "all", "alltools"})
#: Granted only where somebody names them: "every tool" does not mean these.
BY_NAME = ("Bash",)
MAX_TOOLS = 200
MAX_NAME = 200

_MCP = re.compile(r"mcp__[A-Za-z0-9._-]+?(?:__[A-Za-z0-9._*-]+)?$")
_WRITTEN = re.compile(r"([^()]+?)\s*(\(.*\))?$", re.DOTALL)


class KnownTool(NamedTuple):
    """A tool as written: its name in the catalogue, and a pattern with its brackets or nothing."""

    name: str
    pattern: str = ""

    def __str__(self) -> str:
        return self.name + self.pattern


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


_BY_FOLDED = {_folded(name): name for name in CATALOGUE} | {_folded(name): tool for name, tool in ALIASES.items()}


@lru_cache(maxsize=4096)
def find_tool(written: str, own: frozenset[str] = frozenset()) -> KnownTool | None:
    """The tool that a text names, or None; `own` are further names that a worker offers."""
    text = written.strip()
    if text in own or (_MCP.match(text) and len(text) <= MAX_NAME):
        return KnownTool(text)
    parts = _WRITTEN.match(text) if len(text) <= MAX_NAME and text.isprintable() else None
    if parts is None:
        return None
    name = parts[1] if parts[1] in own else _BY_FOLDED.get(_folded(parts[1]))
    return KnownTool(name, parts[2] or "") if name else None


def server_of(name: str) -> str | None:
    """The MCP server that a tool belongs to, if it is one's."""
    return name.removeprefix("mcp__").partition("__")[0] if _MCP.match(name) else None


def is_all_tools(written: str) -> bool:
    """Whether a text asks for every tool."""
    return _folded(written) in EVERYTHING


def nearest_tool(written: str, own: Iterable[str] = ()) -> str:
    """`, did you mean 'Read'?` for a misspelt name, or nothing."""
    by_folded = {name.lower(): name for name in (*CATALOGUE, *own)}
    near = did_you_mean(written[:MAX_NAME].partition("(")[0].strip(), by_folded)
    for folded, name in by_folded.items():
        near = near.replace(f"{folded!r}", f"{name!r}")
    return near


def split_names(text: str) -> list[str]:
    """Names from text: separated by commas or lines, by spaces where every word is a tool; brackets hold together."""
    return list(_split(text))


@lru_cache(maxsize=256)
def _split(text: str) -> tuple[str, ...]:
    names: list[str] = []
    for piece in _pieces(text, ",\n"):
        words = list(_pieces(piece, " \t"))
        whole = find_tool(piece) is not None or is_all_tools(piece)
        names += words if len(words) > 1 and not whole and all(find_tool(word) for word in words) else [piece]
    return tuple(names)


def _pieces(text: str, separators: str) -> Iterator[str]:
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character in separators and not depth:
            if piece := text[start:place].strip():
                yield piece
            start = place + 1
    if piece := text[start:].strip():
        yield piece


class AllowList:
    """What a worker lets subagents use."""

    def __init__(self, names: Iterable[str]) -> None:
        given: list[str] = []
        named: list[str] = []
        for name in filter(None, map(str.strip, names)):
            given += OFFERED if is_all_tools(name) else (name,)
            named += () if is_all_tools(name) else (name,)
        self.own = frozenset(name for name in given if find_tool(name) is None)
        self.tools = tuple(dict.fromkeys(filter(None, (find_tool(name, self.own) for name in given))))
        meant = {find_tool(name, self.own) for name in named}
        #: What a subagent gets for whom nobody lists tools.
        self.unasked = tuple(tool for tool in self.tools if tool.name not in BY_NAME or tool in meant)
        whole = {tool.name for tool in self.tools if not tool.pattern}
        self._servers = tuple(
            name.removesuffix("*") if name.endswith("__*") else f"{name}__"
            for name in whole
            if _MCP.match(name) and (name.endswith("__*") or name.count("__") == 1)
        )
        #: `mcp__server` and `mcp__server__*` are one.
        self._whole = whole | {prefix.removesuffix("__") for prefix in self._servers}

    def granted(self, tool: KnownTool) -> tuple[KnownTool, ...]:
        """The part of a tool that is allowed: all of it, the allowed patterns of it, or nothing."""
        if tool.name in self._whole or (self._servers and tool.name.startswith(self._servers)):
            return (tool,)
        if tool in self.tools:
            return (tool,)
        own = tuple(allowed for allowed in self.tools if allowed.name == tool.name)
        return own if not tool.pattern else ()

    def __iter__(self) -> Iterator[KnownTool]:
        return iter(self.tools)


def intersection(tools: Iterable[KnownTool], others: Collection[KnownTool]) -> list[KnownTool]:
    """What both lists allow; the narrower of two ways to write one tool."""
    return [granted for tool in tools for granted in AllowList(map(str, others)).granted(tool)]
