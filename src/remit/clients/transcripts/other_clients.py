"""Recognise the transcripts of other clients line by line, and read their tool calls as receipts.

    Codex       `{"type": "event_msg", "payload": {"type": "item_completed", "item": …}}`: one item for each call, also
                for the calls inside a code-mode script
    Copilot     `{"type": "tool.execution_start", "data": …}` and `tool.execution_complete`, in one file for all agents
                of a session; `agentId` names the subagent
    opencode    `{"info": …, "parts": […]}`: a message, with one part for each call

An item of Codex has everything that a receipt needs, so the messages of the model are not read, except launches of
subagents.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import msgspec

from remit.clients.transcripts.tool_outputs import grep_hits, listed_names, shell_hits, shown_ranges
from remit.evidence.receipts import Receipt
from remit.evidence.runners import kept_log, kept_output

_MAX_OUTPUT = 2_000_000
_MAX_CALLS = 100_000
_COPILOT = ("session.", "tool.", "assistant.", "user.", "subagent.", "hook.", "permission.", "system.")
_COPILOT_TOOLS = {
    "bash": "Bash",
    "view": "Read",
    "edit": "Edit",
    "create": "Write",
    "grep": "Grep",
    "glob": "Glob",
    "task": "Agent",
}
_OPENCODE_TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "edit": "Edit",
    "write": "Write",
    "multiedit": "MultiEdit",
    "grep": "Grep",
    "glob": "Glob",
    "task": "Agent",
}
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "world_state", "compacted"})


class CodexCalls:
    """The calls of a rollout of Codex."""

    def __init__(self) -> None:
        self.receipts: list[Receipt] = []
        self.roots: dict[str, None] = {}
        self.is_known = False

    def add(self, kind: str, payload: object, time: str | None) -> bool:
        """Add a line; False if it is not one of this client."""
        if kind not in _CODEX or not isinstance(payload, dict):
            return False
        if kind in ("session_meta", "turn_context"):
            self.is_known = True
            if isinstance(payload.get("cwd"), str):
                self.roots.setdefault(payload["cwd"])
        item = payload.get("item")
        if len(self.receipts) >= _MAX_CALLS:
            return True
        if payload.get("type") == "item_completed" and isinstance(item, dict):
            self.receipts += self._item(item, time)
        elif payload.get("type") == "function_call" and str(payload.get("name", "")).endswith("spawn_agent"):
            self.receipts += _launch(payload, time)
        return True

    def _item(self, item: dict[str, Any], time: str | None) -> list[Receipt]:
        if item.get("type") == "CommandExecution":
            return [_command(item, time)]
        changes = item.get("changes")
        if item.get("type") != "FileChange" or not isinstance(changes, dict):
            return []
        failed = item.get("status") != "completed"
        found: list[Receipt] = []
        for path, change in changes.items():
            moved = change.get("move_path") if isinstance(change, dict) else None
            names = [path, *([moved] if isinstance(moved, str) else [])]
            found += [Receipt("Edit", {"file_path": name}, path=name, time=time, failed=failed) for name in names]
        return found


def _command(item: dict[str, Any], time: str | None) -> Receipt:
    words = item.get("command")
    command = words[-1] if isinstance(words, list) and words and isinstance(words[-1], str) else ""
    output = _text(item.get("aggregated_output"))[:_MAX_OUTPUT]
    status = item.get("exit_code")
    cwd = _text(item.get("cwd"))
    # A command whose session was still open when the item was written has no status.
    receipt = Receipt(
        "Bash",
        {"command": command},
        exit=status if isinstance(status, int) and not isinstance(status, bool) else None,
        time=time,
        cwd=unquote(cwd.removeprefix("file://")) or None,
        failed=item.get("status") == "declined",
        pending=item.get("status") == "in_progress",
        output=kept_output(command, output),
    )
    if receipt.failed or status:
        return receipt
    return msgspec.structs.replace(receipt, hits=shell_hits(command, output))


def _launch(payload: dict[str, Any], time: str | None) -> list[Receipt]:
    try:
        given = msgspec.json.decode(_text(payload.get("arguments")).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return []
    agent = given.get("agent_type") if isinstance(given, dict) else None
    return [Receipt("Agent", {"subagent_type": agent if isinstance(agent, str) else "default"}, time=time)]


class CopilotCalls:
    """The calls of one agent, or of all, in the events of a session of Copilot CLI."""

    def __init__(self, agent: str = "") -> None:
        self._agent = agent
        self._calls: dict[str, Receipt] = {}
        self._cwd: str | None = None
        self.roots: dict[str, None] = {}
        self.is_known = False

    @property
    def receipts(self) -> list[Receipt]:
        """The calls in the order of their start."""
        return list(self._calls.values())

    def add(self, kind: str, data: object, time: str | None, agent: str | None) -> bool:
        """Add a line; False if it is not one of this client."""
        if not kind.startswith(_COPILOT) or not isinstance(data, dict):
            return False
        context = data.get("context")
        if kind == "session.start":
            self.is_known = True
            if isinstance(context, dict) and isinstance(context.get("cwd"), str):
                self._cwd = context["cwd"]
                self.roots.setdefault(context["cwd"])
        call = data.get("toolCallId")
        if not isinstance(call, str) or (self._agent and agent != self._agent):
            return True
        if kind == "tool.execution_start" and len(self._calls) < _MAX_CALLS:
            self._calls.setdefault(call, self._started(data, time))
        elif kind == "tool.execution_complete" and call in self._calls:
            self._calls[call] = _completed(self._calls[call], data)
        return True

    def _started(self, data: dict[str, Any], time: str | None) -> Receipt:
        """Return the receipt of a call without a result: it counts as failed until a result is found."""
        raw, tool = data.get("arguments"), _text(data.get("toolName"))
        arguments: dict[str, Any] = raw if isinstance(raw, dict) else {}
        name = _COPILOT_TOOLS.get(tool, tool)
        path = arguments.get("path") if name in ("Read", "Edit", "Write") else None
        if name == "Agent":
            arguments = {"subagent_type": _text(arguments.get("agent_type"))}
        return Receipt(
            name, arguments, path=path if isinstance(path, str) else None, time=time, cwd=self._cwd, failed=True
        )


def _completed(call: Receipt, data: dict[str, Any]) -> Receipt:
    failed = data.get("success") is not True
    result, shell = data.get("result"), data.get("shellExecution")
    shown = result if isinstance(result, dict) else {}
    output = (_text(shown.get("detailedContent")) if call.tool == "Bash" else "") or _text(shown.get("content"))
    output = output[:_MAX_OUTPUT]
    details: dict[str, Any] = {"failed": failed}
    if call.tool == "Bash":
        status = shell.get("exitCode") if isinstance(shell, dict) else None
        details |= {"exit": status if isinstance(status, int) else None, "pending": status is None and not failed}
        details["output"] = kept_output(call.command, output)
    if not failed:
        match call.tool:
            case "Read":
                details["ranges"] = (_shown_range(call, _text(shown.get("content"))),)
                details["output"] = kept_log(call.path or "", output)
            case "Grep":
                details["hits"] = grep_hits(call.arguments, output)
            case "Glob":
                details["hits"] = dict.fromkeys((name.removeprefix("./") for name in listed_names(output)), ())
            case "Bash":
                details["hits"] = shell_hits(call.command, output)
    return msgspec.structs.replace(call, **details)


def _shown_range(call: Receipt, output: str) -> tuple[int, int]:
    """Return the lines that a view showed: it prints no numbers, so they are counted from the first."""
    lines = call.arguments.get("view_range")
    first = lines[0] if isinstance(lines, list) and lines and isinstance(lines[0], int) else 1
    return max(first, 1), max(first, 1) + output.count("\n")


class OpencodeCalls:
    """The calls in the messages of a session of opencode."""

    def __init__(self) -> None:
        self.receipts: list[Receipt] = []
        self.roots: dict[str, None] = {}
        self.is_known = False

    def add(self, info: object, parts: object) -> bool:
        """Add a message; False if it is not one of this client."""
        if not isinstance(info, dict) or not isinstance(parts, list) or info.get("role") not in ("user", "assistant"):
            return False
        self.is_known = True
        place = info.get("path")
        cwd = _text(place.get("cwd")) if isinstance(place, dict) else ""
        if cwd:
            self.roots.setdefault(cwd)
        for part in parts:
            if isinstance(part, dict) and part.get("type") == "tool" and len(self.receipts) < _MAX_CALLS:
                self.receipts.append(_part(part, cwd))
        return True


def _part(part: dict[str, Any], cwd: str) -> Receipt:
    found_state = part.get("state")
    state: dict[str, Any] = found_state if isinstance(found_state, dict) else {}
    raw, about = state.get("input"), state.get("metadata")
    arguments: dict[str, Any] = raw if isinstance(raw, dict) else {}
    details = about if isinstance(about, dict) else {}
    tool = _OPENCODE_TOOLS.get(_text(part.get("tool")), _text(part.get("tool")))
    path, output = arguments.get("filePath"), _text(state.get("output"))[:_MAX_OUTPUT]
    failed, status = state.get("status") != "completed", details.get("exit")
    receipt = Receipt(
        tool,
        {"subagent_type": _text(arguments.get("subagent_type"))} if tool == "Agent" else arguments,
        path=path if isinstance(path, str) else None,
        exit=status if tool == "Bash" and isinstance(status, int) else None,
        failed=failed,
        cwd=cwd or None,
    )
    if tool == "Bash":
        receipt = msgspec.structs.replace(receipt, output=kept_output(receipt.command, output))
    if failed:
        return receipt
    found: dict[str, Any] = {}
    match tool:
        case "Read":
            shown = details.get("display")
            first, last = (shown.get("lineStart"), shown.get("lineEnd")) if isinstance(shown, dict) else (None, None)
            is_range = isinstance(first, int) and isinstance(last, int)
            found["ranges"] = ((first, last),) if is_range else shown_ranges(output)
            found["output"] = kept_log(receipt.path or "", output)
        case "Grep":
            found["hits"] = _opencode_hits(output)
        case "Glob":
            found["hits"] = dict.fromkeys((one for one in listed_names(output) if one.startswith("/")), ())
        case "Bash":
            found["hits"] = shell_hits(receipt.command, output)
    return msgspec.structs.replace(receipt, **found)


def _opencode_hits(output: str) -> dict[str, tuple[int, ...]]:
    """Return the hits of a search: the path of a file and a colon, then lines of the form `  Line 3: text`.

    An empty line follows each hit. The first line has the number of hits; without a hit it is `No files found`.
    """
    hits: dict[str, list[int]] = {}
    current = ""
    for line in output.split("\n"):
        number = line.strip().removeprefix("Line ").partition(":")[0]
        if line.startswith("/") and line.endswith(":"):
            current = line[:-1]
            hits.setdefault(current, [])
        elif current and line.strip().startswith("Line ") and number.isdecimal() and len(number) < 9:
            hits[current].append(int(number))
    return {path: tuple(lines) for path, lines in hits.items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
