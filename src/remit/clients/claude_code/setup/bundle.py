"""The files that are ours alone: which an install wants, and which are there in the very words that it writes."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from remit import __version__
from remit.clients.claude_code.setup.hook_entries import EVENTS, hook_entries, is_ours
from remit.clients.claude_code.setup.plan import MOST_BYTES, InstallRecord, read_bytes
from remit.clients.claude_code.setup.settings_file import own_hooks, read_settings
from remit.clients.claude_code.setup.target import InstallTarget
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.registry.model import Definition, digest_of
from remit.registry.plugin_root import PluginRoot as Folder
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList

#: Git's rule for `.remit`.
IGNORE = "*\n"
#: The tools of the team that the client has under the same name. Remit's own ones for git's history are none of
#: them, and a shell restricted to git is, in the client, the whole shell: so they are left out.
_SHARED = frozenset({"Read", "Grep", "Glob", "Edit", "Write", "Bash"})
COMMANDS = ("declare", "report", "status")
_DATA = Path(__file__).with_name("data")
NAME = "remit"


def wanted_files(place: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
    """File -> what an install writes into it."""
    inside = {
        **{f"agents/{name}": text for name, text in agent_files().items()},
        "skills/remit/SKILL.md": skill_text(),
        **{f"commands/remit/{name}": text for name, text in command_files().items()},
    }
    ignore = ignore_file(place)
    is_left = (place.gate.is_dir() or place.plugin.is_dir()) and read_bytes(ignore, MOST_BYTES) == IGNORE.encode()
    return {
        **({ignore: IGNORE} if is_left or not ignore.exists() else {}),
        **{place.plugin / name: text for name, text in plugin_files(entries, __version__).items()},
        **{place.claude / name: text for name, text in inside.items()},
    }


def ignore_file(place: InstallTarget) -> Path:
    """What keeps `.remit` out of a project's history."""
    return place.root / ".remit" / ".gitignore"


def find_own_files(place: InstallTarget) -> InstallRecord:
    """What an install whose record is lost has left: a file that holds exactly what we write is ours."""
    settings = read_settings(place.settings)
    own = own_hooks(settings, is_ours) if settings is not None else {}
    wanted = wanted_files(place, {event: own[event] for event in EVENTS if event in own} or hook_entries())
    files = {
        path: digest_of(text.encode())
        for path, text in wanted.items()
        if not _leads_elsewhere(place, path) and read_bytes(path, MOST_BYTES) == text.encode()
    }
    return InstallRecord(
        files={place.shown(path): digest for path, digest in files.items()}, folders=folders_of(place, files)
    )


def folders_of(place: InstallTarget, paths: Iterable[Path]) -> list[str]:
    """The folders that an install may have made for these files, the outer ones first."""
    folders = {folder for path in paths for folder in path.parents if place.holds(folder)}
    return [place.shown(folder) for folder in sorted(folders, key=lambda folder: len(folder.parts))]


def find_own_agents(folder: Path) -> frozenset[str]:
    """The agents of a folder that are the team's own definitions, as they are compared."""
    return frozenset(
        slug(Path(name).stem)
        for name, text in agent_files().items()
        if read_bytes(folder / name, MOST_BYTES) == text.encode()
    )


def _leads_elsewhere(place: InstallTarget, path: Path) -> bool:
    try:
        place.refuse_links(path)
    except UsageError:
        return True
    return False


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


def plugin_files(entries: Mapping[str, Mapping[str, Any]], version: str) -> dict[str, str]:
    """Path inside the plugin -> text."""
    manifest = {
        "name": NAME,
        "version": version,
        "description": "Subagents and their orchestrator under one contract: reports are checked, edits are delegated.",
        "author": {"name": "The Remit contributors"},
        "license": "Apache-2.0",
        "keywords": ["subagents", "verification", "orchestration"],
    }
    hooks = {
        "description": "Holds subagents and their orchestrator to the contract.",
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
