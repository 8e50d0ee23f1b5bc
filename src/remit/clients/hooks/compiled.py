"""The compiled settings of a project, which hooks read instead of the configuration.

They are a record of the gate's store, in JSON:

    schema       "remit.compiled/2"
    gate         the mapping of `GateSettings`
    contract     agent -> the kind of result that it must send, if it is under contract
    always       the agents that are under contract in the mode `verify`, too
    prompts      kind -> the instructions on how to answer
    notes        what the settings state and is not read, a line each
    progress     the path of the progress file
    profile      the profile that results are checked with
    check        the rules that are selected, ignored or overridden
    digests      agent -> the digest of its definition
    merge        how accepted reports are merged
    environment  the variables that were set, see `environment`
    stamps       [path, mtime_ns, size] of each file that the settings depend on, see `stamp`

They must contain the stamp of this installation's compiler, so those of another version are compiled again.
"""

from __future__ import annotations

import json
import os

from remit.gate.record_store import find_store, open_store, store_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = "remit.compiled/2"
#: Relative to the project.
FOLDER = ".remit/gate"
_KIND = "settings"
#: The module that writes the record: another version of it writes other instructions.
COMPILER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiling.py")
#: The variables that settings may come from. Others are not stored: they may be secret.
_VARIABLES = ("REMIT_CONFIG", "REMIT_PROFILE")
_VARIABLE_PREFIXES = ("REMIT_AGENTS_", "REMIT_CHECK_", "REMIT_GATE_", "REMIT_PATHS_")


def folder_of(project: str) -> str:
    """Return the folder in which the gate keeps its files for a project."""
    return os.path.join(project, FOLDER)


def project_of(cwd: str) -> str:
    """Return the project that contains a folder, if the client does not name it.

    That is the nearest project with a gate, or else the checkout, or else the folder itself.
    """
    checkout = ""
    folder = os.path.abspath(cwd)
    while True:
        gate = os.path.join(folder, FOLDER)
        if os.path.isdir(gate) and os.path.lexists(store_path(gate)):
            return folder
        if not checkout and os.path.lexists(os.path.join(folder, ".git")):
            checkout = folder
        above = os.path.dirname(folder)
        if above == folder:
            return checkout or os.path.abspath(cwd)
        folder = above


def stamp(path: str) -> list[Any]:
    """Return what changes when a file or a folder's list of names changes; a missing file has the size -1."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return [path, 0, -1]
    return [path, about.st_mtime_ns, about.st_size]


def environment() -> dict[str, str]:
    """Return the variables that the compiled settings may come from."""
    return {
        name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES)
    }


def read_compiled(project: str) -> dict[str, Any] | None:
    """Return the compiled settings, current or outdated; None if the gate wrote no settings yet."""
    store = find_store(folder_of(project))
    data = store.get(_KIND) if store is not None else None
    try:
        values: Any = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) and values.get("schema") == SCHEMA else None


def write_compiled(project: str, values: dict[str, Any]) -> None:
    """Store the compiled settings."""
    open_store(folder_of(project)).put(_KIND, "", json.dumps(values).encode("ascii"))


def is_fresh(values: dict[str, Any]) -> bool:
    """Whether this installation compiled the values, and no file or variable has changed since."""
    stamps = values["stamps"]
    is_own = any(path == COMPILER for path, _, _ in stamps)
    return is_own and values["environment"] == environment() and all(stamp(entry[0]) == entry for entry in stamps)
