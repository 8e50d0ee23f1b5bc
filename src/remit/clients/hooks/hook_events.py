"""Answer a hook event: read the payload, call its handler, print the answer and nothing else."""

from __future__ import annotations

import os

from remit.clients.hooks.compiled import folder_of, project_of, read_compiled
from remit.clients.hooks.payload import NEEDED, Unreadable, missing, parse, read, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import describe_error, encode, fault_answer, merge, message
from remit.lean_json import dumps, loads
from remit.regular_files import read_regular
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from remit.clients.hooks.responses import Answer

    Handler = Callable[[object, ProjectContext], Answer | None]

#: Event, or event and tool -> module and function. Remit ignores all other events.
HANDLERS: dict[str, tuple[str, str]] = {
    "PreToolUse": ("before_call", "before_tool_call"),
    "PostToolUse": ("after_call", "after_tool_call"),
    "PostToolUse Agent": ("delivery", "agent_call_returned"),
    "PostToolUseFailure": ("after_call", "tool_call_failed"),
    "PostToolUseFailure Agent": ("delivery", "agent_call_failed"),
    "PermissionDenied": ("after_call", "tool_call_failed"),
    "PermissionDenied Agent": ("delivery", "agent_call_failed"),
    "SubagentStart": ("subagents", "subagent_started"),
    "SubagentStop": ("subagents", "subagent_stopped"),
    "StopFailure": ("delivery", "agent_call_failed"),
    "TeammateIdle": ("teams", "teammate_idle"),
    "TaskCompleted": ("teams", "task_completed"),
    "UserPromptSubmit": ("session_events", "prompt_submitted"),
    "Stop": ("main_stop", "main_agent_stopping"),
    "SessionStart": ("session_events", "session_started"),
    "SessionEnd": ("session_events", "session_ended"),
    "PreCompact": ("session_events", "before_compaction"),
}
#: In the gate's folder. It has no ending, so it is not taken for a session.
UNKNOWN = "unknown-events"
_MAX_NAMES = 50
_MAX_NAME = 60
_MAX_UNKNOWN_BYTES = 100_000


def run(
    event: str,
    source: int = 0,
    target: int = 1,
    *,
    handle: Callable[[dict[str, Any], str], Answer | None] | None = None,
) -> None:
    """Read the payload from the descriptor `source` and write the answer to `target`. Never raises.

    Claude Code names the project in the variable CLAUDE_PROJECT_DIR. `handle` handles the events of another client.
    """
    try:
        write(target, _encode(_answer(event, source, handle), event))
    except OSError:  # the client has closed the pipe
        return


def handle_event(
    payload: object,
    *,
    event: str = "",
    project: str = "",
    changes_input: bool = True,
    has_tools: bool = True,
    context: ProjectContext | None = None,
) -> Answer | None:
    """Return the answer to an event, or None for no answer.

    `event` is used if the payload does not name its event, `project` is the project's folder (default: the project
    that contains the payload's working folder), and `context` is the project if it is open. With `changes_input`, the
    client accepts a changed input of a call; with `has_tools`, its tools have the names that definitions list, so an
    agent is held to its list. Never raises: an internal error is shown to the user, and a call that could not be judged
    is allowed, or denied if `gate.on_fault` is "closed".
    """
    name = text(payload, "hook_event_name") or event
    folder = project
    try:
        if not isinstance(payload, dict):
            return fault_response(name, "the payload is not a JSON object", folder)
        handler = _handler_of(name, payload)
        folder = project or project_of(text(payload, "cwd") or os.getcwd())
        if handler is None:
            count_unknown(folder_of(folder), name)
        if handler is None or _is_internal(name, payload):
            return None
        lacking = [field for field in missing(name, payload) if field in NEEDED.get(name, ())]
        context = context or ProjectContext.open(folder)
        context.changes_input = changes_input
        if not has_tools:
            context.settings = context.settings.without_tools()
        if lacking:
            count_unknown(folder_of(folder), name)
            return fault_response(name, f"the payload lacks {', '.join(lacking)}", folder, context)
        answer = _load(handler)(payload, context)
        return merge(answer, message(f"remit: {context.notice}")) if context.notice else answer
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        return fault_response(name, error, folder, context)


def fault_response(event: str, problem: str | Exception, project: str, context: ProjectContext | None = None) -> Answer:
    """Return the answer for an internal error or an unusable payload."""
    description = describe_error(problem) if isinstance(problem, Exception) else problem
    return fault_answer(event, description, is_closed=_is_closed(project, context))


def write(target: int, data: bytes) -> None:
    """Write all data to a descriptor."""
    while data:
        data = data[os.write(target, data) :]


def _answer(event: str, source: int, handle: Callable[[dict[str, Any], str], Answer | None] | None) -> Answer | None:
    project = "" if handle is not None else os.environ.get("CLAUDE_PROJECT_DIR", "")
    try:
        payload = parse(read(source))
    except Unreadable as reason:
        return fault_response(event, f"the payload cannot be read: {reason}", project)
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        return fault_response(event, error, project)
    if handle is not None:
        return handle(payload, event)
    return handle_event(payload, event=event, project=project)


def _encode(answer: Answer | None, event: str) -> bytes:
    try:
        return encode(answer)
    except (ValueError, RecursionError) as error:  # a number or a depth that JSON does not support
        return encode(fault_response(event, error, os.environ.get("CLAUDE_PROJECT_DIR", "")))


def _handler_of(event: str, payload: dict[str, object]) -> tuple[str, str] | None:
    tool = text(payload, "tool_name")
    of_tool = f"{event} {'Agent' if tool == 'Task' else tool}"
    return HANDLERS.get(of_tool) or HANDLERS.get(event)


def _is_internal(event: str, payload: dict[str, object]) -> bool:
    """Whether the event is not about a subagent: the client's own work, or a failure of the main thread."""
    if event in ("SubagentStart", "SubagentStop"):
        return payload.get("agent_type") == ""
    return event == "StopFailure" and not text(payload, "agent_id")


def _load(handler: tuple[str, str]) -> Handler:
    module, name = handler
    path = f"remit.clients.hooks.{module}"
    function: Handler = getattr(__import__(path, fromlist=[name]), name)
    return function


def _is_closed(project: str, context: ProjectContext | None) -> bool:
    """Whether a call that could not be judged is denied, as far as the settings can be read."""
    if context is not None:
        return context.settings.on_fault == "closed" and context.is_denying
    try:
        values = read_compiled(project) if project else None
        return values is not None and _is_closed(project, ProjectContext(project, values))
    except Exception:  # noqa: BLE001 - the answer reports the first error, not this one
        return False


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
            replace_file(os.path.join(folder, UNKNOWN), dumps(counts), mode=0o600, sync=False)
    except OSError:
        return


def unknown_events(folder: str) -> dict[str, int]:
    """Return the number of times that each unknown event came."""
    try:
        values = loads(read_regular(os.path.join(folder, UNKNOWN), _MAX_UNKNOWN_BYTES) or b"{}")
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
