"""The compiled settings file of a project, which hooks read instead of the configuration.

It is private JSON at `<project>/.remit/gate/compiled.json`:

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

The file may have come with a clone, so nothing in it determines which code runs. It must contain the stamp of this
installation's compiler, so a file from elsewhere is compiled again.
"""

from __future__ import annotations

import os

from remit.gate.file_versions import read_bytes
from remit.gate.witness import has_other_content
from remit.lean_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = "remit.compiled/1"
#: Relative to the project.
FOLDER = ".remit/gate"
FILE = "compiled.json"
#: The module that writes the file: another version of it writes other instructions.
COMPILER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiling.py")
#: Remit never writes a larger file.
MAX_BYTES = 4_000_000
#: The variables that settings may come from. Others are not stored: they may be secret.
_VARIABLES = ("REMIT_DATA", "REMIT_PROFILE")
_VARIABLE_PREFIXES = ("REMIT_AGENTS_", "REMIT_CHECK_", "REMIT_GATE_")
#: The same variables as `os.environ`, on systems where they are bytes.
_encoded = getattr(os, "environb", None)


#: Path -> inode, time and size of the compiled files that were parsed, and their values, which must not be changed.
_parsed: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {}
_MAX_PARSED = 100


def folder_of(project: str) -> str:
    """Return the folder in which the gate keeps its files for a project."""
    return os.path.join(project, FOLDER)


def project_of(cwd: str) -> str:
    """Return the project that contains a folder, if the client does not name it.

    That is the nearest compiled project, or else the checkout, or else the folder itself.
    """
    checkout = ""
    folder = os.path.abspath(cwd)
    while True:
        if os.path.lexists(os.path.join(folder, FOLDER, FILE)):
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


def read_compiled(project: str) -> dict[str, Any] | None:
    """Return the values of the compiled file, current or outdated; None if there is no valid file of Remit.

    A process that answers many events parses an unchanged file once.
    """
    path = os.path.join(folder_of(project), FILE)
    try:
        if path in _parsed and _parsed[path][0] == _mark_of(os.lstat(path)):
            return _parsed[path][1]
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            mark = _mark_of(os.fstat(descriptor))
            data = file.read(MAX_BYTES + 1)
        is_ours = len(data) <= MAX_BYTES and not has_other_content(folder_of(project), FILE, data)
        values = loads(data) if is_ours else None
    except (OSError, ValueError, RecursionError):
        return None
    if values is None or not _is_valid(values):
        return None
    if len(_parsed) >= _MAX_PARSED:
        _parsed.clear()
    compiled: dict[str, Any] = values
    _parsed[path] = (mark, compiled)
    return compiled


def _mark_of(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_ino, about.st_mtime_ns, about.st_size


def is_replaced(project: str) -> bool:
    """Return whether something else than Remit has changed the compiled file."""
    path = os.path.join(folder_of(project), FILE)
    if not os.path.lexists(path):
        return False
    # Something that is not a regular file, such as a pipe, has no content of Remit.
    return has_other_content(folder_of(project), FILE, read_bytes(path, MAX_BYTES) or b"")


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
