"""What hooks must know of a project, compiled into the one file that they read; its shape stands in `desk`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import remit
from remit.checking import Options
from remit.clients.claude_code.compiled import COMPILER, FILE, SCHEMA, environment, folder_of, stamp
from remit.configuration import Configuration, load
from remit.contract.kinds import kind_of, slug
from remit.errors import ConfigurationError, EnvironmentBroken, UsageError
from remit.gate.session_store import make_private
from remit.gate.settings import settings_mapping
from remit.registry.model import Definition
from remit.registry.plugin_root import PluginRoot
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList
from remit.rules.instructions import instructions
from remit.workspace.atomic_write import replace_file
from remit.workspace.git_folder import keep_out_of_git

#: Files whose changes are looked for at each call.
_MOST_STAMPS = 300


def compile_project(project: Path) -> Path:
    """Compile the settings, the contract and the definitions that hold for a project; the file that was written."""
    project = project.absolute()
    configured = load(project)
    folders = agent_folders(project)
    definitions = _definitions(folders)
    contract = _contract(configured, definitions)
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "version": remit.__version__,
        "gate": {**settings_mapping(configured), "tools": _tools(definitions)},
        "contract": contract,
        "prompts": {kind: instructions(kind, configured["profile"]) for kind in sorted(set(contract.values()))},
        "profile": configured["profile"],
        "check": _checked(configured),
        "environment": environment(),
        "stamps": [stamp(path) for path in _watched(project, folders)],
    }
    return _written(project, json.dumps(values, ensure_ascii=True).encode("ascii"))


def agent_folders(project: Path) -> list[Path]:
    """Where the client finds definitions of agents, the first of a name winning; ours as a plugin come last."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    return [project / ".claude" / "agents", Path(home) / "agents", project / ".remit/claude-code/plugin/agents"]


def _definitions(folders: Iterable[Path]) -> dict[str, Definition]:
    """The definitions that the client would use, by name. A file that is none is the client's to complain of."""
    found: dict[str, Definition] = {}
    for folder in folders:
        if folder.is_dir():
            plugin = load_plugin(PluginRoot(str(folder)), AllowList(OFFERED), Manifest("client", None, (".",)))
            for definition in plugin.definitions:
                found.setdefault(definition.name, definition)
    return found


def _contract(configured: Configuration, definitions: Mapping[str, Definition]) -> dict[str, str]:
    """Who is held to the contract, and the kind of result that each must send."""
    team = {definition.name: definition for definition in built_in_team().definitions}
    kinds = {slug(name): kind for name, kind in configured["agents.kinds"].items()}
    contract: dict[str, str] = {}
    for name in configured["gate.under_contract"] or team:
        bare = name.rpartition(":")[2]
        own = [found.kind for found in (definitions.get(bare), team.get(bare)) if found is not None and found.kind]
        named = own[0] if own else kinds.get(slug(name)) or kinds.get(slug(bare))
        _check("agents.kinds", Options(kind=named))
        contract[name] = kind_of(name, named).name
    return contract


def _tools(definitions: Mapping[str, Definition]) -> dict[str, list[str]]:
    """The tools of each definition that lists any; names that we do not know are the client's to grant."""
    return {
        name: [*definition.tools, *definition.unknown_tools]
        for name, definition in sorted(definitions.items())
        if definition.tools is not None
    }


def _checked(configured: Configuration) -> dict[str, Any]:
    """What the project leaves out of checks or departs from, as `remit check` takes it."""
    chosen = {
        "select": list(configured["check.select"]),
        "ignore": list(configured["check.ignore"]),
        "overrides": [list(pair) for pair in configured["check.overrides"].items()],
    }
    options = Options(
        profile=configured["profile"],
        select=tuple(chosen["select"]),
        ignore=tuple(chosen["ignore"]),
        overrides=tuple(configured["check.overrides"].items()),
    )
    _check("profile, check.select, check.ignore or check.overrides", options)
    return chosen


def _check(key: str, options: Options) -> None:
    try:
        options.validated()
    except UsageError as error:
        raise ConfigurationError(f"{key}: {error}") from error


def _watched(project: Path, folders: Iterable[Path]) -> list[str]:
    """All that the values were made from: also files that are not there, for they may come."""
    files = [str(folder / name) for folder in _searched(project) for name in ("remit.toml", "pyproject.toml")]
    for folder in folders:
        files += [str(folder), *(str(folder / name) for name in _markdown(folder))]
    return [*files[: _MOST_STAMPS - 1], COMPILER]


def _markdown(folder: Path) -> list[str]:
    try:
        return PluginRoot(str(folder)).markdown(".")[0] if folder.is_dir() else []
    except OSError:  # far too many; then the folder itself must do
        return []


def _searched(project: Path) -> Iterable[Path]:
    """The folders in which settings are looked for."""
    for folder in (project, *project.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _written(project: Path, data: bytes) -> Path:
    folder = Path(folder_of(str(project)))
    file = folder / FILE
    try:
        keep_out_of_git(folder.parent)
        make_private(str(folder))
        replace_file(file, data, mode=0o600, sync=False)
    except OSError as error:
        raise EnvironmentBroken(f"{file} cannot be written: {error.strerror}") from error
    return file
