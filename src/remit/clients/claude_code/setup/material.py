"""What is given to the client beside hooks: the team's definitions, a skill and slash commands, in its own forms."""

from __future__ import annotations

import json
import shlex
import sys
from functools import cache
from pathlib import Path

from remit.contract.kinds import slug
from remit.registry.manifests import Manifest
from remit.registry.model import Definition
from remit.registry.places import Place as Folder
from remit.registry.plugins import built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList

#: The tools of the team that the client has under the same name. Remit's own ones for git's history are none of
#: them, and a shell restricted to git is, in the client, the whole shell: so they are left out.
_SHARED = frozenset({"Read", "Grep", "Glob", "Edit", "Write", "Bash"})
COMMANDS = ("declare", "report", "status")
_DATA = Path(__file__).with_name("data")


def agent_files() -> dict[str, str]:
    """File name -> a definition of the built-in team as the client reads it."""
    return {f"{one.name}.md": _definition(one) for one in built_in_team().definitions}


def _definition(one: Definition) -> str:
    tools = ", ".join(tool for tool in one.tools or () if tool in _SHARED)
    fields = [
        f"name: {one.name}",
        f"description: {json.dumps(one.description, ensure_ascii=False)}",
        f"tools: {tools}",
        *([f"model: {one.model}"] if one.model else []),
        *([f"maxTurns: {one.max_turns}"] if one.max_turns else []),
    ]
    return "---\n" + "\n".join(fields) + f"\n---\n\n{one.body.strip()}\n"


def agent_names(folder: Path) -> frozenset[str]:
    """The agents that a folder of the client already defines, as they are compared."""
    if not folder.is_dir():
        return frozenset()
    found = load_plugin(Folder(str(folder)), AllowList(OFFERED), Manifest("agents", None, (".",)))
    return frozenset(slug(one.name) for one in found.definitions)


@cache
def data_text(name: str) -> str:
    """A text that comes with the package."""
    return (_DATA / name).read_text(encoding="utf-8")


def skill_text() -> str:
    """The skill that explains the contract."""
    return data_text("skill.md")


def command_files() -> dict[str, str]:
    """File name -> a slash command. It calls this very install, whatever `remit` the PATH finds."""
    program = shlex.join([sys.executable, "-I", "-m", "remit.surfaces.cli.in_client"])
    return {f"{name}.md": data_text(f"commands/{name}.md").replace("REMIT ", f"{program} ") for name in COMMANDS}
