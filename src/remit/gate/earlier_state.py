"""The files in which version 0.1.0 kept its state, in the gate's folder. They are imported once and removed then."""

from __future__ import annotations

import os
import stat

from remit.gate.session import SCHEMA
from remit.lean_json import dumps, loads
from remit.regular_files import read_regular

#: Files of the folder that are not a session's state.
_OTHERS = frozenset({"installed.json", "trusted.json"})
COMPILED = "compiled.json"
_ENDINGS = (".json", ".json.old", ".lock", ".rules")
_NAMES = ("tree", "client-state", "calls", "before")
_MAX_FILE = 4_000_000


def has_earlier_state(folder: str) -> bool:
    """Return whether a gate's folder contains files of the earlier version."""
    return any(name.endswith(".json") for name in _names(folder))


def read_earlier_state(folder: str) -> list[tuple[str, str, bytes]]:
    """Return the records of the earlier version, each with its kind and name."""
    records = []
    for name in _names(folder):
        data = read_regular(os.path.join(folder, name), _MAX_FILE) or b"" if name.endswith(".json") else b""
        if name == COMPILED:
            records.append(("settings", "", data))
        elif session := _session(data):
            records.append(("session", name.removesuffix(".json"), session))
    return records


def remove_earlier_state(folder: str) -> None:
    """Remove the files of the earlier version."""
    for name in (*_names(folder), *_NAMES):
        path = os.path.join(folder, name)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            for file in os.listdir(path):
                os.unlink(os.path.join(path, file))
            os.rmdir(path)
        except OSError:
            continue


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(_ENDINGS) and name not in _OTHERS]
    except OSError:
        return []


def _session(data: bytes) -> bytes:
    """Return the state of a session without its running calls: the last line, or the one before an incomplete one."""
    for text in (data, *reversed(data.splitlines()[-2:])):
        try:
            values = loads(text)
            if isinstance(values, dict) and values.get("schema") == SCHEMA:
                delegations = {key: _delegation(entry) for key, entry in values.get("delegations", {}).items()}
                running: dict[str, object] = {"writers": [], "pending": {}, "background": []}
                return dumps({**values, **running, "delegations": delegations})
        except (ValueError, RecursionError, TypeError, AttributeError):
            continue
    return b""


def _delegation(entry: dict[str, object]) -> dict[str, object]:
    """Return a delegation with the names that its fields have today."""
    renamed = {"told": "contract_sent", "recoverable": "is_recoverable"}
    return {renamed.get(name, name): value for name, value in entry.items()}
