"""The compiled settings of a project, which hooks read instead of the configuration.

They are a record of the gate's store, in JSON:

    schema       "remit.compiled/1"
    version      the version of Remit that wrote it
    gate         the mapping of `GateSettings`
    contract     agent -> the kind of result that it must send; only these agents are under contract
    prompts      kind -> the instructions on how to answer
    progress     the path of the progress file
    profile      the profile that results are checked with
    check        the rules that are selected, ignored or overridden
    notice       a message for the user about settings that are not obeyed, or ""
    environment  the variables that were set, see `environment`
    stamps       [path, mtime_ns, size] of each file that the settings depend on, see `stamp`

They must contain the stamp of this installation's compiler, so those of another version are compiled again.
"""

from __future__ import annotations

import os

from remit.gate.earlier_state import COMPILED
from remit.gate.record_store import SEAL, find_store, open_store
from remit.lean_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.record_store import Record, RecordStore

SCHEMA = "remit.compiled/1"
#: Relative to the project.
FOLDER = ".remit/gate"
_KIND = "settings"
#: The module that writes the file: another version of it writes other instructions.
COMPILER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiling.py")
#: The variables that settings may come from. Others are not stored: they may be secret.
_VARIABLES = ("REMIT_CONFIG", "REMIT_PROFILE")
_VARIABLE_PREFIXES = ("REMIT_AGENTS_", "REMIT_CHECK_", "REMIT_GATE_", "REMIT_PATHS_")
#: The same variables as `os.environ`, on systems where they are bytes.
_encoded = getattr(os, "environb", None)
#: Project -> the record of its settings and its values, which must not be changed: a server parses them once.
_parsed: dict[str, tuple[Record, dict[str, Any]]] = {}
_MAX_PARSED = 100


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
        if os.path.lexists(os.path.join(gate, SEAL)) or os.path.lexists(os.path.join(gate, COMPILED)):
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
    # Not `items`: that would decode each variable, at every event.
    if _encoded is not None:
        names = [os.fsdecode(name) for name in _encoded if name.startswith(b"REMIT_")]
    else:
        names = [name for name in os.environ if name.startswith("REMIT_")]
    return {name: os.environ[name] for name in names if name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES)}


def read_compiled(project: str, store: RecordStore | None = None) -> dict[str, Any] | None:
    """Return the compiled settings, current or outdated; None if the gate wrote no settings yet.

    `store` is the store of the project, if it is open.
    """
    store = store or find_store(folder_of(project))
    if store is None:
        return None
    store.verify()
    known = _parsed.get(project)
    record = store.get(_KIND, earlier=known[0] if known is not None else None)
    if record is None:
        return None
    if known is not None and record.is_same(known[0]):
        return known[1]
    if not record.is_trusted:
        return None
    try:
        values: dict[str, Any] = loads(record.data)
    except (ValueError, RecursionError):
        return None
    if not _is_valid(values):
        return None
    if len(_parsed) >= _MAX_PARSED:
        _parsed.clear()
    _parsed[project] = (record, values)
    return values


def write_compiled(project: str, values: dict[str, Any]) -> None:
    """Store the compiled settings."""
    open_store(folder_of(project)).put(_KIND, "", dumps(values))


def is_replaced(project: str) -> bool:
    """Return whether something else than Remit has changed or removed the compiled settings."""
    store = find_store(folder_of(project))
    record = store.get(_KIND) if store is not None else None
    return store is not None and (store.is_lost if record is None else not record.is_trusted)


def _is_valid(values: object) -> bool:
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        return False
    types = {"gate": dict, "contract": dict, "prompts": dict, "profile": str, "stamps": list}
    if not all(isinstance(values.get(name), kind) for name, kind in types.items()):
        return False
    texts = [*values["contract"].values(), *values["prompts"].values()]
    if not all(isinstance(entry, list) and len(entry) == 3 for entry in values["stamps"]):
        return False
    return all(isinstance(entry, str) for entry in (*texts, *(entry[0] for entry in values["stamps"])))


def is_fresh(values: dict[str, Any]) -> bool:
    """Whether this installation compiled the values, and no file or variable has changed since."""
    if values.get("environment") != environment():
        return False
    find, is_own = os.stat, False  # every event runs this loop, over some thirty files
    for path, changed_at, size in values["stamps"]:
        is_own = is_own or path == COMPILER
        try:
            about = find(path)
        except (OSError, ValueError):  # it does not exist, or it is not a path
            if size != -1:
                return False
        else:
            if about.st_mtime_ns != changed_at or about.st_size != size:
                return False
    return is_own
