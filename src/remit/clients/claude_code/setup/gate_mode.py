"""The mode of the gate in a project's own configuration, which is where every command looks for it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from remit.clients.claude_code.setup.plan import AddedHooks, FileChange, read_bytes
from remit.clients.claude_code.setup.target import InstallTarget
from remit.configuration import find_file, load
from remit.errors import UsageError
from remit.gate.settings import MODES

_MOST_BYTES = 1024 * 1024


def mode_change(
    place: InstallTarget, mode: str | None, earlier: AddedHooks | None
) -> tuple[FileChange, AddedHooks] | None:
    """What puts a project into a mode, and what of the file is then ours; None: nothing has to change.

    `earlier` is what an earlier install has added: that may be replaced, unlike the word of a person.
    """
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
    header = "[tool.remit.gate]" if file.name == "pyproject.toml" else "[gate]"
    by_hand = f'set mode = "{mode}" under {header} in {file}'
    if file.parent != place.root:
        raise UsageError(f"the configuration of this project is {file}, outside of {place.root}: {by_hand}")
    before = read_bytes(file, _MOST_BYTES)
    text = (before or b"").decode("utf-8")
    table = f'{header}\nmode = "{mode}"\n'
    if configured.values["gate.mode"].source == "default":
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        added = AddedHooks(place.shown(file), gap + table, before is None)
        after = text + added.text
    elif earlier is not None and earlier.path == place.shown(file) and text.count(earlier.text) == 1:
        gap = earlier.text[: len(earlier.text) - len(earlier.text.lstrip("\n"))]
        added = AddedHooks(earlier.path, gap + table, earlier.is_new)
        after = text.replace(earlier.text, added.text)
    else:
        raise UsageError(f"{file} says mode = {configured['gate.mode']!r}: {by_hand}")
    _check(file, after, mode, by_hand)
    return FileChange(file, before, after.encode(), is_shared=True), added


def _check(file: Path, text: str, mode: str, by_hand: str) -> None:
    """The table must be valid where it stands, and be the one that is in force."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # it has such a table already, in a form of its own
        raise UsageError(f"{file} cannot be added to ({error}): {by_hand}") from error
    tool = tables.get("tool", {}).get("remit", {}) if file.name == "pyproject.toml" else tables
    if tool.get("gate", {}).get("mode") != mode:
        raise UsageError(f"{file} cannot be added to: {by_hand}")


def effective_mode(place: InstallTarget) -> str:
    """The mode that a session in this place gets, as far as can be told from here."""
    return str(load(place.root)["gate.mode"])
