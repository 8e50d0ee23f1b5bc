"""Plan an install and apply it, or roll it back if it fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from remit.clients.hooks.compiling import compile_project
from remit.clients.hooks.hook_events import UNKNOWN
from remit.clients.setup.file_changes import (
    MAX_BYTES,
    FileChange,
    InstallPlan,
    InstallRecord,
    read_bytes,
    read_record,
    record_file,
    write_bytes,
    write_record,
)
from remit.clients.setup.other_places import absent_program, second_install
from remit.clients.setup.settings_file import own_groups, present_rules, read_settings, with_install
from remit.clients.setup.target import InstallTarget
from remit.clients.setup.uninstall import find_own_agents, find_own_files, folders_of, ignore_file, wanted_files
from remit.configuration import load
from remit.contract.kinds import slug
from remit.errors import RemitError, UsageError
from remit.gate.record_store import make_private, remove_store
from remit.gate.settings import MODES, ORCHESTRATOR, VERIFY, from_configuration
from remit.registry.definition import digest_of
from remit.workspace.atomic_write import lock_descriptor
from remit.workspace.safe_git import GitLimitReached, run_git

#: How long an install waits for another one, which may be waiting for the user's confirmation.
WAIT_SECONDS = 20.0
_GIT_SECONDS = 5.0


def plan_install(target: InstallTarget, *, mode: str | None = None) -> InstallPlan:
    """Plan an install without writing anything. Without a mode, the installed one stays. Raises UsageError."""
    if problem := second_install(target):
        raise UsageError(problem)
    mode = mode or installed_mode(target) or VERIFY
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; choose from {', '.join(MODES)}")
    if mode not in target.client.modes:
        what = f"{target.client.name} knows only the mode {VERIFY}: no call is denied there"
        raise UsageError(f"{what}; `--mode {ORCHESTRATOR}` is for claude-code")
    if not target.is_user:
        from_configuration(load(target.root))  # a faulty configuration is refused before the person is asked
    recorded = read_record(target)
    earlier = recorded or InstallRecord()
    is_orchestrator = mode == ORCHESTRATOR
    rules = target.client.deny_rules(target) if is_orchestrator else []
    installed = earlier if recorded is not None else find_own_files(target)
    before = _settings_text(target)
    settings = _settings_change(target, mode, rules, before, recorded)
    wanted = wanted_files(target, is_with_team=is_orchestrator)
    files, kept = _own_files(target, wanted, earlier)
    removed, changed_since = _surplus_files(target, wanted, installed)
    changes = [
        *removed,
        *(change for change in files if change.before != change.after),
        *([settings] if settings is not None else []),  # last: hooks start when all files exist
    ]
    for path in (*(change.path for change in changes), record_file(target)):
        target.refuse_links(path)
    is_lost = recorded is None and bool(installed_mode(target))
    rest = before
    if is_lost and before is not None:
        rest = with_install(before, {}, [], target.client.is_ours, target.client.deny_rules(target))
    present = present_rules(rest or "{}", rules)
    record = InstallRecord(
        version=version("remit"),
        files={
            **{path: digest for path, digest in earlier.files.items() if target.path(path) in wanted},
            **{target.record_path(change.path): digest_of(change.after or b"") for change in files},
        },
        folders=_needed_folders(target, earlier, files, changes, wanted),
        settings=target.record_path(target.settings),
        rules=[rule for rule in rules if rule not in present or rule in earlier.rules],
        made_settings=earlier.made_settings or before is None or (is_lost and (rest or "").strip() == "{}"),
    )
    notes = _notes(target, {*wanted, target.settings} if recorded is None else set())
    notes += filter(None, [absent_program(target.client) if changes else ""])
    return InstallPlan(target, changes, [*kept, *changed_since], notes, record, target.client.calls(mode), mode)


def installed_mode(target: InstallTarget) -> str:
    """Return the mode in the installed hooks; "" without any."""
    text = _settings_text(target)
    groups = own_groups(text, target.client.is_ours) if text is not None else {}
    return target.client.mode_of(groups) if groups else ""


def _settings_change(
    target: InstallTarget, mode: str, rules: Sequence[str], text: str | None, recorded: InstallRecord | None
) -> FileChange | None:
    """Return the change of the client's settings: the hooks, and the rules of this mode instead of earlier ones."""
    groups = target.client.hook_groups(mode)
    if not groups:
        return None
    target.refuse_links(target.settings)
    # A rule that was there before the install is not recorded, and stays.
    earlier = recorded.rules if recorded is not None else target.client.deny_rules(target)
    after = with_install("{}\n" if text is None else text, groups, rules, target.client.is_ours, earlier)
    if after == text:
        return None
    return FileChange(target.settings, None if text is None else text.encode(), after.encode(), is_shared=True)


