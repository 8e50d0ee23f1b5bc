"""Remove an install: everything that it wrote, except files that the user has changed since."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from remit.clients.setup.file_changes import (
    MAX_BYTES,
    FileChange,
    InstallPlan,
    InstallRecord,
    read_bytes,
    read_record,
    record_file,
)
from remit.clients.setup.settings_file import own_groups, present_rules, read_settings, with_install
from remit.clients.setup.target import ClientSetup, InstallTarget, display_home
from remit.contract.kinds import slug
from remit.errors import EnvironmentBroken, UsageError
from remit.gate.record_store import remove_store, store_path
from remit.gate.session_store import list_sessions
from remit.gate.settings import VERIFY
from remit.orchestrate.progress_file import progress_path, read_progress
from remit.registry.definition import digest_of
from remit.workspace.atomic_write import remove_leftovers

#: The content of `.remit/.gitignore`.
IGNORE = "*\n"


def plan_uninstalls(targets: Sequence[InstallTarget]) -> list[InstallPlan]:
    """Plan the removal of all clients that are installed at a place, in this order; the last plan removes the state."""
    plans: list[InstallPlan] = []
    for target in targets:
        plan = plan_uninstall(target, plans)
        if plan.changes or read_record(target) is not None:
            plans.append(plan)
    leftover = plan_uninstall(targets[0])
    return plans if plans or is_empty_plan(leftover) else [leftover]


def plan_uninstall(target: InstallTarget, earlier: Sequence[InstallPlan] = ()) -> InstallPlan:
    """Plan an uninstall without removing anything, after earlier ones at the same place.

    Raises UsageError if it is not possible.
    """
    record = read_record(target)
    installed = record if record is not None else find_own_files(target)
    kept: list[str] = []
    settings = _settings_change(target, record)
    changes = [settings] if settings is not None else []
    for name in installed.files:
        path = target.path(name)
        before = read_bytes(path, MAX_BYTES)
        if before is None:
            continue
        if path.is_symlink() or not installed.is_own(name, before):
            kept.append(f"{target.display_path(path)}: it was changed after it was installed, so it stays")
        elif not _is_needed(path, target, installed, earlier):
            changes.append(FileChange(path, before, None))
    planned = {change.path for plan in earlier for change in plan.changes}
    changes = [change for change in changes if change.path not in planned]
    for change in changes:
        target.refuse_links(change.path)
    return InstallPlan(target, changes, kept, _notes(target, installed, earlier), installed)


def _is_needed(path: Path, target: InstallTarget, installed: InstallRecord, earlier: Sequence[InstallPlan]) -> bool:
    """Whether a file is the `.gitignore` of `.remit`, and other files stay in there."""
    if path != ignore_file(target):
        return False
    return _is_shared(target, earlier) or bool(_stored_by_others(target, installed, earlier))


def _stored_by_others(
    target: InstallTarget, installed: InstallRecord, earlier: Sequence[InstallPlan] = ()
) -> list[Path]:
    """Return what is in `.remit` that other commands stored, such as the last report of `remit merge`."""
    own_paths = {target.path(name) for name in installed.files} | {target.gate, target.own, *_own_progress(target)}
    own_paths |= {plan.target.own for plan in earlier}
    folder = target.root / ".remit"
    return sorted(entry for entry in folder.iterdir() if entry not in own_paths) if folder.is_dir() else []


def _is_shared(target: InstallTarget, earlier: Sequence[InstallPlan] = ()) -> bool:
    """Whether another client stays installed in the same project: then the gate's state stays."""
    removed = {record_file(target), *(record_file(plan.target) for plan in earlier)}
    return any(path not in removed for path in (target.root / ".remit").glob("*/installed.json"))


def _own_progress(target: InstallTarget) -> list[Path]:
    """Return the progress file and its lock if only sessions of the client wrote it, and no plan."""
    file = progress_path(target.root / ".remit")
    try:
        work = read_progress(file).get("work")
    except UsageError:
        return []
    keys = (
        [str(entry.get("key")) if isinstance(entry, dict) else "" for entry in work] if isinstance(work, list) else [""]
    )
    return [file, file.with_suffix(".lock")] if all(key.startswith("session ") for key in keys) else []


def _settings_change(target: InstallTarget, record: InstallRecord | None) -> FileChange | None:
    client = target.client
    text = read_settings(target.settings) if client.hook_groups(VERIFY) else None
    rules = client.deny_rules(target) if record is None else record.rules
    if text is None or not (own_groups(text, client.is_ours) or present_rules(text, rules)):
        return None
    after = with_install(text, {}, [], client.is_ours, rules)
    is_removed = (record is None or record.made_settings) and after.strip() == "{}"
    return FileChange(target.settings, text.encode(), None if is_removed else after.encode(), is_shared=True)


