"""What an install for Copilot CLI consists of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.clients.setup.hook_process import shell_command
from remit.clients.setup.target import ClientSetup, InstallTarget, project_root
from remit.errors import UsageError
from remit.registry.model import Definition

#: Event -> the timeout in seconds.
EVENTS: dict[str, int] = {
    "sessionStart": 30,
    "userPromptSubmitted": 15,
    "preToolUse": 15,
    "postToolUse": 60,
    "subagentStart": 15,
    "subagentStop": 60,
    "agentStop": 60,
    "preCompact": 15,
    "sessionEnd": 15,
}
#: What the user does once: the client loads hooks of trusted folders only.
TRUST = "start `copilot` in this project and trust the folder (`copilot -p` needs --trust-folder)"


class Copilot(ClientSetup):
    """Hooks in a file of Remit in `.github/hooks`, and agents in `.github/agents`."""

    name = "copilot"
    ending = ".agent.md"

    def find_target(self, project: Path | None, *, is_user: bool) -> InstallTarget:
        """Return the project that contains the current folder."""
        if is_user:
            raise UsageError("copilot: --user is not supported; install it in each project")
        root = project_root(project)
        return InstallTarget(root, root / ".github", root / ".github/hooks/remit.json", is_user=False, client=self)

    def hook_entries(
        self, http: str | None = None, *, secret: str | None = None, is_closed: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return nothing: a file of Remit contains the hooks."""
        if http:
            raise UsageError("copilot: --http is not supported; its hooks are processes")
        return {}

    def is_ours(self, hook: object) -> bool:
        """Return False: no file of the user contains hooks of Remit."""
        return False

    def calls(self, http: str | None = None) -> str:
        """Return the command of an entry."""
        return shell_command("EVENT", self.name)

    def wanted_files(self, target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
        """Return the agents, and the hooks as the last file: they start when all files exist."""
        agents = {target.folder / self.agents / name: text for name, text in self.agent_files().items()}
        return {**agents, target.settings: hooks_text()}

    def definition_text(self, one: Definition) -> str:
        """Return a definition as Markdown with frontmatter. Tools and models have other names, so they are left out."""
        fields = {"name": one.name, "description": one.description}
        head = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
        return f"---\n{head}---\n\n{one.body.strip()}\n"

    def next_step(self, target: InstallTarget) -> str:
        """Return how to trust the folder."""
        return TRUST


CLIENT = Copilot()


def hooks_text() -> str:
    """Return the content of the file with the hooks."""
    hooks = {
        event: [{"type": "command", "bash": shell_command(event, CLIENT.name), "timeoutSec": seconds}]
        for event, seconds in EVENTS.items()
    }
    return json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
