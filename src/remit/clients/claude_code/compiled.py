"""The compiled settings file of a project: where it is, what it holds, whether it is fresh."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = "remit.compiled/1"
#: Below the project.
FOLDER = ".remit/gate"
FILE = "compiled.json"
#: What makes the file; another version of it tells subagents other things.
COMPILER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiling.py")
#: A larger file is not ours.
LARGEST = 4_000_000
#: What the compiled settings may come from; others are no matter of theirs, and may be secret.
_VARIABLES = ("REMIT_DATA", "REMIT_PROFILE")
_KINDS_OF_VARIABLES = ("REMIT_AGENTS_", "REMIT_CHECK_", "REMIT_GATE_")


def folder_of(project: str) -> str:
    """Where the gate keeps what it knows of a project."""
    return os.path.join(project, FOLDER)


def project_of(cwd: str) -> str:
    """The project that a folder belongs to, where nobody says it: the nearest one that has been compiled, else the
    checkout, else the folder itself."""
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
    """What tells whether a file, or a folder's list of names, has changed; an absent one has a size of -1."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return [path, 0, -1]
    return [path, found.st_mtime_ns, found.st_size]


def environment() -> dict[str, str]:
    """The variables that the compiled settings may come from."""
    return {
        name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_KINDS_OF_VARIABLES)
    }


def read_compiled(project: str) -> dict[str, Any] | None:
    """The compiled file's values, stale or not; None: there is none that can be used."""
    try:
        descriptor = os.open(os.path.join(folder_of(project), FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            data = file.read(LARGEST + 1)
        values = json.loads(data) if len(data) <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None
    return values if _is_ours(values) else None


def _is_ours(values: object) -> bool:
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        return False
    types = {"gate": dict, "contract": dict, "prompts": dict, "profile": str, "stamps": list}
    if not all(isinstance(values.get(name), kind) for name, kind in types.items()):
        return False
    texts = [*values["contract"].values(), *values["prompts"].values()]
    return all(isinstance(entry, str) for entry in texts)


def is_fresh(values: dict[str, Any]) -> bool:
    """Whether it was made by this very installation, and nothing that went into it has changed since."""
    if values.get("environment") != environment() or stamp(COMPILER) not in values["stamps"]:
        return False
    return all(
        isinstance(entry, list) and entry and isinstance(entry[0], str) and stamp(entry[0]) == entry
        for entry in values["stamps"]
    )
