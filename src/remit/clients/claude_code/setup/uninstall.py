"""Taking an install back: exactly what it put there, and nothing that a person has changed since."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from remit.clients.claude_code.setup.bundle import find_own_files, ignore_file
from remit.clients.claude_code.setup.hook_entries import is_ours
from remit.clients.claude_code.setup.plan import (
    MOST_BYTES,
    FileChange,
    InstallPlan,
    InstallRecord,
    read_bytes,
    read_record,
)
from remit.clients.claude_code.setup.settings_file import own_hooks, read_settings, without_hooks
from remit.clients.claude_code.setup.target import InstallTarget
from remit.errors import EnvironmentBroken
from remit.gate.session_store import list_sessions
from remit.gate.settings import MODES
from remit.workspace.atomic_write import remove_leftovers


def plan_uninstall(place: InstallTarget) -> InstallPlan:
    """What would be taken away. Nothing is done; what stands in its way is refused here."""
    record = read_record(place)
    known = record if record is not None else find_own_files(place)
    kept: list[str] = []
    changes = [
        change
        for change in (_settings_change(place, record), _configuration_change(place, known, kept))
        if change is not None
    ]
    for name in known.files:
        path = place.path(name)
        before = read_bytes(path, MOST_BYTES)
        if before is None:
            continue
        if path.is_symlink() or not known.is_own(name, before):
            kept.append(f"{place.told(path)}: it was changed since it was installed, so it stays")
        elif not _is_needed(path, place, known):
            changes.append(FileChange(path, before, None))
    if record is None and changes:
        kept += _perhaps_ours(place)
    for change in changes:
        place.refuse_links(change.path)
    return InstallPlan(place, changes, kept, _notes(place), known)


def _perhaps_ours(place: InstallTarget) -> list[str]:
    """Where the record is lost, nobody can tell who has written the mode."""
    file = place.root / "remit.toml"
    text = (read_bytes(file, MOST_BYTES) or b"").decode("utf-8", "replace")
    if place.is_user or not any(text.endswith(f'[gate]\nmode = "{mode}"\n') for mode in MODES):
        return []
    return [f"{place.told(file)}: the record of the install is lost, so the mode in it may be yours and stays"]


def _is_needed(path: Path, place: InstallTarget, known: InstallRecord) -> bool:
    """Git's rule for `.remit` stays as long as anything else in there does."""
    if path != ignore_file(place):
        return False
    own = {place.path(name) for name in known.files} | {place.gate}
    return any(entry not in own and entry != place.plugin.parent for entry in path.parent.iterdir())


def _settings_change(place: InstallTarget, record: InstallRecord | None) -> FileChange | None:
    text = read_settings(place.settings)
    if text is None or not own_hooks(text, is_ours):
        return None
    after = without_hooks(text, is_ours, record.made if record is not None else None)
    is_gone = (record is None or record.made_settings) and after.strip() == "{}"
    return FileChange(place.settings, text.encode(), None if is_gone else after.encode(), is_shared=True)


def _configuration_change(place: InstallTarget, known: InstallRecord, kept: list[str]) -> FileChange | None:
    """The table that we put at the end of a configuration file, where it still stands there."""
    added = known.configuration
    if added is None:
        return None
    path = place.path(added.path)
    before = read_bytes(path, MOST_BYTES)
    if before is None:
        return None
    if not before.endswith(added.text.encode()):
        kept.append(f"{added.path}: the mode in it was changed since, so it stays")
        return None
    after = before.removesuffix(added.text.encode())
    is_gone = added.is_new and not after
    return FileChange(path, before, None if is_gone else after, is_shared=True)


def _notes(place: InstallTarget) -> list[str]:
    count = len([name for name in list_sessions(str(place.gate)) if name not in ("installed", "compiled")])
    return [f"what the gate kept of {count} sessions goes with it: {place.told(place.gate)}"] if count else []


def is_empty_plan(plan: InstallPlan) -> bool:
    """Whether there is no install to take back."""
    return not plan.changes and not plan.place.gate.is_dir()


def apply_uninstall(plan: InstallPlan) -> None:
    """Take it away: the hooks first, the record last, so that it can be started again whenever it stops."""
    place = plan.place
    for change in plan.changes:
        change.apply()
    for path in map(place.path, plan.record.files):
        with suppress(OSError):
            path.with_name(f".{path.name}.remit-new").unlink()  # left by a killed install of an earlier version
    for parent in {path.parent for path in (place.settings, *map(place.path, plan.record.files))}:
        remove_leftovers(parent)
    try:
        if place.gate.is_dir() and not place.gate.is_symlink():
            shutil.rmtree(place.gate)
    except OSError as error:
        raise EnvironmentBroken(f"{error.filename} cannot be removed: {error.strerror}; start again") from error
    # `.remit` also where an install was stopped before it could record anything.
    for folder in (*reversed(plan.record.folders), ".remit"):
        with suppress(OSError):  # somebody has something in it
            place.path(folder).rmdir()
