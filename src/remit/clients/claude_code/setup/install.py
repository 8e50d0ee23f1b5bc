"""Putting a project's subagents and orchestrator under contract: what would be written, and writing it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from remit import __version__
from remit.clients.claude_code.setup.bundle import agent_names, find_own_agents, folders_of, wanted_files
from remit.clients.claude_code.setup.gate_mode import effective_mode, mode_change
from remit.clients.claude_code.setup.hook_entries import NO_SERVER, hook_command, hook_entries, is_ours
from remit.clients.claude_code.setup.plan import (
    MOST_BYTES,
    FileChange,
    InstallPlan,
    InstallRecord,
    read_bytes,
    read_record,
    record_file,
    write_bytes,
    write_record,
)
from remit.clients.claude_code.setup.settings_file import added_by, read_settings, with_hooks, without_hooks
from remit.clients.claude_code.setup.target import InstallTarget, find_target
from remit.configuration import load
from remit.contract.kinds import slug
from remit.errors import RemitError, UsageError
from remit.gate.session_store import make_private
from remit.registry.model import digest_of
from remit.workspace.atomic_write import lock_descriptor
from remit.workspace.safe_git import run_git

#: So long one waits for another, which takes a second or two unless a person is being asked.
WAIT_SECONDS = 20.0


def plan_install(place: InstallTarget, *, mode: str | None = None, http: str | None = None) -> InstallPlan:
    """What an install would do. Nothing is written; what stands in its way is refused here."""
    recorded = read_record(place)
    earlier = recorded or InstallRecord()
    entries = hook_entries(http, is_closed=_is_closed(place))
    settings = _settings_change(place, entries)
    configured = mode_change(place, mode, earlier.configuration)
    files, kept = _own_files(place, entries, earlier)
    first = [configured[0]] if configured is not None else []
    last = [settings] if settings is not None else []
    changes = [*first, *(change for change in files if change.before != change.after), *last]
    for path in (*(change.path for change in changes), record_file(place)):
        place.refuse_links(path)
    before = _settings_before(place, is_known=recorded is not None)
    after = (settings.after or b"").decode() if settings is not None else read_settings(place.settings)
    record = InstallRecord(
        version=__version__,
        files={**earlier.files, **{place.shown(change.path): digest_of(change.after or b"") for change in files}},
        folders=[*dict.fromkeys([*earlier.folders, *_own_folders(place, earlier, files, changes)])],
        settings=place.shown(place.settings),
        made=[*dict.fromkeys([*earlier.made, *added_by(before or "{}", after or "{}")])],
        made_settings=earlier.made_settings or before is None,
        configuration=configured[1] if configured is not None else earlier.configuration,
        http=http,
    )
    notes = _notes(place, http, is_first=recorded is None)
    return InstallPlan(place, changes, kept, notes, record, hook_command(next(iter(entries.values()))))


def _is_closed(place: InstallTarget) -> bool:
    return not place.is_user and bool(load(place.root)["gate.on_fault"] == "closed")


def _settings_change(place: InstallTarget, entries: dict[str, dict[str, Any]]) -> FileChange | None:
    place.refuse_links(place.settings)
    text = read_settings(place.settings)
    after = with_hooks("{}\n" if text is None else text, entries, is_ours)
    if after == text:
        return None
    return FileChange(place.settings, None if text is None else text.encode(), after.encode(), is_shared=True)


def _own_files(
    place: InstallTarget, entries: dict[str, dict[str, Any]], earlier: InstallRecord
) -> tuple[list[FileChange], list[str]]:
    """The files that are ours alone; those in whose place a person has another stay as they are."""
    files: list[FileChange] = []
    kept: list[str] = []
    taken = _foreign_agents(place, earlier)
    for path, text in wanted_files(place, entries).items():
        before = read_bytes(path, MOST_BYTES)
        after = text.encode()
        is_agent = path.parent == place.claude / "agents"
        if is_agent and slug(path.stem) in taken:
            kept.append(f"{place.told(path)}: you already have an agent of that name, so it is used as it is")
        elif before is None or before == after or earlier.is_own(place.shown(path), before):
            files.append(FileChange(path, before, after))
        else:
            is_known = place.shown(path) in earlier.files
            whose = "it was changed since it was installed" if is_known else "it is a file of yours"
            kept.append(f"{place.told(path)}: {whose}, so it stays as it is")
    return files, kept


def _settings_before(place: InstallTarget, *, is_known: bool) -> str | None:
    """The settings without our hooks, where no record says what they were before them; None: there were none."""
    text = read_settings(place.settings)
    if text is None or is_known:
        return text
    rest = without_hooks(text, is_ours)
    return None if rest != text and rest.strip() == "{}" else rest


def _foreign_agents(place: InstallTarget, earlier: InstallRecord) -> frozenset[str]:
    """Agents that a person has under names of the team, here or for every project."""
    folder = place.claude / "agents"
    own = {slug(Path(path).stem) for path in earlier.files if place.path(path).parent == folder}
    here = agent_names(folder) - own - find_own_agents(folder)
    if place.is_user:
        return here
    user = find_target(None, is_user=True)
    folder = user.claude / "agents"
    installed = {slug(Path(path).stem) for path in (read_record(user) or InstallRecord()).files}
    return here | (agent_names(folder) - installed - find_own_agents(folder))


def _own_folders(
    place: InstallTarget, earlier: InstallRecord, files: list[FileChange], changes: list[FileChange]
) -> list[str]:
    """The folders that have to be made, and those of files that an install whose record is lost has made."""
    adopted = [
        change.path
        for change in files
        if change.before == change.after and place.shown(change.path) not in earlier.files
    ]
    known = {folder for folder in folders_of(place, adopted) if place.path(folder).exists()}
    paths = (*(change.path for change in (*changes, *files)), record_file(place))
    return [folder for folder in folders_of(place, paths) if folder in known or not place.path(folder).exists()]


def _notes(place: InstallTarget, http: str | None, *, is_first: bool) -> list[str]:
    notes = []
    tracked = _tracked(place) if is_first and not place.is_user else []
    if tracked:
        holds = "holds" if len(tracked) == 1 else "hold"
        notes.append(f"{' and '.join(tracked)} {holds} paths of this machine: keep them out of the project's history")
    if http:
        notes.append(f"the hooks call {http} and do nothing as long as nobody answers there: {NO_SERVER}")
    return notes


def _tracked(place: InstallTarget) -> list[str]:
    """Of what holds paths of this machine, that which git would take into the project's history."""
    if (run_git(place.root, "rev-parse", "--is-inside-work-tree") or b"").strip() != b"true":
        return []
    commands = place.claude / "commands" / "remit"
    asked = {place.settings: place.settings, commands: commands / "status.md"}
    return [
        place.told(name)
        for name, path in asked.items()
        if run_git(place.root, "check-ignore", "--quiet", str(path)) is None
    ]


