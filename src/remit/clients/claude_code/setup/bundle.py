"""The files that an install for Claude Code writes."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from remit.clients.setup.target import InstallTarget
from remit.gate.rules import lookup_lines
from remit.registry.model import Definition
from remit.registry.plugins import built_in_team

#: The tools of the team that the client has, too. It lacks Remit's tools for git's history, and it would turn a
#: shell restricted to git into an unrestricted shell: these are left out.
_SHARED = frozenset({"Read", "Grep", "Glob", "Edit", "Write", "Bash"})
COMMANDS = ("declare", "report", "status")
_DATA = Path(__file__).with_name("data")
NAME = "remit"
#: Agents of the team that the client defines itself.
OF_CLIENT = frozenset({"Explore"})


def wanted_files(target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
    """Return the files in the client's folder and of the plugin, with their content."""
    inside = {
        **{f"agents/{name}": text for name, text in agent_files().items()},
        "skills/remit/SKILL.md": skill_text(),
        **{f"commands/remit/{name}": text for name, text in command_files().items()},
    }
    return {
        **{target.plugin / name: text for name, text in plugin_files(entries, version("remit")).items()},
        **{target.folder / name: text for name, text in inside.items()},
    }


def agent_files() -> dict[str, str]:
    """Return the definitions of the built-in team in the client's format, by file name.

    Agents that the client has itself are left out: a file would replace the client's own definition.
    """
    return {f"{one.name}.md": definition_text(one) for one in built_in_team().definitions if one.name not in OF_CLIENT}


def definition_text(one: Definition) -> str:
    """Return a definition in the client's format."""
    tools = ", ".join(tool for tool in one.tools or () if tool in _SHARED)
    fields = [
        f"name: {one.name}",
        f"description: {json.dumps(one.description, ensure_ascii=False)}",
        f"tools: {tools}",
        *([f"model: {one.model}"] if one.model else []),
        *([f"maxTurns: {one.max_turns}"] if one.max_turns else []),
    ]
    return "---\n" + "\n".join(fields) + f"\n---\n\n{one.body.strip()}\n"


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


def plugin_files(entries: Mapping[str, Mapping[str, Any]], version: str) -> dict[str, str]:
    """Return the files of the plugin by their path in it."""
    manifest = {
        "name": NAME,
        "version": version,
        "description": "Puts subagents and their orchestrator under contract: checks reports, delegates edits.",
        "author": {"name": "The Remit contributors"},
        "license": "Apache-2.0",
        "keywords": ["subagents", "verification", "orchestration"],
    }
    hooks = {
        "description": "Enforces the contract between subagents and their orchestrator.",
        "hooks": {event: [{"hooks": [entry]}] for event, entry in entries.items()},
    }
    return {
        ".claude-plugin/plugin.json": _json(manifest),
        "README.md": data_text("README.md"),
        "hooks/hooks.json": _json(hooks),
        "skills/subagent-contract/SKILL.md": skill_text(),
        **{f"agents/{name}": text for name, text in agent_files().items()},
        **{f"commands/{name}": text for name, text in command_files().items()},
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
