"""The hook entries in the client's settings: events, commands, and which entries are Remit's."""

from __future__ import annotations

import sys
from typing import Any

from remit.clients.setup.hook_process import ENTRY, entry_file

#: Event -> the client's timeout in seconds. Events that check a report have a longer one.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "PostToolUseFailure": 15,
    "PermissionDenied": 15,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "StopFailure": 15,
    "TeammateIdle": 60,
    "TaskCompleted": 60,
    "PreCompact": 15,
    "SessionEnd": 15,
}


def hook_entries(*, is_closed: bool = False) -> dict[str, dict[str, Any]]:
    """Return the entry of each event. With `is_closed`, the client denies a call if the hook fails."""
    return {event: _entry(event, seconds, is_closed=is_closed) for event, seconds in EVENTS.items()}


def _entry(event: str, seconds: int, *, is_closed: bool) -> dict[str, Any]:
    """Return an entry: a program with its arguments, not a shell command, so paths need no quoting."""
    # Isolated and without site: it imports nothing of the project or the environment, and it starts fast.
    entry: dict[str, Any] = {
        "type": "command",
        "command": sys.executable,
        "args": ["-I", "-S", str(entry_file()), event],
        "timeout": seconds,
    }
    if is_closed and event == "PreToolUse":
        entry["onFailure"] = "block"
    return entry


def hook_command() -> str:
    """Return what the entries of an install call, for a message, with EVENT for the event."""
    entry = _entry("EVENT", 0, is_closed=False)
    return " ".join([entry["command"], *entry["args"]])


def is_ours(hook: object) -> bool:
    """Whether an entry is Remit's, including one of another installation."""
    if not isinstance(hook, dict):
        return False
    arguments = hook.get("args")
    return isinstance(arguments, list) and any(
        isinstance(argument, str) and argument.replace("\\", "/").endswith(ENTRY) for argument in arguments
    )


def is_this_install(event: str, hook: dict[str, Any]) -> bool:
    """Whether this installation would write this entry. Others are not run: settings may come with a clone."""
    wanted = _entry(event, 0, is_closed=False)
    return all(hook.get(key) == wanted[key] for key in ("type", "command", "args"))
