"""Putting a project's subagents and orchestrator under contract: what would be written, and writing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from remit import __version__
from remit.clients.claude_code.setup.changes import MOST_BYTES, Change, Plan
from remit.clients.claude_code.setup.gate_mode import mode_change
from remit.clients.claude_code.setup.hook_entries import hook_entries, is_ours
from remit.clients.claude_code.setup.material import agent_files, agent_names, command_files, skill_text
from remit.clients.claude_code.setup.place import Place, find_place
from remit.clients.claude_code.setup.plugin import plugin_files
from remit.clients.claude_code.setup.record import Added, Record, read_record, record_file, write_record
from remit.clients.claude_code.setup.settings_file import made_by, read_settings, with_hooks
from remit.clients.claude_code.setup.writing import read_bytes
from remit.configuration import load
from remit.contract.kinds import slug
from remit.gate.state import make_private
from remit.registry.model import digest_of
from remit.workspace.safe_git import run


def plan_install(place: Place, *, mode: str | None = None, http: str | None = None) -> Plan:
    """What an install would do. Nothing is written; what stands in its way is refused here."""
    earlier = read_record(place) or Record()
    entries = hook_entries(http, is_closed=_is_closed(place))
    settings = _settings_change(place, entries)
    configured = mode_change(place, mode)
    files, kept = _own_files(place, entries, earlier)
    written = [change for change in files if change.before != change.after]
    changes = [change for change in (configured, *written, settings) if change is not None]
    for path in (*(change.path for change in changes), record_file(place)):
        place.refuse_links(path)
    record = _recorded(place, earlier, files, changes, settings, configured)
    return Plan(place, changes, kept, _notes(place, http), msgspec.structs.replace(record, http=http))


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
    for path, text in _wanted(place, entries).items():
        before = read_bytes(path, MOST_BYTES)
        after = text.encode()
        is_agent = path.parent == place.claude / "agents"
        if is_agent and slug(path.stem) in taken:
            kept.append(f"{place.shown(path)}: you already have an agent of that name, so it is used as it is")
        elif before is not None and before != after and not earlier.is_own(place.shown(path), before):
            whose = (
                "it was changed since it was installed"
                if place.shown(path) in earlier.files
                else "it is a file of yours"
            )
            kept.append(f"{place.shown(path)}: {whose}, so it stays as it is")
        elif (
            before != after or place.shown(path) in earlier.files
        ):  # the same file of somebody else's is not ours to remove
            files.append(Change(path, before, after))
    return files, kept


def _wanted(place: Place, entries: dict[str, dict[str, Any]]) -> dict[Path, str]:
    inside = {
        **{f"agents/{name}": text for name, text in agent_files().items()},
        "skills/remit/SKILL.md": skill_text(),
        **{f"commands/remit/{name}": text for name, text in command_files().items()},
    }
    ignore = place.root / ".remit" / ".gitignore"
    return {
        **({} if ignore.exists() else {ignore: "*\n"}),
        **{place.plugin / name: text for name, text in plugin_files(entries, __version__).items()},
        **{place.claude / name: text for name, text in inside.items()},
    }


def _foreign_agents(place: Place, earlier: Record) -> frozenset[str]:
    """Agents that a person has under names of the team, here or for every project."""
    own = {slug(Path(path).stem) for path in earlier.files if place.path(path).parent == place.claude / "agents"}
    here = agent_names(place.claude / "agents") - own
    user = find_place(None, is_user=True)
    ours = read_record(user) if not place.is_user else None
    installed = {slug(Path(path).stem) for path in ours.files} if ours is not None else set()
    return here | (agent_names(user.claude / "agents") - installed if not place.is_user else frozenset())


def _recorded(
    place: Place,
    earlier: Record,
    files: list[Change],
    changes: list[Change],
    settings: Change | None,
    configured: Change | None,
) -> Record:
    """The record of this install and of the earlier ones that it goes on from."""
    digests = {place.shown(change.path): digest_of(change.after or b"") for change in files}
    before = (settings.before or b"{}").decode() if settings is not None else "{}"
    after = (settings.after or b"{}").decode() if settings is not None else "{}"
    added = earlier.configuration
    if configured is not None:
        text = (configured.after or b"")[len(configured.before or b"") :].decode()
        added = Added(place.shown(configured.path), text, configured.before is None)
    return Record(
        version=__version__,
        files={**earlier.files, **digests},
        folders=[*dict.fromkeys([*earlier.folders, *_new_folders(place, [change.path for change in changes])])],
        settings=place.shown(place.settings),
        made=[*dict.fromkeys([*earlier.made, *made_by(before, after)])],
        made_settings=earlier.made_settings or (settings is not None and settings.before is None),
        configuration=added,
    )


def _new_folders(place: Place, paths: list[Path]) -> list[str]:
    """The folders that have to be made, the outer ones first."""
    folders = {folder for path in (*paths, record_file(place)) for folder in path.parents if not folder.exists()}
    folders = {folder for folder in folders if place.holds(folder)}
    return [place.shown(folder) for folder in sorted(folders, key=lambda folder: len(folder.parts))]


def _notes(place: Place, http: str | None) -> list[str]:
    notes = []
    inside = not place.is_user and (place.root / ".git").exists()
    if inside and run(place.root, "check-ignore", "--quiet", str(place.settings)) is None:
        notes.append(
            f"{place.shown(place.settings)} and {place.shown(place.claude / 'commands' / 'remit')} hold paths of this "
            "machine: keep them out of the project's history"
        )
    if http:
        notes.append(f"the hooks call {http}: they do nothing unless `remit serve` runs there")
    return notes


def apply_install(plan: Plan) -> None:
    """Write it. The record comes first and the hooks last: whenever it stops, it can be taken back or done again."""
    place = plan.place
    make_private(str(place.gate))
    write_record(place, plan.record)
    for change in plan.changes:
        if change.path != place.settings:
            change.apply()
    if not place.is_user:
        from remit.clients.claude_code.compiling import compile_project

        compile_project(place.root)
    for change in plan.changes:
        if change.path == place.settings:
            change.apply()
