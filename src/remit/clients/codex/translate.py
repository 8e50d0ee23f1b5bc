"""Translate the events of Codex. Most have the common form already; launches and reports have other inputs."""

from __future__ import annotations

import json
import os

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.payload import table, text
from remit.clients.hooks.responses import merge, truncate
from remit.gate.session_store import read_session
from remit.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from remit.clients.hooks.responses import Answer

    Payload = dict[str, Any]

#: Codex obeys a changed input only together with an approval of the call, which Remit never gives.
CHANGES_INPUT = False
EVENTS = frozenset(
    {
        *("PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop"),
        *("UserPromptSubmit", "SessionStart", "SessionEnd"),
    }
)
_TOOL_EVENTS = ("PreToolUse", "PostToolUse")
#: The newest rollouts of a day that are read for the agent of a task, and the bytes of each.
_MAX_ROLLOUTS = 300
_HEAD_BYTES = 4000
#: The name of a rollout ends with the id of its agent.
_ID_LENGTH = 36
#: Characters of the result of `wait_agent`.
_MAX_RESULT = 400_000
#: What the model reads with a withheld report.
_REPEATED = (
    "Codex repeats this report in a <subagent_notification> message. Remit cannot remove it: the text there is not "
    "accepted either, do not use it."
)


def to_events(payload: Payload, event: str, project: str) -> list[Payload] | None:
    """Return the events of a payload in the common form; None for an unknown payload."""
    name = text(payload, "hook_event_name") or event
    if name not in EVENTS:
        return None
    payload = {**payload, "hook_event_name": name}
    if name in _TOOL_EVENTS:
        return _tool_events(payload, project)
    # The task of a subagent is not a prompt of the user.
    return [] if name == "UserPromptSubmit" and text(payload, "agent_id") else [payload]


def _tool_events(payload: Payload, project: str) -> list[Payload]:
    """Return the events of a launch and of an arriving report. Other calls are none."""
    tool, tool_input = text(payload, "tool_name"), table(payload, "tool_input")
    is_before = text(payload, "hook_event_name") == "PreToolUse"
    if tool.endswith("spawn_agent"):
        return [_launch(payload, tool_input)]
    if tool.endswith("wait_agent") and not (is_before or _is_announcement(payload)):
        return _deliveries(payload, project)
    return []


def _launch(payload: Payload, arguments: Payload) -> Payload:
    agent = text(arguments, "agent_type") or "default"
    prompt = text(arguments, "message")
    launch = {"subagent_type": agent, "prompt": prompt, "description": prompt[:80], "run_in_background": True}
    event = {**payload, "tool_name": "Agent", "tool_input": launch}
    if text(payload, "hook_event_name") == "PreToolUse":
        return event
    answer = _json(text(payload, "tool_response"))
    task = text(answer, "task_name")
    agent_id = text(answer, "agent_id") or _agent_of_task(payload, task)
    if not (agent_id or task):
        return {**event, "hook_event_name": "PostToolUseFailure", "error": text(payload, "tool_response")[:2000]}
    # As a teammate of Claude Code: it runs in parallel, and the orchestrator reads a notice at the next event.
    about = {"status": "teammate_spawned", "agentId": agent_id, "agentType": agent}
    return {**event, "tool_response": {**about, "name": task or text(answer, "nickname") or agent}}


def _agent_of_task(payload: Payload, task: str) -> str:
    """Return the id of the agent that works on a task, from the heads of the newest rollouts; "" if none names it.

    With multi-agent version 2, the result of a launch names the task and not the agent.
    """
    folder, _ = os.path.split(text(payload, "transcript_path"))
    if not (task and folder):
        return ""
    try:
        names = sorted(os.listdir(folder), reverse=True)[:_MAX_ROLLOUTS]
    except OSError:
        return ""
    session, path = text(payload, "session_id"), json.dumps({"agent_path": task}).encode("ascii")[1:-1]
    for name in names:
        head = (read_regular(os.path.join(folder, name), _HEAD_BYTES, follows_links=True) or b"").replace(b": ", b":")
        if path.replace(b": ", b":") in head and f'"session_id":"{session}"'.encode() in head:
            return name.removesuffix(".jsonl")[-_ID_LENGTH:]
    return ""


def _is_announcement(payload: Payload) -> bool:
    """Whether the result of `wait_agent` only states that a message has come: multi-agent version 2.

    The message has the report itself, and no hook can change it. The notice about it comes with this result.
    """
    return not table(_json(text(payload, "tool_response")), "status")


def _deliveries(payload: Payload, project: str) -> list[Payload]:
    """Return an event for each report in the result of `wait_agent`."""
    state = read_session(folder_of(project), text(payload, "session_id"))
    launched = (
        {delegation.agent_id: (key, delegation.agent) for key, delegation in state.delegations.items()}
        if state is not None
        else {}
    )
    events: list[Payload] = []
    for agent_id, report in reports_in(payload).items():
        key, agent = launched.get(agent_id, ("", "default"))
        response = {"agentId": agent_id, "agentType": agent, "status": "completed", "content": report}
        fields = {"tool_name": "Agent", "tool_input": {}, "tool_use_id": key, "tool_response": response}
        events.append({**payload, **fields})
    return events


def reports_in(payload: Payload) -> dict[str, str]:
    """Return the reports of ended agents in the result of `wait_agent`, by the agent's id."""
    states = table(_json(text(payload, "tool_response")), "status")
    return {agent: text(state, "completed") for agent, state in states.items() if text(state, "completed")}


def to_answer(answers: Sequence[Answer | None], payload: Payload) -> Answer | None:
    """Return the answer to Codex."""
    replaced = [answer for answer in answers if "updatedToolOutput" in (answer or {}).get("hookSpecificOutput", {})]
    if not replaced:
        return merge(*answers)
    return {"decision": "block", "reason": _replaced_result(answers, payload)}


def _replaced_result(answers: Sequence[Answer | None], payload: Payload) -> str:
    """Return the result of `wait_agent` with notices in place of withheld reports. Codex shows it as the result."""
    texts: list[str] = []
    reports = list(reports_in(payload).items())
    for (agent_id, report), answer in zip(reports, answers, strict=False):
        specific = (answer or {}).get("hookSpecificOutput", {})
        output = specific.get("updatedToolOutput")
        if output is None:
            texts += [f"Agent {agent_id}:\n{report}", text(specific, "additionalContext")]
        else:
            texts += [f"Agent {agent_id}:\n{text(output, 'content')}", _REPEATED]
    return truncate("\n\n".join(filter(None, texts)), _MAX_RESULT)


def _json(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return {}
