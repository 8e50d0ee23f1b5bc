"""Translate the events of Remit's plugin for opencode. The plugin defines the payloads: see `setup/data/plugin.js`."""

from __future__ import annotations

import os

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.payload import flag, table, text
from remit.clients.translation import OWN_PROMPTS, edits_in, merge_permissions, permission_of, rename_fields
from remit.gate.record_store import make_private
from remit.gate.session_store import safe_name
from remit.lean_json import dumps
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
    "tool.execute.after": "PostToolUse",
    "task.report": "SubagentStop",
    "task.delivered": "PostToolUse",
    "session.idle": "Stop",
    "session.compacting": "SessionStart",
}
_TOOLS = {
    "bash": "Bash",
    "read": "Read",
    "edit": "Edit",
    "write": "Write",
    "multiedit": "MultiEdit",
    "grep": "Grep",
    "glob": "Glob",
    "list": "LS",
}
_FIELDS = {
    "filePath": "file_path",
    "oldString": "old_string",
    "newString": "new_string",
    "replaceAll": "replace_all",
    "include": "glob",
}
#: Tools that change no file of the project.
_HARMLESS = frozenset({"todowrite", "todoread", "webfetch", "websearch", "codesearch", "question", "skill", "lsp"})
_CANNOT_ASK = (
    "This client cannot ask the user for a permission. Tell the user what you need; `remit gate declare` permits it"
)


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
    if name in ("PreToolUse", "PostToolUse"):
        return _tool_events(payload, common)
    if agent or text(payload, "prompt").startswith(OWN_PROMPTS):
        return []  # the task of a subagent, whose end is another event, or a prompt of Remit
    if name == "Stop":
        common |= {"last_assistant_message": text(payload, "answer"), "stop_hook_active": False}
        common["transcript_path"] = _transcript(payload, project, session)
    if name == "SessionStart":
        common["source"] = "compact"
    return [{**common, "prompt": text(payload, "prompt")}]


def _tool_events(payload: Payload, common: Payload) -> list[Payload]:
    tool, arguments = text(payload, "tool"), table(payload, "args")
    event = {**common, "tool_use_id": text(payload, "callID")}
    if not tool:
        return [common]
    if tool == "task":
        launch: Payload = {key: text(arguments, key) for key in ("subagent_type", "prompt", "description")}
        launch["run_in_background"] = False
        return [{**event, "tool_name": "Agent", "tool_input": launch}]
    if tool in ("patch", "apply_patch"):
        return _patched(event, text(arguments, "patchText"))
    name = _TOOLS.get(tool) or ("ToolSearch" if tool in _HARMLESS else tool)
    tool_input = rename_fields(arguments, _FIELDS)
    if name == "MultiEdit" and isinstance(tool_input.get("edits"), list):
        edits = [edit for edit in tool_input["edits"] if isinstance(edit, dict)]
        tool_input["edits"] = [rename_fields(edit, _FIELDS) for edit in edits]
    if name == "Bash" and text(arguments, "workdir"):
        event["cwd"] = os.path.join(text(payload, "cwd"), text(arguments, "workdir"))
    shown = text(table(payload, "metadata"), "text") or text(payload, "output")
    response = {"file": {"content": shown}} if name == "Read" else {"stdout": text(payload, "output")}
    return [{**event, "tool_name": name, "tool_input": tool_input, "tool_response": response}]


def _patched(event: Payload, patch: str) -> list[Payload]:
    return [
        {**event, "tool_name": tool, "tool_input": edit, "tool_use_id": f"{event['tool_use_id']}#{number}"}
        for number, (tool, edit) in enumerate(edits_in(patch))
    ] or [{**event, "tool_name": "apply_patch", "tool_input": {}}]


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
    replace_file(path, b"\n".join(dumps(message) for message in messages) + b"\n", mode=0o600, sync=False)
    return path


def to_answer(answers: Sequence[Answer | None], payload: Payload) -> Answer | None:
    """Return the answer to the plugin: what to deny, change, add, replace or send back."""
    if "transcript" in payload:
        os.unlink(payload["transcript"])
    whole = merge_permissions(answers, _CANNOT_ASK)
    if whole is None:
        return None
    specific = table(whole, "hookSpecificOutput")
    answer: Answer = {}
    if permission_of(whole) == "deny":
        answer["deny"] = text(specific, "permissionDecisionReason")
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
