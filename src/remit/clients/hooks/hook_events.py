"""Answer an event of the common form: call its handler."""

from __future__ import annotations

import json
import os

from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.payload import NEEDED, missing, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import describe_error, fault_answer, merge, message
from remit.gate.settings import VERIFY
from remit.regular_files import read_regular
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.clients.hooks.responses import Answer

    Handler = Callable[[object, ProjectContext], Answer | None]

#: Event, or event and tool -> module and function. Remit ignores all other events.
HANDLERS: dict[str, tuple[str, str]] = {
    "PreToolUse": ("tool_calls", "before_tool_call"),
    "PostToolUse": ("tool_calls", "after_tool_call"),
    "PostToolUse Agent": ("delivery", "agent_call_returned"),
    "PostToolUseFailure": ("tool_calls", "tool_call_failed"),
    "PostToolUseFailure Agent": ("delivery", "agent_call_failed"),
    "SubagentStart": ("subagents", "subagent_started"),
    "SubagentStop": ("subagents", "subagent_stopped"),
    "StopFailure": ("delivery", "agent_call_failed"),
    "UserPromptSubmit": ("session_events", "prompt_submitted"),
    "Stop": ("main_stop", "main_agent_stopping"),
    "SessionStart": ("session_events", "session_started"),
    "SessionEnd": ("session_events", "session_ended"),
}
#: In the gate's folder. It has no ending, so it is not taken for a session.
UNKNOWN = "unknown-events"
_MAX_NAMES = 50
_OF_CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
#: The tools that launch a subagent.
LAUNCHES = ("Agent", "Task")
_MAX_NAME = 60
_MAX_UNKNOWN_BYTES = 100_000


def handle_event(
    payload: object,
    *,
    event: str = "",
    project: str = "",
    client: str = "claude-code",
    mode: str = VERIFY,
    changes_input: bool = True,
) -> Answer | None:
    """Return the answer to an event, or None for no answer.

    `event` is used if the payload does not name its event, and `project` is the project's folder (default: the project
    that contains the payload's working folder). With `changes_input`, the client accepts a changed input of a call.
    Never raises: an internal error is shown to the user, and the call passes.
    """
    name = text(payload, "hook_event_name") or event
    try:
        if not isinstance(payload, dict):
            return fault_answer(name, "the payload is not a JSON object")
        handler = _handler_of(name, payload)
        folder = project or project_of(text(payload, "cwd") or os.getcwd())
        if handler is None:
            count_unknown(folder_of(folder), name)
        if handler is None or _is_internal(name, payload):
            return None
        lacking = [field for field in missing(name, payload) if field in NEEDED.get(name, ())]
        if lacking:
            count_unknown(folder_of(folder), name)
            return fault_answer(name, f"the payload lacks {', '.join(lacking)}")
        context = ProjectContext.open(folder, client=client, mode=mode)
        context.changes_input = changes_input
        answer = _load(handler)(payload, context)
        return merge(answer, message(f"remit: {context.notice}")) if context.notice else answer
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        return fault_answer(name, describe_error(error))


def _handler_of(event: str, payload: dict[str, object]) -> tuple[str, str] | None:
    tool = text(payload, "tool_name")
    of_tool = f"{event} {'Agent' if tool == 'Task' else tool}"
    return HANDLERS.get(of_tool) or HANDLERS.get(event)


def _is_internal(event: str, payload: dict[str, object]) -> bool:
    """Whether nothing follows from the event: the client's own work, or a call of a subagent, which is not judged."""
    if event in _OF_CALLS and text(payload, "tool_name") not in LAUNCHES:
        return bool(text(payload, "agent_id"))
    if event in ("SubagentStart", "SubagentStop"):
        return payload.get("agent_type") == ""
    return event == "StopFailure" and not text(payload, "agent_id")


def _load(handler: tuple[str, str]) -> Handler:
    module, name = handler
    path = f"remit.clients.hooks.{module}"
    function: Handler = getattr(__import__(path, fromlist=[name]), name)
    return function


def count_unknown(folder: str, event: str) -> None:
    """Count an event that this version does not understand, for `remit doctor`.

    Nothing is written in a project without a gate, and an error is ignored: the event passes.
    """
    name = "".join(sign for sign in event[:_MAX_NAME] if sign.isprintable()) or "(no name)"
    counts = unknown_events(folder)
    if name not in counts and len(counts) >= _MAX_NAMES:
        return
    counts[name] = counts.get(name, 0) + 1
    try:
        if os.path.isdir(folder):
            replace_file(os.path.join(folder, UNKNOWN), json.dumps(counts).encode("ascii"), mode=0o600, sync=False)
    except OSError:
        return


def unknown_events(folder: str) -> dict[str, int]:
    """Return the number of times that each unknown event came."""
    try:
        values = json.loads(read_regular(os.path.join(folder, UNKNOWN), _MAX_UNKNOWN_BYTES) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    known = values.items() if isinstance(values, dict) else ()
    return {str(name)[:_MAX_NAME]: count for name, count in known if isinstance(count, int)}


def unknown_notice(folder: str) -> str:
    """Describe the unknown events of a project for a person; "" without one."""
    counts = unknown_events(folder)
    if not counts:
        return ""
    names = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items(), key=lambda item: -item[1])[:5])
    return (
        f"events that this version does not understand passed unchecked: {names}; update Remit, or report it. "
        "`remit install` again clears the count"
    )
