"""A hook's event and its answer: the one function behind every way in which a client asks."""

from __future__ import annotations

import os

from remit.clients.claude_code.answers import merged, message
from remit.clients.claude_code.payload import NEEDED, missing, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.clients.claude_code.answers import Answer
    from remit.clients.claude_code.desk import Desk

    Handler = Callable[[object, Desk], Answer | None]

#: Event, or event and tool -> module and function. An event that is not here is no concern of ours.
HANDLERS: dict[str, tuple[str, str]] = {
    "PreToolUse": ("before_call", "before_call"),
    "PostToolUse": ("after_call", "after_call"),
    "PostToolUse Agent": ("subagents", "reported"),
    "PostToolUseFailure": ("after_call", "call_failed"),
    "PostToolUseFailure Agent": ("subagents", "failed"),
    "PermissionDenied": ("after_call", "call_failed"),
    "PermissionDenied Agent": ("subagents", "failed"),
    "SubagentStart": ("subagents", "started"),
    "SubagentStop": ("subagents", "stopped"),
    "StopFailure": ("subagents", "failed"),
    "UserPromptSubmit": ("turns", "prompted"),
    "Stop": ("turns", "stopping"),
    "SessionStart": ("turns", "session_started"),
    "SessionEnd": ("turns", "ended"),
    "PreCompact": ("turns", "compacting"),
}


def answer(payload: object, *, event: str = "", project: str = "") -> Answer | None:
    """What the client is told: a table for it, or None for nothing.

    `event` is what the caller knows of an event whose payload does not say it; `project` the folder of the project,
    else that of the payload's working folder. It never raises: an error of ours is told to the person who works
    there, and a call that could not be judged is let through, or denied if `gate.on_fault` is "closed".
    """
    name = text(payload, "hook_event_name") or event
    desk: Desk | None = None
    place = project
    try:
        if not isinstance(payload, dict):
            return unanswered(name, "the payload is no table", place, desk)
        handler = _handler_of(name, payload)
        if handler is None or _is_nobody(name, payload):
            return None
        from remit.clients.claude_code.desk import Desk as Opened
        from remit.clients.claude_code.desk import project_of

        place = project or project_of(text(payload, "cwd") or os.getcwd())  # noqa: PTH109 - pathlib is slow to load
        lacking = [field for field in missing(name, payload) if field in NEEDED.get(name, ())]
        desk = Opened.open(place)
        if lacking:
            return unanswered(name, f"the payload lacks {', '.join(lacking)}", place, desk)
        said = _loaded(handler)(payload, desk)
        return merged(said, message(f"remit: {desk.notice}")) if desk.notice else said
    except Exception as error:  # noqa: BLE001 - a hook that dies says nothing at all to the person
        return unanswered(name, error, place, desk)


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


def unanswered(event: str, what: str | Exception, project: str, desk: Desk | None = None) -> Answer:
    """The answer where an error of ours, or an input that is none, left nothing to say."""
    from remit.clients.claude_code.faults import fault, told  # late: hardly any call needs it

    said = told(what) if isinstance(what, Exception) else what
    return fault(event, said, closed=_closed(project, desk))


def _closed(project: str, desk: Desk | None) -> bool:
    """Whether a call that we could not judge is denied, as far as that can still be told."""
    if desk is not None:
        return desk.settings.on_fault == "closed" and not desk.observing
    try:
        from remit.clients.claude_code.desk import Desk as Opened
        from remit.clients.claude_code.desk import compiled

        values = compiled(project) if project else None
        return values is not None and _closed(project, Opened(project, values))
    except Exception:  # noqa: BLE001 - this is said of another error, which matters more
        return False
