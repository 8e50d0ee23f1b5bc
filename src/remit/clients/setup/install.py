"""Plan an install and apply it, or roll it back if it fails."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from remit.clients.hooks.compiling import CONFIRMED, compile_project
from remit.clients.hooks.hook_events import UNKNOWN
from remit.clients.setup.file_changes import (
    MAX_BYTES,
    AddedHooks,
    FileChange,
    InstallPlan,
    InstallRecord,
    other_records,
    read_bytes,
    read_record,
    record_file,
    write_bytes,
    write_record,
)
from remit.clients.setup.mcp_entry import add_server
from remit.clients.setup.other_places import absent_program, doubled_hooks
from remit.clients.setup.settings_file import (
    added_by,
    containers_added,
    present_rules,
    read_settings,
    with_hooks,
    with_rules,
    without_hooks,
    without_rules,
)
from remit.clients.setup.target import InstallTarget
from remit.clients.setup.uninstall import find_own_agents, find_own_files, folders_of, ignore_file, wanted_files
from remit.configuration import find_file, load
from remit.contract.kinds import slug
from remit.errors import RemitError, UsageError
from remit.gate.record_store import make_private, remove_store
from remit.gate.settings import MODES, POWERS, GateSettings, from_configuration, user_mode, user_mode_file
from remit.registry.definition import digest_of
from remit.workspace.atomic_write import lock_descriptor
from remit.workspace.safe_git import GitLimitReached, run_git

#: The mode of a new install that names none.
NEW = "verify"
#: How long an install waits for another one, which may be waiting for the user's confirmation.
WAIT_SECONDS = 20.0
_GIT_SECONDS = 5.0


def plan_install(target: InstallTarget, *, mode: str | None = None, is_with_mcp: bool = False) -> InstallPlan:
    """Plan an install without writing anything. Raises UsageError if it is not possible."""
    _refuse_second_install(target)
    if not target.is_user:
        from_configuration(load(target.root))  # a faulty configuration is refused before the person is asked
    if mode is not None and mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; choose from {', '.join(MODES)}")
    recorded = read_record(target)
    earlier = recorded or InstallRecord()
    powers = POWERS[mode or effective_mode(target)]
    entries = target.client.hook_entries(is_closed="deny" in powers and _is_closed(target))
    rules = target.client.deny_rules(target) if "install" in powers else []
    installed = earlier if recorded is not None else find_own_files(target)
    settings = _settings_change(target, entries, rules, None if recorded is None else earlier)
    configured = None if target.is_user else mode_change(target, mode, added_modes(target, earlier))
    user_mode = user_mode_change(target, mode)
    wanted = wanted_files(target, entries, is_with_team="install" in powers)
    files, kept = _own_files(target, wanted, earlier)
    removed, changed_since = _surplus_files(target, wanted, installed)
    server = add_server(target, earlier.mcp, is_wanted=is_with_mcp)
    changes = [
        *([server.change] if server.change is not None else []),
        *([configured[0]] if configured is not None else []),
        *([user_mode] if user_mode is not None else []),
        *removed,
        *(change for change in files if change.before != change.after),
        *([settings] if settings is not None else []),  # last: hooks start when all files exist
    ]
    for path in (*(change.path for change in changes), record_file(target)):
        target.refuse_links(path)
    before = _settings_before(target, has_record=recorded is not None)
    after = (settings.after or b"").decode() if settings is not None else _settings_text(target)
    record = InstallRecord(
        version=version("remit"),
        files={
            **{path: digest for path, digest in earlier.files.items() if target.path(path) in wanted},
            **{target.record_path(change.path): digest_of(change.after or b"") for change in files},
        },
        folders=_needed_folders(target, earlier, files, changes, wanted),
        settings=target.record_path(target.settings),
        made=[*dict.fromkeys([*_still_made(earlier, rules), *_containers(before or "{}", after or "{}")])],
        rules=[*dict.fromkeys([*(earlier.rules if rules else ()), *_added_rules(rules, before or "{}")])],
        made_settings=earlier.made_settings or before is None,
        configuration=configured[1] if configured is not None else earlier.configuration,
        mcp=server.added or earlier.mcp,
    )
    notes = [*_notes(target, {*wanted, target.settings} if recorded is None else set()), *server.notes]
    notes += filter(None, (doubled_hooks(target, entries), absent_program(target.client) if changes else ""))
    kept = [*kept, *changed_since, *server.kept]
    return InstallPlan(target, changes, kept, notes, record, target.client.calls())


def _refuse_second_install(target: InstallTarget) -> None:
    """Raise UsageError if the hooks of the user would run for each event, too."""
    client = target.client
    if target.is_user or not client.repeats_hooks:
        return
    user = client.find_target(None, is_user=True)
    if user.settings != target.settings and read_record(user) is not None:
        what = f"{client.name} is already installed for all your projects"
        raise UsageError(f"{what}; to install it here instead, run `remit uninstall {client.name} --user` first")


def _is_closed(target: InstallTarget) -> bool:
    return not target.is_user and bool(load(target.root)["gate.on_fault"] == "closed")


def _settings_change(
    target: InstallTarget, entries: dict[str, dict[str, Any]], rules: Sequence[str], recorded: InstallRecord | None
) -> FileChange | None:
    """Return the change of the client's settings: the hooks, and the rules of this mode instead of earlier ones."""
    if not entries:
        return None
    target.refuse_links(target.settings)
    text = read_settings(target.settings)
    after = with_hooks("{}\n" if text is None else text, entries, target.client.is_ours)
    if rules:
        after = with_rules(after, rules)
    elif recorded is not None:  # a rule that was there before the install is not recorded, and stays
        after = without_rules(after, recorded.rules, recorded.made) if recorded.rules else after
    elif present_rules(after, target.client.deny_rules(target)):
        after = without_rules(after, target.client.deny_rules(target))
    if after == text:
        return None
    return FileChange(target.settings, None if text is None else text.encode(), after.encode(), is_shared=True)


