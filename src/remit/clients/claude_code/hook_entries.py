"""The hook entries in the client's settings: events, matchers, commands, and which entries are Remit's."""

from __future__ import annotations

import sys
from typing import Any

from remit.clients.setup.hook_process import ENTRY, entry_file
from remit.gate.settings import MODES, ORCHESTRATOR, VERIFY

#: Event -> the client's timeout in seconds. Events that check a report have a longer one.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "PostToolUseFailure": 15,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "StopFailure": 15,
    "SessionEnd": 15,
}
#: The calls whose events start a process in the mode `verify`: those that launch or continue a subagent.
CALLS = "Agent|Task|SendMessage"
_OF_CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")


def hook_groups(mode: str) -> dict[str, dict[str, Any]]:
    """Return the group of each event in the settings."""
    return {event: _group(event, mode) for event in EVENTS}


def _group(event: str, mode: str) -> dict[str, Any]:
    """Return a group with a program and its arguments, not a shell command, so paths need no quoting."""
    # Isolated and without site: it imports nothing of the project or the environment, and it starts fast.
    arguments = ["-I", "-S", str(entry_file()), event, "--mode", mode]
    hook = {"type": "command", "command": sys.executable, "args": arguments, "timeout": EVENTS[event]}
    matcher = {"matcher": CALLS} if mode == VERIFY and event in _OF_CALLS else {}
    return {**matcher, "hooks": [hook]}


def is_ours(hook: object) -> bool:
    """Whether an entry is Remit's, including one of another installation."""
    arguments = hook.get("args") if isinstance(hook, dict) else None
    return isinstance(arguments, list) and any(
        isinstance(argument, str) and argument.replace("\\", "/").endswith(ENTRY) for argument in arguments
    )


def mode_of(hook: dict[str, Any]) -> str:
    """Return the mode in the command line of an entry. An entry of an earlier version names none and denies calls."""
    last = str((hook.get("args") or [""])[-1])
    return last if last in MODES else ORCHESTRATOR
