"""Read the calls in a rollout of Codex.

A line is `{"type": "event_msg", "payload": {"type": "item_completed", "item": …}}`: one item for each call, also for
the calls inside a code-mode script. An item has everything that a receipt needs. Older versions wrote none: there, a
call is a pair of response items with one `call_id`: `function_call` (or `custom_tool_call` for a patch) and its output.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import msgspec

from remit.clients.transcripts.calls import (
    MAX_CALLS,
    MAX_OUTPUT,
    AgentCalls,
    TranscriptLine,
    kept_lines,
    shell_hits,
    table_of,
    text_of,
)
from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern

_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "world_state", "compacted"})
_SHELLS = frozenset({"shell", "shell_command", "exec_command", "container.exec", "local_shell"})
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_STATUS = lazy_pattern(r"(?:Process exited with code|Exit code:) (-?\d{1,5})\b")
_BODY = "Output:\n"
#: The status of a command is at the beginning of its output.
_MAX_HEAD = 1_000
_PATCHED = lazy_pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,1000})$", 8)
_PATCH = "*** Begin Patch"
_MAX_PATCHED = 1_000


class CodexCalls(AgentCalls):
    """The calls of a rollout of Codex."""

    def add(self, line: TranscriptLine) -> bool:
        """Add a line; False if it is not one of this client."""
        kind, payload, time = line.type, line.payload, line.timestamp
        if kind not in _LINES or not isinstance(payload, dict):
            return False
        if kind in ("session_meta", "turn_context"):
            self.is_known = True
            self._add_root(payload.get("cwd"))
        item, form = payload.get("item"), payload.get("type")
        if form == "item_completed" and isinstance(item, dict):
            self._put(text_of(item.get("id")), self._item(item, time))
        elif form == "function_call" and str(payload.get("name", "")).endswith("spawn_agent"):
            self._append(_launch(payload, time))
        elif form in _CALLS:
            self._put(text_of(payload.get("call_id")), _started(payload, time, next(iter(self.roots), None)))
        elif form in _OUTPUTS:
            self._end(text_of(payload.get("call_id")), _output_of(payload.get("output")))
        return True

    def _put(self, name: str, receipts: Iterable[Receipt]) -> None:
        """Add the receipts of a call by its id; those of its item replace those of its response item."""
        if not name:
            self._append(receipts)
            return
        for number, receipt in enumerate(receipts):
            key = f"{name}#{number}"
            if key in self._calls:  # the call was known before it ended
                self.ended_later.append(key)
            if key in self._calls or len(self._calls) < MAX_CALLS:
                self._calls[key] = receipt

    def _end(self, name: str, output: str) -> None:
        """Complete the receipts of a response item with its output."""
        number = 0
        while (known := self._calls.get(key := f"{name}#{number}")) is not None:
            if known.pending:
                self._calls[key] = _ended(known, output)
            number += 1

    def _item(self, item: dict[str, Any], time: str | None) -> list[Receipt]:
        if item.get("type") == "CommandExecution":
            return [_command(item, time)]
        changes = item.get("changes")
        if item.get("type") != "FileChange" or not isinstance(changes, dict):
            return []
        failed = item.get("status") != "completed"
        names: list[str] = []
        for path, change in changes.items():
            names += [path, *filter(None, [text_of(table_of(change).get("move_path"))])]
        return [Receipt("Edit", {"file_path": name}, path=name, time=time, failed=failed) for name in names]


def _started(payload: dict[str, Any], time: str | None, folder: str | None) -> list[Receipt]:
    """Return the receipts of a response item: a command, or the files of a patch. They wait for the output."""
    arguments = _arguments(payload)
    command_value = arguments.get("command", arguments.get("cmd"))
    words = command_value if isinstance(command_value, list) else [command_value]
    command = text_of(words[-1]) if words else ""
    patch = text_of(payload.get("input")) if payload.get("name") == "apply_patch" else ""
    if not patch and _PATCH in command and "apply_patch" in "".join(map(str, words)):
        patch = command
    if patch:
        names = _PATCHED.findall(patch)[:_MAX_PATCHED]
        return [
            Receipt("Edit", {"file_path": name}, name.strip(), time=time, cwd=folder, pending=True) for name in names
        ]
    if payload.get("type") != "local_shell_call" and payload.get("name") not in _SHELLS:
        return []
    cwd = text_of(arguments.get("workdir")) or text_of(arguments.get("working_directory")) or folder
    return [Receipt("Bash", {"command": command}, time=time, cwd=cwd, pending=True)]


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    if payload.get("type") == "local_shell_call":
        return table_of(payload.get("action"))
    return _json(payload.get("arguments"))


def _json(text: object) -> dict[str, Any]:
    try:
        return table_of(msgspec.json.decode(text_of(text).encode("utf-8", "replace")))
    except (msgspec.DecodeError, RecursionError):
        return {}


def _output_of(value: object) -> str:
    """Return the text of an output, which has been written in several forms."""
    if isinstance(value, list):
        return "\n".join(text_of(table_of(part).get("text")) for part in value)[:MAX_OUTPUT]
    if isinstance(value, dict):
        return text_of(value.get("content"))[:MAX_OUTPUT]
    return text_of(value)[:MAX_OUTPUT]


def _ended(call: Receipt, output: str) -> Receipt:
    """Return a receipt with its output. An output without a status is that of a call that did not run."""
    stored = _json(output) if output.startswith("{") else {}
    details = table_of(stored.get("metadata"))
    match = _STATUS.search(output, 0, _MAX_HEAD)
    status = details.get("exit_code") if "exit_code" in details else int(match[1]) if match else None
    is_running = match is None and not details and "Process running" in output[:_MAX_HEAD]
    shown = text_of(stored.get("output")) if stored else output.partition(_BODY)[2] or output
    exit_status = status if isinstance(status, int) and not isinstance(status, bool) else None
    failed = exit_status is None and not is_running
    if call.tool == "Edit":
        return msgspec.structs.replace(
            call, failed=exit_status not in (0, None) or "Success" not in shown, pending=False
        )
    return msgspec.structs.replace(
        call,
        exit=exit_status,
        failed=failed,
        pending=is_running,
        output=kept_lines(call, shown),
        hits=shell_hits(call.command, shown) if exit_status == 0 else {},
    )


def _command(item: dict[str, Any], time: str | None) -> Receipt:
    words = item.get("command")
    command = words[-1] if isinstance(words, list) and words and isinstance(words[-1], str) else ""
    output = text_of(item.get("aggregated_output"))[:MAX_OUTPUT]
    status = item.get("exit_code")
    cwd = text_of(item.get("cwd"))
    # A command whose session was still open when the item was written has no status.
    receipt = Receipt(
        "Bash",
        {"command": command},
        exit=status if isinstance(status, int) and not isinstance(status, bool) else None,
        time=time,
        cwd=unquote(cwd.removeprefix("file://")) or None,
        failed=item.get("status") == "declined",
        pending=item.get("status") == "in_progress",
    )
    receipt = msgspec.structs.replace(receipt, output=kept_lines(receipt, output))
    if receipt.failed or status:
        return receipt
    return msgspec.structs.replace(receipt, hits=shell_hits(command, output))


def _launch(payload: dict[str, Any], time: str | None) -> list[Receipt]:
    try:
        arguments = msgspec.json.decode(text_of(payload.get("arguments")).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return []
    agent = text_of(table_of(arguments).get("agent_type"))
    return [Receipt("Agent", {"subagent_type": agent or "default"}, time=time)]


CALLS = CodexCalls