def apply_install(plan: InstallPlan) -> None:
    """Write it, or where that fails take it back. The record comes first and the hooks last: also an install that is
    killed can be taken back or done again."""
    undo = Rollback(plan)
    try:
        _write(plan, undo.done)
    except RemitError as error:
        raise type(error)(f"{error}; {undo.take_back()}") from error
    except Exception:
        undo.take_back()
        raise


def _write(plan: InstallPlan, done: list[FileChange]) -> None:
    place = plan.place
    make_private(str(place.gate))
    write_record(place, plan.record)
    for are_hooks in (False, True):
        if are_hooks and not place.is_user:
            from remit.clients.claude_code.compiling import compile_project

            compile_project(place.root)
        for change in plan.changes:
            if (change.path == place.settings) is are_hooks:
                change.apply()
                done.append(change)


@contextmanager
def install_lock(place: InstallTarget) -> Iterator[None]:
    """Hold the place. The folder itself is locked, so that nothing has to be made in it or removed again."""
    descriptor = os.open(place.root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            lock_descriptor(descriptor, WAIT_SECONDS)
        except TimeoutError:
            what = "another `remit install` or `remit uninstall` is running"
            raise UsageError(f"{what} in {place.root}; nothing was changed. Try again when it has finished") from None
        except OSError:
            pass  # the file system has no locks; a file that changes in the meantime is still noticed
        yield
    finally:
        os.close(descriptor)


def status_message(plan: InstallPlan, client: str) -> str:
    """What a person goes away with."""
    off = disabled_hooks(effective_settings(plan.place))
    if off:
        names = " and ".join(plan.place.told(path) for path in off)
        return f"{client} is NOT under contract: disableAllHooks in {names} switches every hook off; take it out first"
    if plan.record.http:
        words = f"{client} is not under contract yet: its hooks call {plan.record.http}, where nothing answers"
        return f"{words} ({NO_SERVER})"
    mode = "each project in its own mode" if plan.place.is_user else f"mode {effective_mode(plan.place)}"
    if not plan.changes:
        return f"{client} is already under contract here ({mode}): nothing to change"
    return f"{client} is under contract ({mode}); start a new session, and `remit doctor` proves it"


def effective_settings(place: InstallTarget) -> list[Path]:
    """The settings that a session here reads: the place's own, the project's shared ones, the user's."""
    user = find_target(None, is_user=True)
    return [*dict.fromkeys([place.settings, place.claude / "settings.json", user.settings])]


def disabled_hooks(paths: Iterable[Path]) -> list[Path]:
    """Those of the settings that make the client run no hook at all; what cannot be read is passed over."""
    found = []
    for path in paths:
        try:
            text = read_settings(path)
        except UsageError:
            continue
        if text is not None and json.loads(text.removeprefix("\ufeff")).get("disableAllHooks") is True:
            found.append(path)
    return found


class Rollback:
    """How a place was before an install, and what has been done to it since."""

    def __init__(self, plan: InstallPlan) -> None:
        self._place = plan.place
        self._record = read_bytes(record_file(plan.place), MOST_BYTES)
        self._had_gate = plan.place.gate.is_dir()
        paths = (record_file(plan.place), *(change.path for change in plan.changes))
        folders = {folder for path in paths for folder in path.parents if not folder.exists()}
        self._folders = sorted(folders, key=lambda folder: len(folder.parts), reverse=True)
        #: What was written, in this order.
        self.done: list[FileChange] = []

    def take_back(self) -> str:
        """Bring back what was there before; words on how far that went."""
        for change in reversed(self.done):
            with suppress(RemitError):
                FileChange(change.path, change.after, change.before).apply()
        with suppress(RemitError, OSError):
            if self._record is not None:
                write_bytes(record_file(self._place), self._record)
            elif self._had_gate:
                record_file(self._place).unlink(missing_ok=True)
            else:
                shutil.rmtree(self._place.gate)
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
        stay = [change.path for change in self.done if read_bytes(change.path, MOST_BYTES) == change.after]
        if not self._had_gate and self._place.gate.exists():
            stay.append(self._place.gate)
        if not stay:
            return "nothing was changed"
        if len(stay) == 1:
            return f"{self._place.told(stay[0])} could not be taken back and stays; `remit uninstall` removes it"
        first = f"{self._place.told(stay[0])} and {len(stay) - 1} more"
        return f"{first} could not be taken back and stay; `remit uninstall` removes them"
