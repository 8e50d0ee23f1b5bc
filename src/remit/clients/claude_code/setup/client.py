"""What an install for Claude Code consists of."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remit.clients.claude_code.setup import bundle, hook_entries
from remit.clients.setup.mcp_entry import COMMAND, json_server_file
from remit.clients.setup.settings_file import read_settings
from remit.clients.setup.target import ClientSetup, InstallTarget, McpFile, project_root, user_folder
from remit.errors import UsageError
from remit.registry.model import Definition

#: Files and folders of a project, and of the client's folder of the user.
_PROJECT = ("remit.toml", ".remit/gate/**", ".remit/claude-code/**")
_CLIENT = ("settings*.json", "agents/**", "commands/**", "skills/**", "hooks/**")
_USER = (*(f".claude/{name}" for name in _CLIENT), ".claude.json")


class ClaudeCode(ClientSetup):
    """Hooks in the local settings of a project or of a user, with a plugin of the same content."""

    name = "claude-code"
    command = "claude"
    own_agents = bundle.OF_CLIENT
    repeats_hooks = False

    def user_folder(self) -> Path:
        """Return `~/.claude`."""
        return user_folder("CLAUDE_CONFIG_DIR", ".claude")

    def find_target(self, project: Path | None, *, is_user: bool) -> InstallTarget:
        """Return the user's folder, or the project that contains the current folder."""
        return find_target(project, is_user=is_user)

    def hook_entries(
        self, http: str | None = None, *, secret: str | None = None, is_closed: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return the entry of each event."""
        return hook_entries.hook_entries(http, secret=secret, is_closed=is_closed)

    def is_ours(self, hook: object) -> bool:
        """Whether an entry is Remit's."""
        return hook_entries.is_ours(hook)

    def wanted_files(self, target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
        """Return the agents, the skill, the slash commands and the plugin."""
        return bundle.wanted_files(target, entries)

    def definition_text(self, one: Definition) -> str:
        """Return a definition as Markdown with frontmatter."""
        return bundle.definition_text(one)

    def deny_rules(self, target: InstallTarget) -> list[str]:
        """Return the rules of `permissions.deny`."""
        return deny_rules(target)

    def local_files(self, target: InstallTarget) -> dict[Path, Path]:
        """Return the settings and the slash commands."""
        commands = target.folder / "commands" / "remit"
        return {target.settings: target.settings, commands: commands / "status.md"}

    def mcp_file(self, target: InstallTarget) -> McpFile | str:
        """Return `.mcp.json` of the project. The client rewrites the file with the user's servers itself."""
        if target.is_user:
            command = shlex.join(["claude", "mcp", "add", "--scope", "user", "remit", "--", *COMMAND])
            return f"--mcp applies to one project; for all projects, run {command}"
        return json_server_file(
            target.root / ".mcp.json", target.machine_note("Claude Code asks once whether to use its server")
        )

    def record_file(self, target: InstallTarget) -> Path:
        """Return the path of the install record, which is older than the records of other clients."""
        return target.gate / "installed.json"

    def disabled_hooks(self, target: InstallTarget) -> list[Path]:
        """Return the settings files with `disableAllHooks`."""
        return disabled_hooks(effective_settings(target))

    def calls(self, http: str | None = None) -> str:
        """Return the command or the address of an entry."""
        return hook_entries.hook_commands(http)


CLIENT = ClaudeCode()


def find_target(project: Path | None, *, is_user: bool) -> InstallTarget:
    """Return the user's folder, or the project that contains the current folder."""
    if is_user:
        if project is not None:
            raise UsageError("--user applies to all projects; omit --project")
        folder = CLIENT.user_folder()
        return InstallTarget(Path.home(), folder, folder / "settings.json", is_user=True, client=CLIENT)
    root = project_root(project)
    # The local settings: entries contain paths of this machine, and the shared settings are under version control.
    folder = root / ".claude"
    return InstallTarget(root, folder, folder / "settings.local.json", is_user=False, client=CLIENT)


def deny_rules(target: InstallTarget) -> list[str]:
    """Return the rules of an install. An absolute path begins with two slashes."""
    own = [] if target.is_user else [target.root / name for name in _PROJECT]
    paths = [*own, *(target.folder / name for name in _CLIENT)]
    return [*(f"Edit(/{path.as_posix()})" for path in paths), *(f"Edit(~/{name})" for name in _USER)]


def effective_settings(target: InstallTarget) -> list[Path]:
    """Return the settings files that a session reads: those of the target, the project's shared ones, the user's."""
    user = find_target(None, is_user=True)
    return [*dict.fromkeys([target.settings, target.folder / "settings.json", user.settings])]


def disabled_hooks(paths: Iterable[Path]) -> list[Path]:
    """Return the settings files that switch off all hooks; unreadable files are skipped."""
    found = []
    for path in paths:
        try:
            text = read_settings(path)
        except UsageError:
            continue
        if text is not None and json.loads(text.removeprefix("\ufeff")).get("disableAllHooks") is True:
            found.append(path)
    return found
