"""Read the calls in a rollout of Codex.

A line is `{"type": "event_msg", "payload": {"type": "item_completed", "item": …}}`: one item for each call, also for
the calls inside a code-mode script. An item has everything that a receipt needs, so messages of the model are not read,
except launches of subagents.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import msgspec

from remit.clients.transcripts.calls import MAX_OUTPUT, AgentCalls, TranscriptLine, shell_hits, text_of
from remit.evidence.receipts import Receipt
from remit.evidence.runs import kept_output

_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "world_state", "compacted"})


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
        item = payload.get("item")
        if payload.get("type") == "item_completed" and isinstance(item, dict):
            self._append(self._item(item, time))
        elif payload.get("type") == "function_call" and str(payload.get("name", "")).endswith("spawn_agent"):
            self._append(_launch(payload, time))
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
        output=kept_output(command, output),
    )
    if receipt.failed or status:
        return receipt
    return msgspec.structs.replace(receipt, hits=shell_hits(command, output))


def _launch(payload: dict[str, Any], time: str | None) -> list[Receipt]:
    try:
        given = msgspec.json.decode(text_of(payload.get("arguments")).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return []
    agent = given.get("agent_type") if isinstance(given, dict) else None
    return [Receipt("Agent", {"subagent_type": agent if isinstance(agent, str) else "default"}, time=time)]


CALLS = CodexCalls
