"""The files that an install writes, and how to find them when the install record is lost."""

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
from remit.clients.claude_code.setup.plan import MAX_BYTES, InstallRecord, read_bytes
from remit.clients.claude_code.setup.settings_file import own_hooks, read_settings
from remit.clients.claude_code.setup.target import InstallTarget
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.gate.rules import lookup_lines
from remit.registry.model import Definition, digest_of
from remit.registry.plugin_root import PluginRoot as Folder
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList

#: The content of `.remit/.gitignore`.
IGNORE = "*\n"
#: The tools of the team that the client has, too. It lacks Remit's tools for git's history, and it would turn a
#: shell restricted to git into an unrestricted shell: these are left out.
_SHARED = frozenset({"Read", "Grep", "Glob", "Edit", "Write", "Bash"})
COMMANDS = ("declare", "report", "status")
_DATA = Path(__file__).with_name("data")
NAME = "remit"
#: Agents of the team that the client defines itself.
OF_CLIENT = frozenset({"Explore"})


def wanted_files(target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
    """Return the files of an install, with their content."""
    inside = {
        **{f"agents/{name}": text for name, text in agent_files().items()},
        "skills/remit/SKILL.md": skill_text(),
        **{f"commands/remit/{name}": text for name, text in command_files().items()},
    }
    ignore = ignore_file(target)
    is_leftover = (target.gate.is_dir() or target.plugin.is_dir()) and read_bytes(ignore, MAX_BYTES) == IGNORE.encode()
    return {
        **({ignore: IGNORE} if is_leftover or not ignore.exists() else {}),
        **{target.plugin / name: text for name, text in plugin_files(entries, __version__).items()},
        **{target.claude / name: text for name, text in inside.items()},
    }


def ignore_file(target: InstallTarget) -> Path:
    """Return the path of the file that keeps `.remit` out of version control."""
    return target.root / ".remit" / ".gitignore"


def find_own_files(target: InstallTarget) -> InstallRecord:
    """Return a record of the files of an install whose record is lost: those with exactly the installed content."""
    settings = read_settings(target.settings)
    own = own_hooks(settings, is_ours) if settings is not None else {}
    wanted = wanted_files(target, {event: own[event] for event in EVENTS if event in own} or hook_entries())
    files = {
        path: digest_of(text.encode())
        for path, text in wanted.items()
        if not _is_redirected(target, path) and read_bytes(path, MAX_BYTES) == text.encode()
    }
    return InstallRecord(
        files={target.record_path(path): digest for path, digest in files.items()}, folders=folders_of(target, files)
    )


def folders_of(target: InstallTarget, paths: Iterable[Path]) -> list[str]:
    """Return the folders that an install may have created for these files, the outer ones first."""
    folders = {folder for path in paths for folder in path.parents if target.holds(folder)}
    return [target.record_path(folder) for folder in sorted(folders, key=lambda folder: len(folder.parts))]


def find_own_agents(folder: Path) -> frozenset[str]:
    """Return the slugs of a folder's agents that are unchanged definitions of the team."""
    return frozenset(
        slug(Path(name).stem)
        for name, text in agent_files().items()
        if read_bytes(folder / name, MAX_BYTES) == text.encode()
    )


def _is_redirected(target: InstallTarget, path: Path) -> bool:
    try:
        target.refuse_links(path)
    except UsageError:
        return True
    return False


def agent_files() -> dict[str, str]:
    """Return the definitions of the built-in team in the client's format, by file name.

    Agents that the client has itself are left out: a file would replace the client's own definition.
    """
    return {f"{one.name}.md": _definition(one) for one in built_in_team().definitions if one.name not in OF_CLIENT}


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
    """Return the slugs of the agents that a folder of the client defines."""
    if not folder.is_dir():
        return frozenset()
    found = load_plugin(Folder(str(folder)), AllowList(OFFERED), Manifest("agents", None, (".",)))
    return frozenset(slug(one.name) for one in found.definitions)


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
