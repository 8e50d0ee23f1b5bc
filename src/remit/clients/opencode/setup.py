"""What an install for opencode consists of."""

from __future__ import annotations

import json
from pathlib import Path

from remit.clients.setup.hook_process import FALSE_REPORT, hook_command
from remit.clients.setup.target import InstallTarget, OwnFileSetup, user_folder
from remit.registry.definition import Definition

_PLUGIN = Path(__file__).with_name("data") / "plugin.js"


class Opencode(OwnFileSetup):
    """A plugin in `.opencode/plugins`."""

    name = "opencode"
    folder = ".opencode"
    hooks = "plugins/remit.js"
    probe = (
        "task.report",
        {
            "sessionID": "self-test",
            "rootID": "self-test",
            "agent": "",
            "cwd": "@PROJECT@",
            "callID": "call_1",
            "child": "child",
            "args": {"subagent_type": "explore"},
            "report": FALSE_REPORT,
            "again": False,
            "messages": [],
        },
    )

    def user_folder(self) -> Path:
        """Return `~/.config/opencode`."""
        return user_folder("XDG_CONFIG_HOME", ".config") / "opencode"

    def hooks_text(self) -> str:
        """Return the plugin, with the command of this installation."""
        command = json.dumps(hook_command("EVENT", self.name))
        return _PLUGIN.read_text(encoding="utf-8").replace("@COMMAND@", command)

    def definition_text(self, definition: Definition) -> str:
        """Return a definition as Markdown with frontmatter; its name is that of the file.

        Tools and models have other names in opencode, so they are left out.
        """
        description = json.dumps(definition.description, ensure_ascii=False)
        return f"---\ndescription: {description}\nmode: subagent\n---\n\n{definition.body.strip()}\n"

    def next_step(self, target: InstallTarget) -> str:
        """Return how to load the plugin."""
        return "start a new session, without the client's option `--pure`"


CLIENT = Opencode()