def _surplus_files(
    target: InstallTarget, wanted: Collection[Path], earlier: InstallRecord
) -> tuple[list[FileChange], list[str]]:
    """Return the removal of files that this mode does not install, and those that the user has changed, which stay."""
    removed: list[FileChange] = []
    kept: list[str] = []
    for name in earlier.files:
        path = target.path(name)
        before = read_bytes(path, MAX_BYTES) if path not in wanted and path != ignore_file(target) else None
        if before is not None and earlier.is_own(name, before) and not path.is_symlink():
            removed.append(FileChange(path, before, None))
        elif before is not None:
            kept.append(f"{target.display_path(path)}: it was changed after it was installed, so it stays")
    return removed, kept


def _own_files(
    target: InstallTarget, wanted: Mapping[Path, str], earlier: InstallRecord
) -> tuple[list[FileChange], list[str]]:
    """Return the changes of Remit's own files, and the files of the user that stay unchanged instead."""
    files: list[FileChange] = []
    kept: list[str] = []
    agents = target.folder / target.client.agents
    foreign = _foreign_agents(target, earlier)
    for path, text in wanted.items():
        before = read_bytes(path, MAX_BYTES)
        after = text.encode()
        is_agent = path.parent == agents
        if is_agent and slug(path.name.removesuffix(target.client.ending)) in foreign:
            kept.append(f"{target.display_path(path)}: you already have an agent with this name, so yours is used")
        elif before is None or before == after or earlier.is_own(target.record_path(path), before):
            files.append(FileChange(path, before, after))
        else:
            was_installed = target.record_path(path) in earlier.files
            reason = "it was changed after it was installed" if was_installed else "the file is yours"
            kept.append(f"{target.display_path(path)}: {reason}, so it stays unchanged")
    return files, kept


def _settings_text(target: InstallTarget) -> str | None:
    return read_settings(target.settings) if target.client.hook_groups(VERIFY) else None


def _foreign_agents(target: InstallTarget, earlier: InstallRecord) -> frozenset[str]:
    """Return the slugs of agents that the user has defined, in this project or for all projects."""
    client = target.client
    folder = target.folder / client.agents
    installed_agents = {_agent_slug(target, path) for path in earlier.files if target.path(path).parent == folder}
    here = client.agent_names(folder) - installed_agents - find_own_agents(client, folder)
    if target.is_user:
        return here
    user = client.find_target(None, is_user=True)
    folder = user.folder / client.agents
    installed = {_agent_slug(user, path) for path in (read_record(user) or InstallRecord()).files}
    return here | (client.agent_names(folder) - installed - find_own_agents(client, folder))


def _agent_slug(target: InstallTarget, path: str) -> str:
    return slug(Path(path).name.removesuffix(target.client.ending))


def _own_folders(
    target: InstallTarget, earlier: InstallRecord, files: list[FileChange], changes: list[FileChange]
) -> list[str]:
    """Return the folders that have to be created, and those that an install with a lost record created."""
    adopted = [
        change.path
        for change in files
        if change.before == change.after and target.record_path(change.path) not in earlier.files
    ]
    existing = {folder for folder in folders_of(target, adopted) if target.path(folder).exists()}
    paths = (*(change.path for change in (*changes, *files)), record_file(target))
    return [folder for folder in folders_of(target, paths) if folder in existing or not target.path(folder).exists()]


def _needed_folders(
    target: InstallTarget,
    earlier: InstallRecord,
    files: list[FileChange],
    changes: list[FileChange],
    wanted: Collection[Path],
) -> list[str]:
    """Return the folders that installs created, without those of an earlier mode."""
    paths = [
        *wanted,
        target.settings,
        record_file(target),
        *(change.path for change in changes if change.after is not None),
    ]
    needed = set(folders_of(target, paths))
    created = dict.fromkeys([*earlier.folders, *_own_folders(target, earlier, files, changes)])
    return [name for name in created if name in needed]


def _notes(target: InstallTarget, written: Collection[Path]) -> list[str]:
    """Return what the user should know; `written` are the files of a first install."""
    notes = []
    tracked = _tracked(target, written) if written and not target.is_user else []
    if tracked:
        verb = "contains" if len(tracked) == 1 else "contain"
        notes.append(f"{' and '.join(tracked)} {verb} paths of this machine; do not commit them")
    return notes


def _tracked(target: InstallTarget, written: Collection[Path]) -> list[str]:
    """Return the written files with paths of this machine that git does not ignore."""
    if (run_git(target.root, "rev-parse", "--is-inside-work-tree") or b"").strip() != b"true":
        return []
    return [
        target.display_path(name)
        for name, path in target.client.local_files(target).items()
        if path in written and not _is_ignored(target.root, path)
    ]


