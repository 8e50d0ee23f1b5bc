"""Guarded files outside the work tree: the user's settings of the client and of git, the gate's records, the package.

They are recorded before a call by their change times. The client writes its own state file all the time, so of that
file only the parts count that decide what runs: servers, allowed tools and trusted folders.
"""

from __future__ import annotations

import os

from remit.deciding_files import CLIENTS, FILES
from remit.gate.file_versions import read_bytes
from remit.gate.guarded import PACKAGE, RECORDS, is_within, state_file, user_folder, user_rules
from remit.gate.record_store import digest_of, open_store
from remit.lean_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    #: Path -> change time; for the client's state file, change time and digest of its deciding parts.
    OutsideFiles = dict[str, int | tuple[int, str]]

#: Parts of a client's folder that decide what runs, or what the next session obeys.
_FOLDERS = ("agents", "commands", "skills", "hooks", "output-styles", "rules")
_FILES = (
    *("settings.json", "settings.local.json", "CLAUDE.md"),
    *("plugins/installed_plugins.json", "plugins/known_marketplaces.json"),
)
#: The folders of settings that clients obey for all users; an agent that runs as root can write them.
MANAGED = ["/etc/claude-code", "/Library/Application Support/ClaudeCode", "/etc/codex", "/etc/opencode"]
#: Files of a project that may be links to files elsewhere.
_LINKED = (*FILES, "pyproject.toml", *(".claude/settings.json", ".claude/settings.local.json"))
#: Entries of the gate's folder that the gate writes itself. Of those in folders, only known files are compared.
_OWN = "seal"
_WRITTEN_ONCE = ("reverts", "results")
#: The user's settings of git, below the folder for settings; the first is in the home folder.
_OF_GIT = ("config", "attributes")
_MAX_FILES = 2_000
#: A larger state file of the client is not read: every change of it counts.
_MAX_STATE = 16_000_000
#: The record with the digest of the state file, until the client writes the file again.
_KEPT = "client-state"
#: What a project's entry in the state file decides.
_DECIDING = ("mcpServers", "allowedTools", "enabledMcpjsonServers", "enableAllProjectMcpServers", "hooks")


def outside_files(folder: str, project: str) -> OutsideFiles:
    """Return the guarded files outside the work tree with their change times."""
    files: OutsideFiles = {}
    clients = _client_folders(project)
    for path in _named_files(folder, project, clients):
        _add(files, path)
    data = os.path.dirname(folder)
    waiting = [f"{base}/{name}" for base in clients for name in _FOLDERS]
    waiting += [folder, *(f"{data}/{name}" for name in CLIENTS), *MANAGED]
    while waiting and len(files) < _MAX_FILES:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.path != f"{folder}/{_OWN}":
                        _add(files, entry.path)
        except OSError:
            continue
    state = _state(folder)
    return {**files, state_file(): state} if state else files


def changed_outside(folder: str, project: str, before: OutsideFiles, time: float) -> list[str]:
    """Return the guarded files outside the work tree that changed: against a record, or in the package since a time."""
    after = outside_files(folder, project)
    client_state, kept = state_file(), tuple(f"{folder}/{name}/" for name in _WRITTEN_ONCE)
    names = [
        path
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
        and (path != client_state or _is_decided_otherwise(before.get(client_state), after))
        and not (path.startswith(kept) and (path not in before or path not in after))  # a hook wrote or removed it
    ]
    waiting = [] if is_within(PACKAGE, os.path.realpath(project)) else [PACKAGE]
    since = int((time - 0.01) * 1e9)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != "__pycache__":
                            waiting.append(entry.path)
                    elif entry.stat(follow_symlinks=False).st_ctime_ns > since:
                        names.append(entry.path)
        except OSError:
            continue
    return sorted(names)


def _named_files(folder: str, project: str, clients: list[str]) -> list[str]:
    rules = user_rules()
    git = os.path.dirname(rules)
    return [
        *(f"{folder}/{name}" for name in RECORDS),
        *(f"{base}/{name}" for base in clients for name in _FILES),
        *(rules, os.path.expanduser("~/.gitconfig"), *(f"{git}/{name}" for name in _OF_GIT)),
        *(path for name in _LINKED if os.path.islink(path := f"{project}/{name}")),
    ]


def _client_folders(project: str) -> list[str]:
    """Return the user's folder of the client, and the folder that the project's one leads to."""
    client_folder = os.path.join(project, ".claude")
    return [user_folder(), *([os.path.realpath(client_folder)] if os.path.islink(client_folder) else [])]


def _add(files: OutsideFiles, path: str) -> None:
    """Add a file, and the one that it leads to."""
    try:
        about = os.lstat(path)
        files[path] = about.st_ctime_ns
        if about.st_mode & 0o170000 == 0o120000:
            real = os.path.realpath(path)
            files[real] = os.lstat(real).st_ctime_ns
    except OSError:
        return


def _state(folder: str) -> tuple[int, str] | None:
    """Return the change time of the client's state file and the digest of what it decides; None without the file."""
    path = state_file()
    try:
        changed_at = os.stat(path).st_ctime_ns
    except OSError:
        return None
    store = open_store(folder)
    kept = (store.trusted(_KEPT) or b"").decode("ascii", "replace").split()
    if len(kept) == 2 and kept[0] == str(changed_at):
        return changed_at, kept[1]
    state_digest = _digest_of_state(path)
    store.put(_KEPT, "", f"{changed_at} {state_digest}".encode())
    return changed_at, state_digest


def _is_decided_otherwise(before: object, after: OutsideFiles) -> bool:
    """Return whether the state file decides something else. What the gate's folder states about it is not believed."""
    if not isinstance(before, tuple) or state_file() not in after:
        return True
    return bool(before[1] != _digest_of_state(state_file()))


def _digest_of_state(path: str) -> str:
    data = read_bytes(os.path.realpath(path), _MAX_STATE)
    try:
        values = loads(data or b"")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return digest_of(data or b"")
    projects: Any = values.get("projects")
    parts = {"": _deciding(values)}
    if isinstance(projects, dict):
        parts |= {str(name): _deciding(entry) for name, entry in projects.items() if isinstance(entry, dict)}
    return digest_of(repr(sorted((name, text) for name, text in parts.items() if text)).encode("utf-8", "replace"))


def _deciding(values: dict[str, Any]) -> str:
    """Return what a part of the state file decides; "" for what a new project has."""
    deciding = [(name, values[name]) for name in _DECIDING if values.get(name)]
    return repr(deciding) if deciding else ""
