"""A hook as a process: a payload comes in, an answer goes out, and nothing else is ever printed."""

from __future__ import annotations

import os

from remit.clients.claude_code.payload import NEEDED, missing, text
from remit.clients.claude_code.responses import merge, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.clients.claude_code.project import ProjectContext
    from remit.clients.claude_code.responses import Answer

    Handler = Callable[[object, ProjectContext], Answer | None]

#: Event, or event and tool -> module and function. An event that is not here is no concern of ours.
HANDLERS: dict[str, tuple[str, str]] = {
    "PreToolUse": ("tool_calls", "before_tool_call"),
    "PostToolUse": ("tool_calls", "after_tool_call"),
    "PostToolUse Agent": ("subagents", "agent_call_returned"),
    "PostToolUseFailure": ("tool_calls", "tool_call_failed"),
    "PostToolUseFailure Agent": ("subagents", "agent_call_failed"),
    "PermissionDenied": ("tool_calls", "tool_call_failed"),
    "PermissionDenied Agent": ("subagents", "agent_call_failed"),
    "SubagentStart": ("subagents", "subagent_started"),
    "SubagentStop": ("subagents", "subagent_stopped"),
    "StopFailure": ("subagents", "agent_call_failed"),
    "UserPromptSubmit": ("session_events", "prompt_submitted"),
    "Stop": ("session_events", "main_agent_stopping"),
    "SessionStart": ("session_events", "session_started"),
    "SessionEnd": ("session_events", "session_ended"),
    "PreCompact": ("session_events", "before_compaction"),
}


def run(event: str, source: int = 0, target: int = 1) -> None:
    """Answer the event whose payload can be read from `source`, into `target`; it never raises.

    The project is the client's, by its variable CLAUDE_PROJECT_DIR.
    """
    try:
        write(target, _encoded(_answered(event, source), event))
    except OSError:  # nobody listens any more
        return


def _answered(event: str, source: int) -> Answer | None:
    from remit.clients.claude_code.payload import Unreadable, parse, read

    project = os.environ.get("CLAUDE_PROJECT_DIR", "")
    try:
        payload = parse(read(source))
    except Unreadable as why:
        return fault_response(event, f"its payload cannot be read, {why}", project)
    except Exception as error:  # noqa: BLE001 - a hook that dies says nothing at all to the person
        return fault_response(event, error, project)
    return handle_event(payload, event=event, project=project)


def _encoded(said: Answer | None, event: str) -> bytes:
    from remit.clients.claude_code.responses import encode

    try:
        return encode(said)
    except (ValueError, RecursionError) as error:  # numbers or depths that JSON or we do not have
        return encode(fault_response(event, error, os.environ.get("CLAUDE_PROJECT_DIR", "")))


def write(target: int, data: bytes) -> None:
    """All of it, as the target takes it."""
    while data:
        data = data[os.write(target, data) :]


def handle_event(payload: object, *, event: str = "", project: str = "") -> Answer | None:
    """What the client is told: a table for it, or None for nothing.

    `event` is what the caller knows of an event whose payload does not say it; `project` the folder of the project,
    else that of the payload's working folder. It never raises: an error of ours is told to the person who works
    there, and a call that could not be judged is let through, or denied if `gate.on_fault` is "closed".
    """
    name = text(payload, "hook_event_name") or event
    desk: ProjectContext | None = None
    place = project
    try:
        if not isinstance(payload, dict):
            return fault_response(name, "the payload is no table", place, desk)
        handler = _handler_of(name, payload)
        if handler is None or _is_nobody(name, payload):
            return None
        from remit.clients.claude_code.compiled import project_of
        from remit.clients.claude_code.project import ProjectContext as Opened

        place = project or project_of(text(payload, "cwd") or os.getcwd())
        lacking = [field for field in missing(name, payload) if field in NEEDED.get(name, ())]
        desk = Opened.open(place)
        if lacking:
            return fault_response(name, f"the payload lacks {', '.join(lacking)}", place, desk)
        said = _loaded(handler)(payload, desk)
        return merge(said, message(f"remit: {desk.notice}")) if desk.notice else said
    except Exception as error:  # noqa: BLE001 - a hook that dies says nothing at all to the person
        return fault_response(name, error, place, desk)


def _handler_of(event: str, payload: dict[str, object]) -> tuple[str, str] | None:
    tool = text(payload, "tool_name")
    of_tool = f"{event} {'Agent' if tool == 'Task' else tool}"
    return HANDLERS.get(of_tool) or HANDLERS.get(event)


def _is_nobody(event: str, payload: dict[str, object]) -> bool:
    """Whether no subagent of anybody's is meant: the client's own work, or a failure of the main thread."""
    if event in ("SubagentStart", "SubagentStop"):
        return payload.get("agent_type") == ""
    return event == "StopFailure" and not text(payload, "agent_id")


def _loaded(handler: tuple[str, str]) -> Handler:
    module, function = handler
    name = f"remit.clients.claude_code.{module}"
    found: Handler = getattr(__import__(name, fromlist=[function]), function)
    return found


def fault_response(event: str, what: str | Exception, project: str, desk: ProjectContext | None = None) -> Answer:
    """The answer where an error of ours, or an input that is none, left nothing to say."""
    from remit.clients.claude_code.responses import describe_error, fault_answer  # late: hardly any call needs it

    said = describe_error(what) if isinstance(what, Exception) else what
    return fault_answer(event, said, closed=_closed(project, desk))


def _closed(project: str, desk: ProjectContext | None) -> bool:
    """Whether a call that we could not judge is denied, as far as that can still be told."""
    if desk is not None:
        return desk.settings.on_fault == "closed" and not desk.observing
    try:
        from remit.clients.claude_code.compiled import read_compiled
        from remit.clients.claude_code.project import ProjectContext as Opened

        values = read_compiled(project) if project else None
        return values is not None and _closed(project, Opened(project, values))
    except Exception:  # noqa: BLE001 - this is said of another error, which matters more
        return False