def _containers(before: str, after: str) -> list[str]:
    return [*added_by(before, after), *containers_added(before, after)]


def _still_made(earlier: InstallRecord, rules: Sequence[str]) -> list[str]:
    """Return the containers that an earlier install created, without those of rules if this mode has no rules."""
    return [name for name in earlier.made if rules or name.partition(".")[0] == "hooks"]


def _added_rules(rules: Sequence[str], before: str) -> list[str]:
    """Return the rules that the settings lack."""
    present = present_rules(before, rules)
    return [rule for rule in rules if rule not in present]


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


def _settings_before(target: InstallTarget, *, has_record: bool) -> str | None:
    """Return the settings before the install; None without a file. Without a record, remove Remit's hooks first."""
    text = _settings_text(target)
    if text is None or has_record:
        return text
    rest = without_rules(without_hooks(text, target.client.is_ours), target.client.deny_rules(target))
    return None if rest != text and rest.strip() == "{}" else rest


def _settings_text(target: InstallTarget) -> str | None:
    return read_settings(target.settings) if target.client.hook_entries() else None


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
    paths += [target.path(earlier.mcp.path)] if earlier.mcp is not None else []
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
            compile_project(target.root, confirm=True)
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


def status_message(plan: InstallPlan, client: str) -> str:
    """Return the last line of an install: whether the mode is effective."""
    mode = effective_mode(plan.target)
    state = {"verify": "verified", "observe": "observed"}.get(mode, "under contract")
    off = plan.target.client.disabled_hooks(plan.target)
    if off:
        names = " and ".join(plan.target.display_path(path) for path in off)
        return f"{client} is NOT {state}: disableAllHooks in {names} switches all hooks off; remove it first"
    more = ", unless a project states another" if plan.target.is_user else ""
    mode = f"mode {mode}{more}"
    if not plan.changes:
        return f"{client} is already {state} here ({mode}); nothing to change"
    step = plan.target.client.next_step(plan.target)
    if step:
        return f"{client} is not {state} yet ({mode}): {step}; then check it with `remit doctor`"
    return f"{client} is {state} ({mode}); start a new session, and check it with `remit doctor`"


