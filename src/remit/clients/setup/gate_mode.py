"""Write the gate's mode into the configuration file of a project."""

from __future__ import annotations

import tomllib
from pathlib import Path

from remit.clients.setup.plan import AddedHooks, FileChange, read_bytes
from remit.clients.setup.target import InstallTarget
from remit.configuration import find_file, load
from remit.errors import UsageError
from remit.gate.settings import MODES

_MAX_BYTES = 1024 * 1024


def mode_change(
    target: InstallTarget, mode: str | None, earlier: AddedHooks | None
) -> tuple[FileChange, AddedHooks] | None:
    """Return the change that sets the mode, and the text that it adds; None if nothing has to change.

    `earlier` is the text that an earlier install added. It may be replaced, but a mode that the user has set may not.
    """
    if mode is None:
        return None
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; choose from {', '.join(MODES)}")
    if target.is_user:
        raise UsageError("--mode applies to one project; omit --user, or set REMIT_GATE_MODE in your environment")
    configured = load(target.root, {})
    if configured["gate.mode"] == mode:
        return None
    file = find_file(target.root) or target.root / "remit.toml"
    header = "[tool.remit.gate]" if file.name == "pyproject.toml" else "[gate]"
    instruction = f'set mode = "{mode}" under {header} in {file}'
    if file.parent != target.root:
        raise UsageError(f"this project's configuration file {file} is outside {target.root}; {instruction}")
    before = read_bytes(file, _MAX_BYTES)
    text = (before or b"").decode("utf-8")
    table = f'{header}\nmode = "{mode}"\n'
    if configured.values["gate.mode"].source == "default":
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        added = AddedHooks(target.record_path(file), gap + table, before is None)
        after = text + added.text
    elif earlier is not None and earlier.path == target.record_path(file) and text.count(earlier.text) == 1:
        gap = earlier.text[: len(earlier.text) - len(earlier.text.lstrip("\n"))]
        added = AddedHooks(earlier.path, gap + table, earlier.is_new)
        after = text.replace(earlier.text, added.text)
    else:
        raise UsageError(f"{file} already sets mode = {configured['gate.mode']!r}; {instruction}")
    _check(file, after, mode, instruction)
    return FileChange(file, before, after.encode(), is_shared=True), added


def _check(file: Path, text: str, mode: str, instruction: str) -> None:
    """Raise UsageError unless the new text is valid and sets the mode."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # the file has such a table in another form
        raise UsageError(f"the mode cannot be added to {file} ({error}); {instruction}") from error
    tool = tables.get("tool", {}).get("remit", {}) if file.name == "pyproject.toml" else tables
    if tool.get("gate", {}).get("mode") != mode:
        raise UsageError(f"the mode cannot be added to {file}; {instruction}")


def effective_mode(target: InstallTarget) -> str:
    """Return the mode of new sessions in this project."""
    return str(load(target.root)["gate.mode"])
