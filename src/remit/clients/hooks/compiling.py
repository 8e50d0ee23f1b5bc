"""Compile the settings, the contract and the definitions of a project into the record that hooks read.

Hooks obey a changed configuration only after a person has confirmed it: with `remit install` or `remit gate trust`. The
first compilation of a project that has no record of confirmed settings confirms them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from remit.checking import Options
from remit.clients.hooks.compiled import COMPILER, SCHEMA, environment, folder_of, read_compiled, stamp, write_compiled
from remit.configuration import Configuration, load, settings_digests
from remit.contract.kinds import kind_of, slug
from remit.errors import ConfigurationError, EnvironmentBroken, UsageError
from remit.gate.delegations import model_class
from remit.gate.file_versions import read_bytes
from remit.gate.record_store import make_private
from remit.gate.settings import settings_mapping, user_mode_file
from remit.merging.merge_data import MergeSettings
from remit.orchestrate.merge_settings import merge_settings
from remit.orchestrate.progress_file import progress_path
from remit.registry.definition import Definition
from remit.registry.plugin_root import PluginRoot
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList
from remit.rules.instructions import instructions
from remit.state_folder import person_files
from remit.workspace.atomic_write import replace_file
from remit.workspace.git_folder import keep_out_of_git

#: At most this many files are checked for changes at each call.
_MAX_STAMPS = 300
#: In the gate's folder: the digests of the configuration that a person has confirmed.
CONFIRMED = "trusted.json"
_MAX_CONFIRMED_BYTES = 100_000


def compile_project(folder: str | Path, *, confirm: bool = False) -> None:
    """Compile a project.

    With `confirm`, a person confirms the settings as they are now. Otherwise a configuration file that has changed
    since is not obeyed: the earlier settings stay effective, with a notice for the user.
    """
    project = Path(folder).absolute()
    changed = [] if confirm else unconfirmed_settings(project)
    earlier = read_compiled(str(project)) if changed else None
    if earlier is not None:
        now = {"notice": _unconfirmed_notice(changed), "environment": environment()}
        stamps = [stamp(path) for path in _dependencies(project, agent_folders(project))]
        _write(project, {**earlier, **now, "stamps": stamps})
        return
    # Without earlier settings, the defaults are effective until the file is confirmed.
    configured = load(Path(project.anchor) if changed else project)
    folders = agent_folders(project)
    definitions = _definitions(folders)
    contract = _contract(configured, definitions)
    check = _check_settings(configured)
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "version": version("remit"),
        "gate": {**settings_mapping(configured), "tools": _tools(definitions), "models": _models(definitions)},
        "contract": contract,
        "prompts": {kind: instructions(kind, configured["profile"]) for kind in sorted(set(contract.values()))},
        "profile": configured["profile"],
        "progress": str(progress_path(project / ".remit")),
        "check": check,
        "digests": {name: definition.digest for name, definition in sorted(definitions.items())},
        "merge": msgspec.to_builtins(_merge_settings(configured, definitions)),
        "environment": environment(),
        "stamps": [stamp(path) for path in _dependencies(project, folders)],
        "notice": _unconfirmed_notice(changed) if changed else "",
    }
    if confirm:
        confirm_settings(project)
    _write(project, values)


def agent_folders(project: Path) -> list[Path]:
    """Return the folders of the clients' agent definitions. The first definition of a name wins; Remit's are last."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    of_claude = [project / ".claude" / "agents", Path(home) / "agents", project / ".remit/claude-code/plugin/agents"]
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


def _contract(configured: Configuration, definitions: Mapping[str, Definition]) -> dict[str, str]:
    """Return the agents under contract, with the kind of result that each must send."""
    team = {definition.name: definition for definition in built_in_team().definitions}
    kinds = {slug(name): kind for name, kind in configured["agents.kinds"].items()}
    contract: dict[str, str] = {}
    for name in configured["gate.under_contract"] or team:
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


def _models(definitions: Mapping[str, Definition]) -> dict[str, str]:
    """Return the class of the model of each definition that names one, the built-in team included."""
    known = {definition.name: definition for definition in built_in_team().definitions} | dict(definitions)
    classes = {name: model_class(definition.model or "") for name, definition in sorted(known.items())}
    return {name: model for name, model in classes.items() if model}


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


def _merge_settings(configured: Configuration, definitions: Mapping[str, Definition]) -> MergeSettings:
    """Return how accepted reports are merged, as in `remit merge --session`."""
    known = {definition.name: definition for definition in built_in_team().definitions} | dict(definitions)
    try:
        return merge_settings(configured, known.values)
    except UsageError as error:
        raise ConfigurationError(f"merge: {error}") from error


def _validate(key: str, options: Options) -> None:
    try:
        options.validated()
    except UsageError as error:
        raise ConfigurationError(f"{key}: {error}") from error


def _dependencies(project: Path, folders: Iterable[Path]) -> list[str]:
    """Return the files that the values depend on, including files that do not exist yet."""
    files = [
        str(folder / name) for folder in _configuration_folders(project) for name in ("remit.toml", "pyproject.toml")
    ]
    for folder in folders:
        files += [str(folder), *(str(folder / name) for name in _markdown(folder))]
    return [*files[: _MAX_STAMPS - 4], *person_files(), user_mode_file(), COMPILER]


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


def confirm_settings(project: Path) -> list[str]:
    """Record the settings as they are now. Return their files."""
    digests = _digests(project)
    folder = folder_of(str(project))
    make_private(folder)
    data = json.dumps({"schema": "remit.trusted/1", "settings": digests}, ensure_ascii=True).encode("ascii")
    replace_file(Path(folder, CONFIRMED), data, mode=0o600, sync=False)
    return sorted(path for path, digest in digests.items() if digest)


def unconfirmed_settings(project: Path) -> list[str]:
    """Return the configuration files that differ from those that a person confirmed; the first time, confirm them."""
    recorded = _recorded(project)
    if recorded is None:
        with suppress(EnvironmentBroken, OSError):  # who writes the compiled file reports the same problem
            confirm_settings(project)
        return []
    now = _digests(project)
    return sorted(path for path in {*now, *recorded} if now.get(path, "") != recorded.get(path, ""))


def _digests(project: Path) -> dict[str, str]:
    """Return the digests by paths relative to the project, so that it can be moved."""
    digests = settings_digests(project.absolute())
    return {os.path.relpath(path, project.absolute()): digest for path, digest in digests.items()}


def _recorded(project: Path) -> dict[str, str] | None:
    try:
        values: Any = json.loads(
            read_bytes(os.path.join(folder_of(str(project)), CONFIRMED), _MAX_CONFIRMED_BYTES) or b""
        )
    except (ValueError, RecursionError):
        # If only this record was removed, the confirmed settings are not known any more. An earlier version had none.
        compiled = read_compiled(str(project))
        return None if compiled is None or "notice" not in compiled else {}
    settings = values.get("settings") if isinstance(values, dict) else None
    return {str(path): str(digest) for path, digest in settings.items()} if isinstance(settings, dict) else {}


def _unconfirmed_notice(files: list[str]) -> str:
    """Return the message for the user about files that are not obeyed."""
    names = ", ".join(files)
    return (
        f"{names} changed since you confirmed the settings, so the settings confirmed before stay effective. Look at "
        "the change; then restore the file, or confirm it with `remit gate trust`"
    )
