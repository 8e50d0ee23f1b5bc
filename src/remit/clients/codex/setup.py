"""What an install for Codex consists of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from remit.clients.setup.hook_process import FALSE_REPORT, is_hook_command, shell_command
from remit.clients.setup.target import ClientSetup, InstallTarget, user_folder
from remit.registry.definition import Definition

#: Event -> the timeout in seconds. Codex shortens that of SessionEnd to 3.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "SessionEnd": 3,
}
#: What the user does once: Codex skips hooks that the user has not reviewed, without a message.
TRUST = "start `codex` in this project, trust the folder, and approve Remit's hooks with `/hooks`"


class Codex(ClientSetup):
    """Hooks in `.codex/hooks.json`."""

    name = "codex"
    ending = ".toml"
    folder = ".codex"
    hooks = "hooks.json"
    probe = (
        "SubagentStop",
        {
            "hook_event_name": "SubagentStop",
            "session_id": "self-test",
            "cwd": "@PROJECT@",
            "agent_id": "a1",
            "agent_type": "explorer",
            "stop_hook_active": False,
            "last_assistant_message": FALSE_REPORT,
        },
    )

    def user_folder(self) -> Path:
        """Return `~/.codex`."""
        return user_folder("CODEX_HOME", ".codex")

    def hook_groups(self, mode: str) -> dict[str, dict[str, Any]]:
        """Return the group of each event. A hook that fails lets the call pass."""
        return {
            event: {"hooks": [{"type": "command", "command": shell_command(event, self.name), "timeout": seconds}]}
            for event, seconds in EVENTS.items()
        }

    def is_ours(self, hook: object) -> bool:
        """Whether an entry is Remit's."""
        return isinstance(hook, dict) and is_hook_command(hook.get("command"), self.name)

    def definition_text(self, definition: Definition) -> str:
        """Return a definition as TOML. Tools and models have other names in Codex, so they are left out."""
        fields = {
            "name": definition.name,
            "description": definition.description,
            "developer_instructions": definition.body.strip() + "\n",
        }
        # A string of JSON is a basic string of TOML, except for this character.
        lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
        return "\n".join(lines).replace("\x7f", "\\u007f") + "\n"

    def next_step(self, target: InstallTarget) -> str:
        """Return how to approve the hooks."""
        return TRUST


CLIENT = Codex()
