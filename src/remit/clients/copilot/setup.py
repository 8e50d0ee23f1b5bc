"""What an install for Copilot CLI consists of."""

from __future__ import annotations

import json
from pathlib import Path

from remit.clients.setup.hook_process import FALSE_REPORT, shell_command
from remit.clients.setup.target import InstallTarget, OwnFileSetup, user_folder
from remit.registry.definition import Definition

#: Event -> the timeout in seconds.
EVENTS: dict[str, int] = {
    "sessionStart": 30,
    "userPromptSubmitted": 15,
    "preToolUse": 15,
    "postToolUse": 60,
    "subagentStart": 15,
    "subagentStop": 60,
    "agentStop": 60,
    "sessionEnd": 15,
}
#: What the user does once: the client loads hooks of trusted folders only.
TRUST = "start `copilot` in this project and trust the folder (`copilot -p` needs --trust-folder)"


class Copilot(OwnFileSetup):
    """Hooks in a file of Remit in `.github/hooks`."""

    name = "copilot"
    ending = ".agent.md"
    folder = ".github"
    hooks = "hooks/remit.json"
    probe = (
        "subagentStop",
        {
            "sessionId": "self-test",
            "cwd": "@PROJECT@",
            "agentId": "a1",
            "agentType": "explore",
            "response": FALSE_REPORT,
            "stop_hook_active": False,
        },
    )

    def user_folder(self) -> Path:
        """Return `~/.copilot`."""
        return user_folder("COPILOT_HOME", ".copilot")

    def hooks_text(self) -> str:
        """Return the content of the file with the hooks."""
        hooks = {
            event: [{"type": "command", "bash": shell_command(event, self.name), "timeoutSec": seconds}]
            for event, seconds in EVENTS.items()
        }
        return json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"

    def definition_text(self, definition: Definition) -> str:
        """Return a definition as Markdown with frontmatter. Tools and models have other names, so they are left out."""
        fields = {"name": definition.name, "description": definition.description}
        head = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
        return f"---\n{head}---\n\n{definition.body.strip()}\n"

    def next_step(self, target: InstallTarget) -> str:
        """Return how to trust the folder. Hooks of the user run in all folders."""
        return "" if target.is_user else TRUST


CLIENT = Copilot()
