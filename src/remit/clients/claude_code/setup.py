"""What an install for Claude Code consists of."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from remit.clients.setup.hook_process import ENTRY, FALSE_REPORT, entry_file
from remit.clients.setup.settings_file import read_settings
from remit.clients.setup.target import ClientSetup, InstallTarget, user_folder
from remit.dispatch.health import HealthFact
from remit.errors import UsageError
from remit.gate.rule_texts import lookup_lines
from remit.gate.settings import MODES, ORCHESTRATOR, VERIFY
from remit.registry.definition import Definition

#: Files and folders of a project, and of the client's folder of the user, that permission rules protect.
_PROJECT = ("remit.toml", ".mcp.json", ".remit/gate/**", ".remit/claude-code/**")
_CLIENT = ("settings*.json", "agents/**", "commands/**", "skills/**")
_USER = (*(f".claude/{name}" for name in _CLIENT), ".claude.json")
#: The tools of the team that the client has, too. It lacks Remit's tools for git's history, and it would turn a
#: shell restricted to git into an unrestricted shell: these are left out.
_SHARED = frozenset({"Read", "Grep", "Glob", "Edit", "Write", "Bash"})
COMMANDS = ("declare", "report", "status")
_DATA = Path(__file__).with_name("data")
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


class ClaudeCode(ClientSetup):
    """Hooks in the local settings of a project or of a user; with agents, a skill and slash commands."""

    name = "claude-code"
    command = "claude"
    own_agents = frozenset({"Explore"})
    folder = ".claude"
    # Entries contain paths of this machine, and the shared settings are under version control.
    hooks = "settings.local.json"
    user_hooks = "settings.json"
    modes = MODES
    probe = (
        "SubagentStop",
        {
            "hook_event_name": "SubagentStop",
            "session_id": "self-test",
            "cwd": "@PROJECT@",
            "agent_id": "a1",
            "agent_type": "Plan",
            "stop_hook_active": False,
            "last_assistant_message": FALSE_REPORT,
        },
    )

    def user_folder(self) -> Path:
        """Return `~/.claude`."""
        return user_folder("CLAUDE_CONFIG_DIR", ".claude")

    def hook_groups(self, mode: str) -> dict[str, dict[str, Any]]:
        """Return the group of each event."""
        return hook_groups(mode)

    def is_ours(self, hook: object) -> bool:
        """Whether an entry is Remit's."""
        return is_ours(hook)

    def mode_of(self, groups: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the mode in the hooks of an install."""
        hooks = [hook for group in groups.values() for hook in group["hooks"]]
        return mode_of(hooks[0]) if hooks else VERIFY

    def calls(self, mode: str) -> str:
        """Return the command of an entry."""
        hook = self.hook_groups(mode)["SessionStart"]["hooks"][0]
        return " ".join([hook["command"], *hook["args"]]).replace("SessionStart", "EVENT")

    def team_files(self, target: InstallTarget) -> dict[Path, str]:
        """Return the agents, the skill and the slash commands."""
        return {
            **super().team_files(target),
            target.folder / "skills/remit/SKILL.md": skill_text(),
            **{target.folder / "commands/remit" / name: text for name, text in command_files().items()},
        }

    def definition_text(self, definition: Definition) -> str:
        """Return a definition as Markdown with frontmatter."""
        tools = ", ".join(tool for tool in definition.tools or () if tool in _SHARED)
        fields = [
            f"name: {definition.name}",
            f"description: {json.dumps(definition.description, ensure_ascii=False)}",
            f"tools: {tools}",
            *([f"model: {definition.model}"] if definition.model else []),
            *([f"maxTurns: {definition.max_turns}"] if definition.max_turns else []),
        ]
        return "---\n" + "\n".join(fields) + f"\n---\n\n{definition.body.strip()}\n"

    def deny_rules(self, target: InstallTarget) -> list[str]:
        """Return the rules of `permissions.deny`. An absolute path begins with two slashes."""
        project_paths = [] if target.is_user else [target.root / name for name in _PROJECT]
        paths = [*project_paths, *(target.folder / name for name in _CLIENT)]
        return [*(f"Edit(/{path.as_posix()})" for path in paths), *(f"Edit(~/{name})" for name in _USER)]

    def local_files(self, target: InstallTarget) -> dict[Path, Path]:
        """Return the settings and the slash commands."""
        commands = target.folder / "commands" / "remit"
        return {target.settings: target.settings, commands: commands / "status.md"}

    def record_file(self, target: InstallTarget) -> Path:
        """Return the path of the install record, which is older than the records of other clients."""
        return target.gate / "installed.json"

    def disabled_hooks(self, target: InstallTarget) -> list[Path]:
        """Return the settings files of a session with `disableAllHooks`; unreadable files are skipped."""
        user = self.find_target(None, is_user=True)
        disabling = []
        for path in dict.fromkeys([target.settings, target.folder / "settings.json", user.settings]):
            try:
                text = read_settings(path)
            except UsageError:
                continue
            if text is not None and json.loads(text.removeprefix("\ufeff")).get("disableAllHooks") is True:
                disabling.append(path)
        return disabling

    def facts(self, project: Path | None = None) -> Iterator[HealthFact]:
        """Check the installs; also report that there is none."""
        facts = list(super().facts(project))
        what = "not installed here; install the hooks with `remit install claude-code`"
        yield from facts or [HealthFact("claude code", "good", what)]


CLIENT = ClaudeCode()


@cache
def data_text(name: str) -> str:
    """Return a text of the package."""
    return (_DATA / name).read_text(encoding="utf-8")


def skill_text() -> str:
    """Return the skill that explains the contract."""
    return data_text("skill.md").replace("@LOOKUPS@", "\n".join(lookup_lines()))


def command_files() -> dict[str, str]:
    """Return the slash commands by file name. They run this installation, even if PATH has another `remit`."""
    program = shlex.join([sys.executable, "-I", "-m", "remit.surfaces.cli.in_client"])
    return {f"{name}.md": data_text(f"commands/{name}.md").replace("REMIT ", f"{program} ") for name in COMMANDS}
