"""The mode of the gate in a project's own configuration, which is where every command looks for it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from remit.clients.claude_code.setup.changes import Change
from remit.clients.claude_code.setup.place import Place
from remit.clients.claude_code.setup.writing import read_bytes
from remit.configuration import find_file, load
from remit.errors import UsageError
from remit.gate.settings import MODES

_MOST_BYTES = 1024 * 1024


def mode_change(place: Place, mode: str | None) -> Change | None:
    """What puts a project into a mode; None: nothing has to change."""
    if mode is None:
        return None
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}; known are {', '.join(MODES)}")
    if place.is_user:
        raise UsageError("--mode belongs to a project: leave --user out, or set REMIT_GATE_MODE in your environment")
    configured = load(place.root, {})
    if configured["gate.mode"] == mode:
        return None
    file = find_file(place.root) or place.root / "remit.toml"
    is_table_of_tool = file.name == "pyproject.toml"
    header = "[tool.remit.gate]" if is_table_of_tool else "[gate]"
    by_hand = f'set mode = "{mode}" under {header} in {file}'
    if configured.values["gate.mode"].source != "default":
        raise UsageError(f"{file} says mode = {configured['gate.mode']!r}: {by_hand}")
    if file.parent != place.root:
        raise UsageError(f"the configuration of this project is {file}, outside of {place.root}: {by_hand}")
    return _appended(file, f'{header}\nmode = "{mode}"\n', mode, by_hand)


def _appended(file: Path, table: str, mode: str, by_hand: str) -> Change:
    """The table at the end of the file, where it is still valid there."""
    before = read_bytes(file, _MOST_BYTES)
    text = (before or b"").decode("utf-8")
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    after = text + gap + table
    try:
        tables = tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:  # it has such a table already, in a form of its own
        raise UsageError(f"{file} cannot be added to ({error}): {by_hand}") from error
    tool = tables.get("tool", {}).get("remit", {}) if file.name == "pyproject.toml" else tables
    if tool.get("gate", {}).get("mode") != mode:
        raise UsageError(f"{file} cannot be added to: {by_hand}")
    return Change(file, before, after.encode(), is_shared=True)