def _is_ignored(root: Path, path: Path) -> bool:
    """Return whether git ignores a file. Git waits forever for a pipe in the place of a file with rules."""
    try:
        return run_git(root, "check-ignore", "--quiet", str(path), seconds=_GIT_SECONDS) is not None
    except GitLimitReached:
        return False


def apply_install(plan: InstallPlan) -> None:
    """Apply an install, or roll it back if it fails.

    The record is written first and the hooks last, so a killed install can be removed or repeated.
    """
    rollback = Rollback(plan)
    try:
        _write(plan, rollback.done)
    except RemitError as error:
        raise type(error)(f"{error}; {rollback.run()}") from error
    except Exception:
        rollback.run()
        raise


def _write(plan: InstallPlan, done: list[FileChange]) -> None:
    target = plan.target
    created = _created_folders(target)
    make_private(str(target.gate))
    (target.gate / UNKNOWN).unlink(missing_ok=True)  # another version may understand these events
    write_record(record_file(target), plan.record)
    for are_hooks in (False, True):
        if are_hooks and not target.is_user:
            compile_project(target.root)
        for change in plan.changes:
            if (change.path == target.settings) is are_hooks:
                change.apply()
                done.append(change)
    for folder in reversed([name for name in created if name not in plan.record.folders]):
        with suppress(OSError):  # it contains other files
            target.path(folder).rmdir()


def _created_folders(target: InstallTarget) -> list[str]:
    """Return the folders that earlier installs created."""
    return (read_record(target) or InstallRecord()).folders


@contextmanager
def install_lock(target: InstallTarget) -> Iterator[None]:
    """Let one install run at a time. The lock is on the folder itself, so it leaves no file behind."""
    descriptor = os.open(target.root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            lock_descriptor(descriptor, WAIT_SECONDS)
        except TimeoutError:
            what = "another `remit install` or `remit uninstall` is running"
            raise UsageError(f"{what} in {target.root}; nothing was changed. Try again when it has finished") from None
        except OSError:
            pass  # the file system has no locks; a file that changes in the meantime is still noticed
        yield
    finally:
        os.close(descriptor)


def status_message(plan: InstallPlan) -> str:
    """Return the last lines of an install: whether the mode is effective, and what it does not do."""
    target, mode, client = plan.target, plan.mode, plan.target.client.name
    state = "verified" if mode == VERIFY else "under contract"
    if off := target.client.disabled_hooks(target):
        names = " and ".join(target.display_path(path) for path in off)
        return f"{client} is NOT {state}: disableAllHooks in {names} switches all hooks off; remove it first"
    if not plan.changes:
        return f"{client} is already {state} here (mode {mode}); nothing to change"
    step = target.client.next_step(target)
    if step:
        outcome = f"{client} is not {state} yet (mode {mode}): {step}; then check it with `remit doctor`"
    else:
        outcome = f"{client} is {state} (mode {mode}); start a new session, and check it with `remit doctor`"
    if mode == ORCHESTRATOR:
        return outcome
    needed = (
        f"`--mode {ORCHESTRATOR}`" if ORCHESTRATOR in target.client.modes else f"`--mode {ORCHESTRATOR}` in Claude Code"
    )
    return f"{outcome}\nno call is denied: the orchestrator's limits need {needed}"


class Rollback:
    """The state of a target before an install, to restore it."""

    def __init__(self, plan: InstallPlan) -> None:
        self._target = plan.target
        self._record = read_bytes(record_file(plan.target), MAX_BYTES)
        self._had_gate = plan.target.gate.is_dir()
        paths = (record_file(plan.target), *(change.path for change in plan.changes))
        folders = {folder for path in paths for folder in path.parents if not folder.exists()}
        self._folders = sorted(folders, key=lambda folder: len(folder.parts), reverse=True)
        #: The changes that were applied, in this order.
        self.done: list[FileChange] = []

    def run(self) -> str:
        """Restore the earlier state, and describe what could not be restored."""
        for change in reversed(self.done):
            with suppress(RemitError):
                FileChange(change.path, change.after, change.before).apply()
        with suppress(RemitError, OSError):
            if self._record is not None:
                write_bytes(record_file(self._target), self._record)
            else:
                record_file(self._target).unlink(missing_ok=True)
            if not self._had_gate:
                remove_store(str(self._target.gate))
                shutil.rmtree(self._target.gate)
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
        remaining = [change.path for change in self.done if read_bytes(change.path, MAX_BYTES) == change.after]
        if not self._had_gate and self._target.gate.exists():
            remaining.append(self._target.gate)
        if not remaining:
            return "nothing was changed"
        first = self._target.display_path(remaining[0])
        if len(remaining) == 1:
            return f"{first} could not be restored; remove it with `remit uninstall`"
        return f"{first} and {len(remaining) - 1} more could not be restored; remove them with `remit uninstall`"
