"""What an install for opencode consists of."""

from __future__ import annotations

import json
from pathlib import Path

from remit.clients.setup.hook_process import hook_command
from remit.clients.setup.mcp_entry import COMMAND
from remit.clients.setup.own_install import PROMPT, OwnFileSetup, ProbeCall
from remit.clients.setup.target import InstallTarget, McpFile, user_folder
from remit.registry.definition import Definition

#: The client adds this key itself, so a new file has it from the start.
_EMPTY = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'
#: Nothing answers at this address.
_NOWHERE = "http://127.0.0.1:9"
OFFLINE = {
    **{f"OPENCODE_DISABLE_{name}": "1" for name in ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD")},
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "npm_config_registry"), _NOWHERE),
    "npm_config_fetch_retries": "0",
    "NO_PROXY": "127.0.0.1,localhost",
}
_PLUGIN = Path(__file__).with_name("data") / "plugin.js"
#: An edit of code by the orchestrator, which the standard mode denies.
_EDIT = {
    "sessionID": "self-test",
    "rootID": "self-test",
    "agent": "",
    "cwd": "@PROJECT@",
    "tool": "edit",
    "callID": "call_1",
    "args": {"filePath": "@PROJECT@/app.py", "oldString": "ANSWER = 42", "newString": "ANSWER = 43"},
}
_RESTART = "start a new session, without the client's option `--pure`"
_MODEL = "claude-sonnet-4-5"


class Opencode(OwnFileSetup):
    """A plugin in `.opencode/plugins`, and agents in `.opencode/agents`."""

    name = "opencode"
    folder = ".opencode"
    hooks = "plugins/remit.js"
    offline = OFFLINE
    denied = ("tool.execute.before", _EDIT)
    probe = ProbeCall("edit", "filePath", {"oldString": "a", "newString": "b"})
    trust = _RESTART

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

    def mcp_file(self, target: InstallTarget) -> McpFile:
        """Return the settings of the project or of the user. An `opencode.jsonc` next to them is read, too."""
        folder = target.folder if target.is_user else target.root
        entry = {"type": "local", "command": list(COMMAND), "enabled": True}
        return McpFile(folder / "opencode.json", "mcp", entry, target.machine_note(), _EMPTY)

    def session(self, target: InstallTarget, url: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return a session with the user's settings, except for the model, and with its data in the folder."""
        settings = {
            "model": f"anthropic/{_MODEL}",
            "small_model": f"anthropic/{_MODEL}",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "provider": {
                "anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "scripted"}, "models": {_MODEL: {}}}
            },
        }
        variables = {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            **{f"XDG_{name}_HOME": str(folder / name) for name in ("DATA", "STATE", "CACHE")},
            **OFFLINE,
        }
        return ["run", "--format", "json", PROMPT], variables


CLIENT = Opencode()