class Rollback:
    """The state of a target before an install, to restore it."""

    def __init__(self, plan: InstallPlan) -> None:
        self._target = plan.target
        self._record = read_bytes(record_file(plan.target), MAX_BYTES)
        self._confirmed = read_bytes(plan.target.gate / CONFIRMED, MAX_BYTES)
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
            if self._confirmed is not None:
                write_bytes(self._target.gate / CONFIRMED, self._confirmed)
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


def mode_change(
    target: InstallTarget, mode: str | None, earlier: Sequence[AddedHooks]
) -> tuple[FileChange, AddedHooks] | None:
    """Return the change that sets the mode, and the text that it adds; None if nothing has to change.

    `earlier` are the texts that installs added. They may be replaced, but a mode that the user has set may not.
    """
    if mode is None:
        return None
    configured = load(target.root, {})
    if configured["gate.mode"] == mode:
        return None
    file = find_file(target.root) or target.root / "remit.toml"
    header = "[tool.remit.gate]" if file.name == "pyproject.toml" else "[gate]"
    instruction = f'set mode = "{mode}" under {header} in {file}'
    if file.parent != target.root:
        raise UsageError(f"this project's configuration file {file} is outside {target.root}; {instruction}")
    before = read_bytes(file, MAX_BYTES)
    text = (before or b"").decode("utf-8")
    table = f'{header}\nmode = "{mode}"\n'
    if configured.values["gate.mode"].source == "default" and f"\n{header}\n" in f"\n{text}":
        added = AddedHooks(target.record_path(file), f'mode = "{mode}"\n')
        after = f"\n{text}".replace(f"\n{header}\n", f"\n{header}\n{added.text}", 1)[1:]
    elif configured.values["gate.mode"].source == "default":
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        added = AddedHooks(target.record_path(file), gap + table, before is None)
        after = text + added.text
    elif present := [
        hooks for hooks in earlier if hooks.path == target.record_path(file) and text.count(hooks.text) == 1
    ]:
        gap = present[0].text[: len(present[0].text) - len(present[0].text.lstrip("\n"))]
        line = f'mode = "{mode}"\n'
        added = AddedHooks(present[0].path, gap + table if header in present[0].text else line, present[0].is_new)
        after = text.replace(present[0].text, added.text)
    else:
        raise UsageError(f"{file} already sets mode = {configured['gate.mode']!r}; {instruction}")
    _check(file, after, mode, instruction)
    return FileChange(file, before, after.encode(), is_shared=True), added


def added_modes(target: InstallTarget, earlier: InstallRecord) -> list[AddedHooks]:
    """Return the texts with a mode that installs of this project added: this client's, then those of others."""
    records = (earlier, *(record for _, record in other_records(target)))
    return [record.configuration for record in records if record.configuration is not None]


def user_mode_change(target: InstallTarget, mode: str | None) -> FileChange | None:
    """Return the change of the file with the mode of all projects that state none; None if nothing has to change."""
    path = Path(user_mode_file())
    before = read_bytes(path, MAX_BYTES)
    after = f"{mode}\n".encode()
    return None if mode is None or not target.is_user or before == after else FileChange(path, before, after)


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
    """Return the mode of new sessions in this project, or in projects that state no mode."""
    if target.is_user:
        return user_mode() or GateSettings().mode
    return from_configuration(load(target.root)).mode


def default_mode(target: InstallTarget) -> str | None:
    """Return the mode of an install that names none; None if the mode that is effective now stays.

    It stays if an earlier install or the configuration has set it.
    """
    is_installed = read_record(target) is not None or any((target.root / ".remit").glob("*/installed.json"))
    is_stated = user_mode() if target.is_user else load(target.root).values["gate.mode"].source != "default"
    return None if is_installed or is_stated else NEW
