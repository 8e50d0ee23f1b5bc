"""What an install for Copilot CLI consists of."""

from __future__ import annotations

import json
from pathlib import Path

from remit.clients.setup.file_changes import MAX_BYTES, read_bytes
from remit.clients.setup.hook_process import shell_command
from remit.clients.setup.mcp_entry import json_server_file
from remit.clients.setup.own_install import PROMPT, OwnFileSetup, ProbeCall
from remit.clients.setup.target import InstallTarget, McpFile, user_folder
from remit.errors import RemitError
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
    "preCompact": 15,
    "sessionEnd": 15,
}
#: What the user does once: the client loads hooks of trusted folders only.
TRUST = "start `copilot` in this project and trust the folder (`copilot -p` needs --trust-folder)"
#: An edit of code by the orchestrator, which the standard mode denies.
_EDIT = {
    "sessionId": "self-test",
    "cwd": "@PROJECT@",
    "toolName": "edit",
    "toolArgs": {"path": "@PROJECT@/app.py", "old_str": "ANSWER = 42", "new_str": "ANSWER = 43"},
}
#: The user's settings that decide whether hooks run. No other setting is copied, such as a token.
_SETTINGS = ("trustedFolders", "trusted_folders", "disableAllHooks")


class Copilot(OwnFileSetup):
    """Hooks in a file of Remit in `.github/hooks`, and agents in `.github/agents`."""

    name = "copilot"
    ending = ".agent.md"
    folder = ".github"
    hooks = "hooks/remit.json"
    denied = ("preToolUse", _EDIT)
    probe = ProbeCall("edit", "path", {"old_str": "a", "new_str": "b"}, has_own_groups=True)
    trust = TRUST

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

    def mcp_file(self, target: InstallTarget) -> McpFile:
        """Return the file with the servers of the project, which no other client reads, or that of the user."""
        if target.is_user:
            return json_server_file(target.folder / "mcp-config.json", "")
        note = target.machine_note("Copilot CLI uses its server in a trusted folder")
        return json_server_file(target.folder / "mcp.json", note)

    def next_step(self, target: InstallTarget) -> str:
        """Return how to trust the folder. Hooks of the user run in all folders."""
        return "" if target.is_user else TRUST

    def session(self, target: InstallTarget, url: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return a session with a separate folder for its data, and with the user's trust of folders."""
        user = self.user_folder()
        for name in ("config.json", "settings.json"):
            (folder / name).write_text(json.dumps(_settings_in(user / name)), encoding="utf-8")
        if target.is_user:
            (folder / self.hooks).parent.mkdir()
            (folder / self.hooks).write_text(self.hooks_text(), encoding="utf-8")
        variables = {
            "COPILOT_HOME": str(folder),
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": url,
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_MODEL": "claude-sonnet-4.5",
            "NO_PROXY": "127.0.0.1",
        }
        return ["-p", PROMPT, "--no-custom-instructions", "--disable-builtin-mcps"], variables


def _settings_in(path: Path) -> dict[str, object]:
    """Return these settings of a file, which may begin with comments."""
    try:
        data = read_bytes(path, MAX_BYTES) or b"{}"
        text = "\n".join(line for line in data.decode().splitlines() if not line.lstrip().startswith("//"))
        settings = json.loads(text)
    except (RemitError, ValueError, RecursionError):
        return {}
    return {key: settings[key] for key in _SETTINGS if key in settings} if isinstance(settings, dict) else {}


CLIENT = Copilot()
