"""Plan an install and apply it, or roll it back if it fails."""

from __future__ import annotations

import os
import secrets
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from remit.clients.hooks.compiling import CONFIRMED, compile_project
from remit.clients.hooks.events import UNKNOWN
from remit.clients.hooks.hook_server import NO_SERVER, is_answering
from remit.clients.setup.mcp_entry import add_server
from remit.clients.setup.plan import (
    MAX_BYTES,
    AddedHooks,
    FileChange,
    InstallPlan,
    InstallRecord,
    read_bytes,
    read_record,
    record_file,
    write_bytes,
    write_record,
)
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
from remit.clients.setup.uninstall import find_own_agents, folders_of, wanted_files
from remit.configuration import find_file, load
from remit.contract.kinds import slug
from remit.errors import RemitError, UsageError
from remit.gate.record_store import make_private, remove_store
from remit.gate.settings import MODES
from remit.registry.model import digest_of
from remit.workspace.atomic_write import lock_descriptor
from remit.workspace.safe_git import GitLimitReached, run_git

#: How long an install waits for another one, which may be waiting for the user's confirmation.
WAIT_SECONDS = 20.0
_GIT_SECONDS = 5.0


def plan_install(
    target: InstallTarget, *, mode: str | None = None, http: str | None = None, is_with_mcp: bool = False
) -> InstallPlan:
    """Plan an install without writing anything. Raises UsageError if it is not possible."""
    _refuse_second_install(target)
    recorded = read_record(target)
    earlier = recorded or InstallRecord()
    secret = (earlier.http_secret or secrets.token_urlsafe(32)) if http else None
    entries = target.client.hook_entries(http, secret=secret, is_closed=_is_closed(target))
    settings = _settings_change(target, entries)
    configured = mode_change(target, mode, earlier.configuration)
    files, kept = _own_files(target, entries, earlier)
    server = add_server(target, earlier.mcp, is_wanted=is_with_mcp)
    changes = [
        *([server.change] if server.change is not None else []),
        *([configured[0]] if configured is not None else []),
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
            **earlier.files,
            **{target.record_path(change.path): digest_of(change.after or b"") for change in files},
        },
        folders=[*dict.fromkeys([*earlier.folders, *_own_folders(target, earlier, files, changes)])],
        settings=target.record_path(target.settings),
        made=[*dict.fromkeys([*earlier.made, *_containers(before or "{}", after or "{}")])],
        rules=[*dict.fromkeys([*earlier.rules, *_added_rules(target, before or "{}")])],
        made_settings=earlier.made_settings or before is None,
        configuration=configured[1] if configured is not None else earlier.configuration,
        mcp=server.added or earlier.mcp,
        http=http,
        http_secret=secret,
    )
    notes = [*_notes(target, http, is_first=recorded is None), *server.notes]
    return InstallPlan(target, changes, [*kept, *server.kept], notes, record, target.client.calls(http))


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


def _settings_change(target: InstallTarget, entries: dict[str, dict[str, Any]]) -> FileChange | None:
    if not entries:
        return None
    target.refuse_links(target.settings)
    text = read_settings(target.settings)
    after = with_rules(
        with_hooks("{}\n" if text is None else text, entries, target.client.is_ours), target.client.deny_rules(target)
    )
    if after == text:
        return None
    return FileChange(target.settings, None if text is None else text.encode(), after.encode(), is_shared=True)


def _containers(before: str, after: str) -> list[str]:
    return [*added_by(before, after), *containers_added(before, after)]


def _added_rules(target: InstallTarget, before: str) -> list[str]:
    """Return the rules that the settings lack."""
    rules = target.client.deny_rules(target)
    present = present_rules(before, rules)
    return [rule for rule in rules if rule not in present]


def _own_files(
    target: InstallTarget, entries: dict[str, dict[str, Any]], earlier: InstallRecord
) -> tuple[list[FileChange], list[str]]:
    """Return the changes of Remit's own files, and the files of the user that stay unchanged instead."""
    files: list[FileChange] = []
    kept: list[str] = []
    agents = target.folder / target.client.agents
    foreign = _foreign_agents(target, earlier)
    for path, text in wanted_files(target, entries).items():
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
    own = {_agent_slug(target, path) for path in earlier.files if target.path(path).parent == folder}
    here = client.agent_names(folder) - own - find_own_agents(client, folder)
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


def _notes(target: InstallTarget, http: str | None, *, is_first: bool) -> list[str]:
    notes = []
    tracked = _tracked(target) if is_first and not target.is_user else []
    if tracked:
        verb = "contains" if len(tracked) == 1 else "contain"
        notes.append(f"{' and '.join(tracked)} {verb} paths of this machine; do not commit them")
    if http:
        notes.append(
            f"the hooks call {http} and have no effect while no server answers there ({NO_SERVER}); with "
            'gate.on_fault = "closed", calls are then denied'
        )
    return notes


def _tracked(target: InstallTarget) -> list[str]:
    """Return the files with paths of this machine that git does not ignore."""
    if (run_git(target.root, "rev-parse", "--is-inside-work-tree") or b"").strip() != b"true":
        return []
    return [
        target.display_path(name)
        for name, path in target.client.local_files(target).items()
        if not _is_ignored(target.root, path)
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
    make_private(str(target.gate))
    (target.gate / UNKNOWN).unlink(missing_ok=True)  # another version may understand these events
    write_record(target, plan.record)
    for are_hooks in (False, True):
        if are_hooks and not target.is_user:
            compile_project(target.root, confirm=True)
        for change in plan.changes:
            if (change.path == target.settings) is are_hooks:
                change.apply()
                done.append(change)


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
    """Return the last line of an install: whether the client is under contract."""
    off = plan.target.client.disabled_hooks(plan.target)
    if off:
        names = " and ".join(plan.target.display_path(path) for path in off)
        return f"{client} is NOT under contract: disableAllHooks in {names} switches all hooks off; remove it first"
    if plan.record.http and not is_answering(plan.record.http):
        return (
            f"{client} is not under contract yet: its hooks call {plan.record.http}, where no server answers "
            f"({NO_SERVER})"
        )
    mode = "each project in its own mode" if plan.target.is_user else f"mode {effective_mode(plan.target)}"
    if not plan.changes:
        return f"{client} is already under contract here ({mode}); nothing to change"
    step = plan.target.client.next_step(plan.target)
    if step:
        return f"{client} is not under contract yet ({mode}): {step}; then verify it with `remit doctor`"
    return f"{client} is under contract ({mode}); start a new session, and verify it with `remit doctor`"


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
    before = read_bytes(file, MAX_BYTES)
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
