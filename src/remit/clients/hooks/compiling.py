"""Compile the settings, the contract and the definitions of a project into the record that hooks read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from remit.checking import Options
from remit.clients.hooks.compiled import COMPILER, SCHEMA, environment, folder_of, stamp, write_compiled
from remit.configuration import Configuration, load
from remit.contract.kinds import kind_of, slug
from remit.errors import ConfigurationError, EnvironmentBroken, UsageError
from remit.gate.settings import settings_mapping
from remit.merging.merge_data import MergeSettings
from remit.merging.merge_settings import merge_settings
from remit.orchestrate.progress_file import progress_path
from remit.registry.definition import Definition
from remit.registry.plugin_root import PluginRoot
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList
from remit.rules.instructions import instructions
from remit.state_folder import person_files
from remit.workspace.git_folder import keep_out_of_git

#: At most this many files are checked for changes at each call.
_MAX_STAMPS = 300


def compile_project(folder: str | Path) -> None:
    """Compile a project."""
    project = Path(folder).absolute()
    configured = load(project, in_hook=True)
    folders = agent_folders(project)
    definitions = _definitions(folders)
    contract = _contract(configured, definitions)
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "gate": {**settings_mapping(configured), "tools": _tools(definitions)},
        "contract": contract,
        "always": _always(configured, definitions),
        "prompts": {kind: instructions(kind, configured["profile"]) for kind in sorted(set(contract.values()))},
        "profile": configured["profile"],
        "notes": list(configured.notes),
        "progress": str(progress_path(project / ".remit")),
        "check": _check_settings(configured),
        "digests": {name: definition.digest for name, definition in sorted(definitions.items())},
        "merge": msgspec.to_builtins(_merge_settings(configured)),
        "environment": environment(),
        "stamps": [stamp(path) for path in _dependencies(project, folders)],
    }
    _write(project, values)


def agent_folders(project: Path) -> list[Path]:
    """Return the folders of the clients' agent definitions. The first definition of a name wins; Remit's are last."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    of_claude = [project / ".claude" / "agents", Path(home) / "agents"]
    return [*of_claude, *(project / name for name in (".codex/agents", ".github/agents", ".opencode/agents"))]


def _definitions(folders: Iterable[Path]) -> dict[str, Definition]:
    """Return the definitions that the client would use, by name. The client reports invalid files itself."""
    by_name: dict[str, Definition] = {}
    for folder in folders:
        if folder.is_dir():
            plugin = load_plugin(PluginRoot(str(folder)), AllowList(OFFERED), Manifest("client", None, (".",)))
            for definition in plugin.definitions:
                by_name.setdefault(definition.name, definition)
    return by_name


def _always(configured: Configuration, definitions: Mapping[str, Definition]) -> list[str]:
    """Return the agents under contract in every mode: their definition states it, or the settings name them."""
    stated = [name for name, one in definitions.items() if one.kind or (one.contract or "none") != "none"]
    return sorted({*stated, *configured["gate.under_contract"]})


def _contract(configured: Configuration, definitions: Mapping[str, Definition]) -> dict[str, str]:
    """Return the agents under contract, with the kind of result that each must send."""
    team = {definition.name: definition for definition in built_in_team().definitions}
    kinds = {slug(name): kind for name, kind in configured["agents.kinds"].items()}
    contract: dict[str, str] = {}
    for name in (*team, *_always(configured, definitions)):
        bare = name.rpartition(":")[2]
        defined = [
            definition.kind
            for definition in (definitions.get(bare), team.get(bare))
            if definition is not None and definition.kind
        ]
        named = defined[0] if defined else kinds.get(slug(name)) or kinds.get(slug(bare))
        _validate("agents.kinds", Options(kind=named))
        contract[name] = kind_of(name, named).name
    return contract


def _tools(definitions: Mapping[str, Definition]) -> dict[str, list[str]]:
    """Return the tools of each definition, including those that only the client has; `*` if it lists none."""
    return {
        name: ["*"] if definition.tools is None else [*definition.tools, *definition.unknown_tools]
        for name, definition in sorted(definitions.items())
    }


def _check_settings(configured: Configuration) -> dict[str, Any]:
    """Return the rules that the project selects, ignores or overrides, as in `remit check`."""
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
    _validate("profile, check.select, check.ignore or check.overrides", options)
    return chosen


def _merge_settings(configured: Configuration) -> MergeSettings:
    """Return how accepted reports are merged, as in `remit merge --session`."""
    try:
        return merge_settings(configured)
    except UsageError as error:
        raise ConfigurationError(f"merge: {error}") from error


def _validate(key: str, options: Options) -> None:
    try:
        options.validated().without_ignored_l1()
    except UsageError as error:
        raise ConfigurationError(f"{key}: {error}") from error


def _dependencies(project: Path, folders: Iterable[Path]) -> list[str]:
    """Return the files that the values depend on, including files that do not exist yet."""
    files = [
        str(folder / name) for folder in _configuration_folders(project) for name in ("remit.toml", "pyproject.toml")
    ]
    for folder in folders:
        files += [str(folder), *(str(folder / name) for name in _markdown(folder))]
    return [*files[: _MAX_STAMPS - 3], *person_files(), COMPILER]


def _markdown(folder: Path) -> list[str]:
    try:
        return PluginRoot(str(folder)).markdown(".")[0] if folder.is_dir() else []
    except OSError:  # too many files: the stamp of the folder must be enough
        return []


def _configuration_folders(project: Path) -> Iterable[Path]:
    """Return the folders in which Remit looks for configuration files."""
    for folder in (project, *project.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _write(project: Path, values: dict[str, Any]) -> None:
    folder = Path(folder_of(str(project)))
    try:
        keep_out_of_git(folder.parent)
    except OSError as error:
        raise EnvironmentBroken(f"{folder.parent} cannot be written: {error.strerror}") from error
    write_compiled(str(project), values)
