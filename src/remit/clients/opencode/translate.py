"""Translate the events of Remit's plugin for opencode. The plugin defines the payloads: see `setup/data/plugin.js`."""

from __future__ import annotations

import json
import os

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.payload import flag, table, text
from remit.clients.hooks.responses import merge
from remit.clients.translation import OWN_PROMPTS
from remit.gate.record_store import make_private
from remit.gate.session_store import safe_name
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from remit.clients.hooks.responses import Answer

    Payload = dict[str, Any]

#: A launch gets the instructions.
CHANGES_INPUT = True
#: The plugin's event -> the event of the common form.
EVENTS = {
    "chat.message": "UserPromptSubmit",
    "tool.execute.before": "PreToolUse",
    "task.report": "SubagentStop",
    "task.delivered": "PostToolUse",
    "session.idle": "Stop",
}


def to_events(payload: Payload, event: str, project: str) -> list[Payload] | None:
    """Return the events of a payload in the common form; None for an unknown payload."""
    name = EVENTS.get(event)
    session, agent = text(payload, "rootID"), text(payload, "agent")
    if name is None or not session or not text(payload, "sessionID"):
        return None
    common: Payload = {"hook_event_name": name, "session_id": session, "cwd": text(payload, "cwd")}
    if agent:
        common |= {"agent_id": text(payload, "sessionID"), "agent_type": agent}
    if event.startswith("task."):
        return _task(payload, event, common, project)
    if name == "PreToolUse":
        return _launch(payload, common)
    if agent or text(payload, "prompt").startswith(OWN_PROMPTS):
        return []  # the task of a subagent, whose end is another event, or a prompt of Remit
    if name == "Stop":
        common |= {"last_assistant_message": text(payload, "answer"), "stop_hook_active": False}
        common["transcript_path"] = _transcript(payload, project, session)
    return [{**common, "prompt": text(payload, "prompt")}]


def _launch(payload: Payload, common: Payload) -> list[Payload]:
    """Return the event of a launch. Other calls are none."""
    if text(payload, "tool") != "task":
        return []
    arguments = table(payload, "args")
    launch: Payload = {key: text(arguments, key) for key in ("subagent_type", "prompt", "description")}
    launch["run_in_background"] = False
    return [{**common, "tool_use_id": text(payload, "callID"), "tool_name": "Agent", "tool_input": launch}]


def _task(payload: Payload, event: str, common: Payload, project: str) -> list[Payload]:
    """Return the events for a report: the run belongs to its launch, and the report is judged or delivered."""
    child, agent = text(payload, "child"), text(table(payload, "args"), "subagent_type")
    response: Payload = {
        "agentId": child,
        "agentType": agent,
        "status": "completed",
        "content": text(payload, "report"),
    }
    call = {**common, "hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_use_id": text(payload, "callID")}
    call |= {"tool_input": {"subagent_type": agent}, "tool_response": response}
    if event == "task.delivered":
        return [call]
    stop = {**common, "hook_event_name": "SubagentStop", "agent_id": child, "agent_type": agent}
    stop |= {"last_assistant_message": text(payload, "report"), "stop_hook_active": flag(payload, "again")}
    stop["agent_transcript_path"] = _transcript(payload, project, child)
    return [{**call, "tool_response": {**response, "status": "async_launched"}}, stop]


def _transcript(payload: Payload, project: str, name: str) -> str:
    """Write the messages of a session to a private file, which `to_answer` removes. The client has no such file."""

    messages = payload.get("messages")
    folder = os.path.join(folder_of(project), "transcripts")
    if not isinstance(messages, list) or not messages or not os.path.isdir(folder_of(project)):
        return ""
    make_private(folder)
    payload["transcript"] = path = os.path.join(folder, f"{safe_name(name)}.{os.getpid()}.jsonl")
    replace_file(
        path, "".join(f"{json.dumps(message)}\n" for message in messages).encode("ascii"), mode=0o600, sync=False
    )
    return path


def to_answer(answers: Sequence[Answer | None], payload: Payload) -> Answer | None:
    """Return the answer to the plugin: what to change, add, replace or send back."""
    if "transcript" in payload:
        os.unlink(payload["transcript"])
    whole = merge(*answers)
    if whole is None:
        return None
    specific = table(whole, "hookSpecificOutput")
    answer: Answer = {}
    if text(whole, "decision") == "block":
        answer["block"] = text(whole, "reason")
    if "updatedInput" in specific:
        answer["args"] = {"prompt": text(specific["updatedInput"], "prompt")}
    if "updatedToolOutput" in specific:
        answer["output"] = text(specific["updatedToolOutput"], "content")
    if text(specific, "additionalContext"):
        answer["context"] = text(specific, "additionalContext")
    if text(whole, "systemMessage"):
        answer["message"] = text(whole, "systemMessage")
    return answer or None