def _notes(target: InstallTarget, installed: InstallRecord, earlier: Sequence[InstallPlan]) -> list[str]:
    """Return what else is removed, and what of Remit stays."""
    if _is_shared(target, earlier):
        return []
    count = len(list_sessions(str(target.gate)))
    sessions = "1 session" if count == 1 else f"{count} sessions"
    store = display_home(os.path.dirname(store_path(str(target.gate))))
    state = f"{target.display_path(target.gate)} and {store}"
    notes = [f"the recorded state of {sessions} is removed, too: {state}"] if count else []
    others = [path for path in _stored_by_others(target, installed, earlier) if path != ignore_file(target)]
    if others:
        notes.append(f"other commands of remit made {', '.join(map(target.display_path, others))}: this stays")
    return notes


def is_empty_plan(plan: InstallPlan) -> bool:
    """Whether there is no install to remove."""
    target = plan.target
    return not plan.changes and (_is_shared(target) or not target.gate.is_dir())


def apply_uninstall(plan: InstallPlan) -> None:
    """Apply an uninstall: the hooks first and the record last, so that it can be repeated after an interruption."""
    target = plan.target
    for change in plan.changes:
        change.apply()
    for path in map(target.path, plan.record.files):
        with suppress(OSError):
            path.with_name(f".{path.name}.remit-new").unlink()  # left by a killed install of an earlier version
    for parent in {path.parent for path in (target.settings, *map(target.path, plan.record.files))}:
        remove_leftovers(parent)
    try:
        for path in () if _is_shared(target) else _own_progress(target):
            path.unlink(missing_ok=True)
        record_file(target).unlink(missing_ok=True)
        if not _is_shared(target):
            remove_store(str(target.gate))
            if target.gate.is_dir() and not target.gate.is_symlink():
                shutil.rmtree(target.gate)
    except OSError as error:
        raise EnvironmentBroken(f"{error.filename} cannot be removed: {error.strerror}; try again") from error
    # `.remit` is listed in case an install was stopped before it wrote its record.
    for folder in (*reversed(plan.record.folders), target.record_path(target.own), ".remit"):
        with suppress(OSError):  # it contains other files
            target.path(folder).rmdir()


def wanted_files(target: InstallTarget, *, is_with_team: bool) -> dict[Path, str]:
    """Return the files of an install, with their content. The hooks are last: they start when all files exist."""
    ignore = ignore_file(target)
    is_leftover = read_bytes(ignore, MAX_BYTES) == IGNORE.encode()
    return {
        **({ignore: IGNORE} if is_leftover or not ignore.exists() else {}),
        **(target.client.team_files(target) if is_with_team else {}),
        **target.client.hook_files(target),
    }


def ignore_file(target: InstallTarget) -> Path:
    """Return the path of the file that keeps `.remit` out of version control."""
    return target.root / ".remit" / ".gitignore"


def find_own_files(target: InstallTarget) -> InstallRecord:
    """Return a record of the files of an install whose record is lost: those with exactly the installed content."""
    wanted = wanted_files(target, is_with_team=True)
    files = {
        path: digest_of(text.encode())
        for path, text in wanted.items()
        if not _is_redirected(target, path) and read_bytes(path, MAX_BYTES) == text.encode()
    }
    return InstallRecord(
        files={target.record_path(path): digest for path, digest in files.items()},
        folders=folders_of(target, [*files, target.settings]),
    )


def folders_of(target: InstallTarget, paths: Iterable[Path]) -> list[str]:
    """Return the folders that an install may have created for these files, the outer ones first."""
    folders = {folder for path in paths for folder in path.parents if target.holds(folder)}
    return [target.record_path(folder) for folder in sorted(folders, key=lambda folder: len(folder.parts))]


def find_own_agents(client: ClientSetup, folder: Path) -> frozenset[str]:
    """Return the slugs of a folder's agents that are unchanged definitions of the team."""
    return frozenset(
        slug(name.removesuffix(client.ending))
        for name, text in client.agent_files().items()
        if read_bytes(folder / name, MAX_BYTES) == text.encode()
    )


def _is_redirected(target: InstallTarget, path: Path) -> bool:
    try:
        target.refuse_links(path)
    except UsageError:
        return True
    return False
