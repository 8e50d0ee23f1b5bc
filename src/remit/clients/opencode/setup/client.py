"""What an install for opencode consists of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.clients.setup.hook_process import hook_command, shell_command
from remit.clients.setup.target import ClientSetup, InstallTarget, project_root
from remit.errors import UsageError
from remit.registry.model import Definition

_PLUGIN = Path(__file__).with_name("data") / "plugin.js"


class Opencode(ClientSetup):
    """A plugin in `.opencode/plugins`, and agents in `.opencode/agents`."""

    name = "opencode"

    def find_target(self, project: Path | None, *, is_user: bool) -> InstallTarget:
        """Return the project that contains the current folder."""
        if is_user:
            raise UsageError("opencode: --user is not supported; install it in each project")
        root = project_root(project)
        return InstallTarget(root, root / ".opencode", root / ".opencode/plugins/remit.js", is_user=False, client=self)

    def hook_entries(
        self, http: str | None = None, *, secret: str | None = None, is_closed: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return nothing: the plugin passes the events on."""
        if http:
            raise UsageError("opencode: --http is not supported; its plugin starts processes")
        return {}

    def is_ours(self, hook: object) -> bool:
        """Return False: no file of the user contains hooks of Remit."""
        return False

    def calls(self, http: str | None = None) -> str:
        """Return the command that the plugin starts."""
        return shell_command("EVENT", self.name)

    def wanted_files(self, target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
        """Return the agents, and the plugin as the last file: it starts when all files exist."""
        agents = {target.folder / self.agents / name: text for name, text in self.agent_files().items()}
        return {**agents, target.settings: plugin_text()}

    def definition_text(self, one: Definition) -> str:
        """Return a definition as Markdown with frontmatter; its name is that of the file.

        Tools and models have other names in opencode, so they are left out.
        """
        description = json.dumps(one.description, ensure_ascii=False)
        return f"---\ndescription: {description}\nmode: subagent\n---\n\n{one.body.strip()}\n"


CLIENT = Opencode()


def plugin_text() -> str:
    """Return the plugin, with the command of this installation."""
    command = json.dumps(hook_command("EVENT", CLIENT.name))
    return _PLUGIN.read_text(encoding="utf-8").replace("@COMMAND@", command)
