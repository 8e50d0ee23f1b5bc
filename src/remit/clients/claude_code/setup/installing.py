"""Putting a project's subagents and orchestrator under contract: what would be written, and writing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from remit import __version__
from remit.clients.claude_code.setup.changes import MOST_BYTES, Change, Plan
from remit.clients.claude_code.setup.gate_mode import mode_change
from remit.clients.claude_code.setup.hook_entries import NO_SERVER, called, hook_entries, is_ours
from remit.clients.claude_code.setup.material import agent_names
from remit.clients.claude_code.setup.own_files import agents_as_written, folders_of, wanted_files
from remit.clients.claude_code.setup.place import Place, find_place
from remit.clients.claude_code.setup.record import Record, read_record, record_file, write_record
from remit.clients.claude_code.setup.settings_file import made_by, read_settings, with_hooks, without_hooks
from remit.clients.claude_code.setup.undoing import Undo
from remit.clients.claude_code.setup.writing import read_bytes
from remit.configuration import load
from remit.contract.kinds import slug
from remit.errors import RemitError
from remit.gate.state import make_private
from remit.registry.model import digest_of
from remit.workspace.safe_git import run


def plan_install(place: Place, *, mode: str | None = None, http: str | None = None) -> Plan:
    """What an install would do. Nothing is written; what stands in its way is refused here."""
    recorded = read_record(place)
    earlier = recorded or Record()
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
    record = Record(
        version=__version__,
        files={**earlier.files, **{place.shown(change.path): digest_of(change.after or b"") for change in files}},
        folders=[*dict.fromkeys([*earlier.folders, *_own_folders(place, earlier, files, changes)])],
        settings=place.shown(place.settings),
        made=[*dict.fromkeys([*earlier.made, *made_by(before or "{}", after or "{}")])],
        made_settings=earlier.made_settings or before is None,
        configuration=configured[1] if configured is not None else earlier.configuration,
        http=http,
    )
    notes = _notes(place, http, is_first=recorded is None)
    return Plan(place, changes, kept, notes, record, called(next(iter(entries.values()))))


def _is_closed(place: Place) -> bool:
    return not place.is_user and bool(load(place.root)["gate.on_fault"] == "closed")


def _settings_change(place: Place, entries: dict[str, dict[str, Any]]) -> Change | None:
    place.refuse_links(place.settings)
    text = read_settings(place.settings)
    after = with_hooks("{}\n" if text is None else text, entries, is_ours)
    if after == text:
        return None
    return Change(place.settings, None if text is None else text.encode(), after.encode(), is_shared=True)


def _own_files(place: Place, entries: dict[str, dict[str, Any]], earlier: Record) -> tuple[list[Change], list[str]]:
    """The files that are ours alone; those in whose place a person has another stay as they are."""
    files: list[Change] = []
    kept: list[str] = []
    taken = _foreign_agents(place, earlier)
    for path, text in wanted_files(place, entries).items():
        before = read_bytes(path, MOST_BYTES)
        after = text.encode()
        is_agent = path.parent == place.claude / "agents"
        if is_agent and slug(path.stem) in taken:
            kept.append(f"{place.told(path)}: you already have an agent of that name, so it is used as it is")
        elif before is None or before == after or earlier.is_own(place.shown(path), before):
            files.append(Change(path, before, after))
        else:
            is_known = place.shown(path) in earlier.files
            whose = "it was changed since it was installed" if is_known else "it is a file of yours"
            kept.append(f"{place.told(path)}: {whose}, so it stays as it is")
    return files, kept


def _settings_before(place: Place, *, is_known: bool) -> str | None:
    """The settings without our hooks, where no record says what they were before them; None: there were none."""
    text = read_settings(place.settings)
    if text is None or is_known:
        return text
    rest = without_hooks(text, is_ours)
    return None if rest != text and rest.strip() == "{}" else rest


def _foreign_agents(place: Place, earlier: Record) -> frozenset[str]:
    """Agents that a person has under names of the team, here or for every project."""
    folder = place.claude / "agents"
    own = {slug(Path(path).stem) for path in earlier.files if place.path(path).parent == folder}
    here = agent_names(folder) - own - agents_as_written(folder)
    if place.is_user:
        return here
    user = find_place(None, is_user=True)
    folder = user.claude / "agents"
    installed = {slug(Path(path).stem) for path in (read_record(user) or Record()).files}
    return here | (agent_names(folder) - installed - agents_as_written(folder))


def _own_folders(place: Place, earlier: Record, files: list[Change], changes: list[Change]) -> list[str]:
    """The folders that have to be made, and those of files that an install whose record is lost has made."""
    adopted = [
        change.path
        for change in files
        if change.before == change.after and place.shown(change.path) not in earlier.files
    ]
    known = {folder for folder in folders_of(place, adopted) if place.path(folder).exists()}
    paths = (*(change.path for change in (*changes, *files)), record_file(place))
    return [folder for folder in folders_of(place, paths) if folder in known or not place.path(folder).exists()]


def _notes(place: Place, http: str | None, *, is_first: bool) -> list[str]:
    notes = []
    tracked = _tracked(place) if is_first and not place.is_user else []
    if tracked:
        holds = "holds" if len(tracked) == 1 else "hold"
        notes.append(f"{' and '.join(tracked)} {holds} paths of this machine: keep them out of the project's history")
    if http:
        notes.append(f"the hooks call {http} and do nothing as long as nobody answers there: {NO_SERVER}")
    return notes


def _tracked(place: Place) -> list[str]:
    """Of what holds paths of this machine, that which git would take into the project's history."""
    if (run(place.root, "rev-parse", "--is-inside-work-tree") or b"").strip() != b"true":
        return []
    commands = place.claude / "commands" / "remit"
    asked = {place.settings: place.settings, commands: commands / "status.md"}
    return [
        place.told(name)
        for name, path in asked.items()
        if run(place.root, "check-ignore", "--quiet", str(path)) is None
    ]


def apply_install(plan: Plan) -> None:
    """Write it, or where that fails take it back. The record comes first and the hooks last: also an install that is
    killed can be taken back or done again."""
    undo = Undo(plan)
    try:
        _write(plan, undo.done)
    except RemitError as error:
        raise type(error)(f"{error}; {undo.take_back()}") from error
    except Exception:
        undo.take_back()
        raise


def _write(plan: Plan, done: list[Change]) -> None:
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
