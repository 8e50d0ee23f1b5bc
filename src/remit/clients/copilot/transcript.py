"""Read the calls in the events of a session of Copilot CLI.

The lines are `{"type": "tool.execution_start", "data": …}` and `tool.execution_complete`, in one file for all agents of
a session; `agentId` names the subagent.
"""

from __future__ import annotations

from typing import Any

import msgspec

from remit.clients.transcripts.calls import (
    MAX_CALLS,
    MAX_OUTPUT,
    AgentCalls,
    TranscriptLine,
    kept_lines,
    table_of,
    text_of,
    what_it_showed,
)
from remit.evidence.receipts import Receipt

_LINES = ("session.", "tool.", "assistant.", "user.", "subagent.", "hook.", "permission.", "system.")
_TOOLS = {
    "bash": "Bash",
    "view": "Read",
    "edit": "Edit",
    "create": "Write",
    "grep": "Grep",
    "glob": "Glob",
    "task": "Agent",
}


class CopilotCalls(AgentCalls):
    """The calls of one agent, or of all, in the events of a session of Copilot CLI."""

    def __init__(self, path: str = "", agent: str = "") -> None:
        super().__init__(path, agent)
        self._cwd: str | None = None

    def add(self, line: TranscriptLine) -> bool:
        """Add a line; False if it is not one of this client."""
        kind, data, time = line.type, line.data, line.timestamp
        if not kind.startswith(_LINES) or not isinstance(data, dict):
            return False
        if kind == "session.start":
            self.is_known = True
            self._cwd = text_of(table_of(data.get("context")).get("cwd")) or self._cwd
            self._add_root(self._cwd)
        call = data.get("toolCallId")
        if not isinstance(call, str) or (self._agent and line.agentId != self._agent):
            return True
        if kind == "tool.execution_start" and len(self._calls) < MAX_CALLS:
            self._calls.setdefault(call, self._started(data, time))
        elif kind == "tool.execution_complete" and call in self._calls:
            self._calls[call] = _completed(self._calls[call], data)
        return True

    def _started(self, data: dict[str, Any], time: str | None) -> Receipt:
        """Return the receipt of a call without a result: it counts as failed until a result is found."""
        arguments, tool = table_of(data.get("arguments")), text_of(data.get("toolName"))
        name = _TOOLS.get(tool, tool)
        path = text_of(arguments.get("path")) if name in ("Read", "Edit", "Write") else ""
        if name == "Agent":
            arguments = {"subagent_type": text_of(arguments.get("agent_type"))}
        return Receipt(name, arguments, path=path or None, time=time, cwd=self._cwd, failed=True)


def _completed(call: Receipt, data: dict[str, Any]) -> Receipt:
    failed = data.get("success") is not True
    shown = table_of(data.get("result"))
    output = (text_of(shown.get("detailedContent")) if call.tool == "Bash" else "") or text_of(shown.get("content"))
    output = output[:MAX_OUTPUT]
    details: dict[str, Any] = {"failed": failed, "output": kept_lines(call, output)}
    if call.tool == "Bash":
        status = table_of(data.get("shellExecution")).get("exitCode")

        details |= {"exit": status if isinstance(status, int) else None, "pending": status is None and not failed}
    if not failed:
        details |= what_it_showed(call, output)
    if not failed and call.tool == "Read":
        details["ranges"] = (_shown_range(call, text_of(shown.get("content"))),)
    if not failed and call.tool == "Glob":
        details["hits"] = {name.removeprefix("./"): () for name in details["hits"]}
    return msgspec.structs.replace(call, **details)


def _shown_range(call: Receipt, output: str) -> tuple[int, int]:
    """Return the lines that a view showed: it prints no numbers, so they are counted from the first."""
    lines = call.arguments.get("view_range")
    first = lines[0] if isinstance(lines, list) and lines and isinstance(lines[0], int) else 1
    return max(first, 1), max(first, 1) + output.count("\n")


CALLS = CopilotCalls
