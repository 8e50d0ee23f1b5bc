"""Translate the events of Copilot CLI. A payload names neither its event nor the id of the call."""

from __future__ import annotations

import json
import os
import time
from hashlib import sha256

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.payload import flag, table, text
from remit.clients.hooks.responses import merge
from remit.clients.transcripts import of_agent
from remit.clients.translation import OWN_PROMPTS
from remit.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from remit.clients.hooks.responses import Answer

    Payload = dict[str, Any]

#: A launch gets the instructions, and waits for its report.
CHANGES_INPUT = True
#: The client's event -> the event of the common form.
EVENTS = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "agentStop": "Stop",
}
#: The end of a transcript that is searched for the last message.
_TAIL = 1_000_000
#: Seconds between attempts to read what is still being written.
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)


def to_events(payload: Payload, event: str, project: str) -> list[Payload] | None:
    """Return the events of a payload in the common form; None for an unknown payload."""
    name = EVENTS.get(event)
    if name is None or not text(payload, "sessionId"):
        return None
    common = _common(payload, name)
    if name in ("PreToolUse", "PostToolUse"):
        return _tool_events(payload, common, project)
    if name in ("UserPromptSubmit", "Stop") and text(payload, "agentId"):
        return []  # the task and the turns of a subagent; its end is another event
    if name == "UserPromptSubmit" and text(payload, "prompt").startswith(OWN_PROMPTS):
        return []  # an answer that was sent back, or a prompt of Remit
    if name == "Stop":
        common["last_assistant_message"] = last_answer(payload)
    if name == "SubagentStop":
        common["last_assistant_message"] = text(payload, "response")
        last_answer(payload)  # now its calls are written, too
    if name == "SessionStart":
        common["source"] = "startup" if text(payload, "source") == "new" else text(payload, "source")
    return [{**common, "prompt": text(payload, "prompt")}]


def _common(payload: Payload, name: str) -> Payload:
    """Return the fields that all events share. The id of a session is that of its main agent."""
    transcript, agent = text(payload, "transcriptPath"), text(payload, "agentId")
    session = os.path.basename(os.path.dirname(transcript))
    if not session:
        session = text(payload, "parentAgentId") if agent else text(payload, "sessionId")
    fields: Payload = {
        "hook_event_name": name,
        "session_id": session or text(payload, "sessionId"),
        "cwd": text(payload, "cwd"),
        "transcript_path": transcript,
        "stop_hook_active": flag(payload, "stop_hook_active"),
    }
    if agent:
        fields |= {"agent_id": agent, "agent_type": text(payload, "agentType")}
        if transcript:
            # All agents write one file.
            fields["agent_transcript_path"] = of_agent(transcript, agent)
    return fields


def _tool_events(payload: Payload, common: Payload, project: str) -> list[Payload]:
    """Return the event of a launch. Other calls are none."""
    if text(payload, "toolName") != "task":
        return []
    arguments = _arguments(payload)
    result = text(table(payload, "toolResult"), "textResultForLlm")
    return [_launch({**common, "tool_use_id": _call_id(payload, arguments)}, arguments, result, project)]


def _arguments(payload: Payload) -> Payload:
    arguments = payload.get("toolArgs")
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {}
    return arguments if isinstance(arguments, dict) else {}


def _call_id(payload: Payload, arguments: Payload) -> str:
    """Return an id by which the events before and after a launch belong together: its prompt and mode may change."""
    parts = sorted((key, repr(value)) for key, value in arguments.items() if key not in ("prompt", "mode"))
    return f"copilot-{sha256(repr((text(payload, 'sessionId'), parts)).encode()).hexdigest()[:24]}"


def _launch(event: Payload, arguments: Payload, result: str, project: str) -> Payload:
    agent, is_background = text(arguments, "agent_type") or "general-purpose", text(arguments, "mode") == "background"
    about = {"subagent_type": agent, "prompt": text(arguments, "prompt"), "run_in_background": is_background}
    event = {**event, "tool_name": "Agent", "tool_input": {**about, "description": text(arguments, "description")}}
    if event["hook_event_name"] == "PreToolUse":
        return event
    response: Payload = {"agentType": agent, "status": "completed", "content": result}
    if is_background:
        response |= {"status": "teammate_spawned", "name": text(arguments, "name") or agent}
    else:
        response["agentId"] = _reporter(event, result, project)
    return {**event, "tool_response": response}


def _reporter(event: Payload, report: str, project: str) -> str:
    """Return the id of the agent that sent a report: the payload does not name it."""
    from remit.clients.hooks import results

    wanted = results.digest(report)
    kept = results.list_results(folder_of(project), event["session_id"])
    return next((report_kept.agent_id for report_kept in reversed(kept) if report_kept.digest == wanted), "")


def last_answer(payload: Payload) -> str:
    """Return the last message of the agent that ends: the event of the main agent's end does not contain it.

    The client writes its file with a delay. It also writes this event, so everything before is there when this is.
    """
    mark = f'"timestamp":{payload.get("timestamp")}'.encode()
    for pause in (*_PAUSES, 0.0):
        data = read_regular(text(payload, "transcriptPath"), _TAIL, follows_links=True, is_from_end=True)
        lines = (data or b"").split(b"\n")
        if any(mark in line and b'"hook.start"' in line for line in lines):
            return _last_message(lines, text(payload, "agentId"))
        time.sleep(pause)
    return ""


def _last_message(lines: list[bytes], agent: str) -> str:
    for line in reversed(lines):
        try:
            values = json.loads(line) if b'"assistant.message"' in line else {}
        except (ValueError, RecursionError):
            continue
        if text(values, "type") == "assistant.message" and text(values, "agentId") == agent:
            return text(table(values, "data"), "content")
    return ""


def to_answer(answers: Sequence[Answer | None], payload: Payload) -> Answer | None:
    """Return the answer to Copilot CLI, which has one level."""
    whole = merge(*answers)
    if whole is None:
        return None
    specific = table(whole, "hookSpecificOutput")
    answer: Answer = {key: whole[key] for key in ("decision", "reason") if key in whole}
    answer |= {key: specific[key] for key in ("additionalContext",) if key in specific}
    if "updatedInput" in specific:
        changed = {"prompt": text(specific["updatedInput"], "prompt"), "mode": "sync"}
        answer["modifiedArgs"] = {**_arguments(payload), **changed}
    if "updatedToolOutput" in specific:
        notice = text(specific["updatedToolOutput"], "content")
        answer["modifiedResult"] = {"resultType": "success", "textResultForLlm": notice}
    elif "systemMessage" in whole:
        answer["systemMessage"] = whole["systemMessage"]
    return answer or None
