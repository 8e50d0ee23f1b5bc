"""What an install for Codex consists of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.clients.setup.hook_process import is_hook_command, shell_command
from remit.clients.setup.mcp_entry import COMMAND
from remit.clients.setup.target import ClientSetup, InstallTarget, McpFile, user_folder
from remit.errors import UsageError
from remit.registry.model import Definition

#: Event -> the timeout in seconds. Codex shortens that of SessionEnd to 3.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "PreCompact": 15,
    "SessionEnd": 3,
}
#: What the user does once: Codex skips hooks that the user has not reviewed, without a message.
TRUST = "start `codex` in this project, trust the folder, and approve Remit's hooks with `/hooks`"


class Codex(ClientSetup):
    """Hooks in `.codex/hooks.json`, and agents next to it."""

    name = "codex"
    ending = ".toml"
    folder = ".codex"
    hooks = "hooks.json"

    def user_folder(self) -> Path:
        """Return `~/.codex`."""
        return user_folder("CODEX_HOME", ".codex")

    def hook_entries(
        self, http: str | None = None, *, secret: str | None = None, is_closed: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return the entry of each event. A hook that fails lets the call pass; Codex has no setting for that."""
        if http:
            raise UsageError("codex: --http is not supported; its hooks are processes")
        return {
            event: {"type": "command", "command": shell_command(event, self.name), "timeout": seconds}
            for event, seconds in EVENTS.items()
        }

    def is_ours(self, hook: object) -> bool:
        """Whether an entry is Remit's."""
        return isinstance(hook, dict) and is_hook_command(hook.get("command"), self.name)

    def calls(self, http: str | None = None) -> str:
        """Return the command of an entry."""
        return shell_command("EVENT", self.name)

    def wanted_files(self, target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
        """Return the agents."""
        return {target.folder / self.agents / name: text for name, text in self.agent_files().items()}

    def definition_text(self, one: Definition) -> str:
        """Return a definition as TOML. Tools and models have other names in Codex, so they are left out."""
        fields = {"name": one.name, "description": one.description, "developer_instructions": one.body.strip() + "\n"}
        # A string of JSON is a basic string of TOML, except for this character.
        lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
        return "\n".join(lines).replace("\x7f", "\\u007f") + "\n"

    def mcp_file(self, target: InstallTarget) -> McpFile:
        """Return the settings of the project or of the user."""
        entry = {"command": COMMAND[0], "args": list(COMMAND[1:])}
        note = target.machine_note("" if target.is_user else "Codex reads it in a trusted project")
        return McpFile(target.folder / "config.toml", "mcp_servers", entry, note, empty="")

    def next_step(self, target: InstallTarget) -> str:
        """Return how to approve the hooks."""
        return TRUST


CLIENT = Codex()
