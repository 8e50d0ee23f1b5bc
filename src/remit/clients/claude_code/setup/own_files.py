"""The files that are ours alone: which an install wants, and which are there in the very words that it writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remit import __version__
from remit.clients.claude_code.setup.changes import MOST_BYTES
from remit.clients.claude_code.setup.hook_entries import EVENTS, hook_entries, is_ours
from remit.clients.claude_code.setup.material import agent_files, command_files, skill_text
from remit.clients.claude_code.setup.place import Place
from remit.clients.claude_code.setup.plugin import plugin_files
from remit.clients.claude_code.setup.record import Record
from remit.clients.claude_code.setup.settings_file import own_hooks, read_settings
from remit.clients.claude_code.setup.writing import read_bytes
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.registry.model import digest_of

#: Git's rule for `.remit`.
IGNORE = "*\n"


def wanted_files(place: Place, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
    """File -> what an install writes into it."""
    inside = {
        **{f"agents/{name}": text for name, text in agent_files().items()},
        "skills/remit/SKILL.md": skill_text(),
        **{f"commands/remit/{name}": text for name, text in command_files().items()},
    }
    ignore = ignore_file(place)
    is_left = (place.gate.is_dir() or place.plugin.is_dir()) and read_bytes(ignore, MOST_BYTES) == IGNORE.encode()
    return {
        **({ignore: IGNORE} if is_left or not ignore.exists() else {}),
        **{place.plugin / name: text for name, text in plugin_files(entries, __version__).items()},
        **{place.claude / name: text for name, text in inside.items()},
    }


def ignore_file(place: Place) -> Path:
    """What keeps `.remit` out of a project's history."""
    return place.root / ".remit" / ".gitignore"


def found_as_written(place: Place) -> Record:
    """What an install whose record is lost has left: a file that holds exactly what we write is ours."""
    settings = read_settings(place.settings)
    own = own_hooks(settings, is_ours) if settings is not None else {}
    wanted = wanted_files(place, {event: own[event] for event in EVENTS if event in own} or hook_entries())
    files = {
        path: digest_of(text.encode())
        for path, text in wanted.items()
        if not _leads_elsewhere(place, path) and read_bytes(path, MOST_BYTES) == text.encode()
    }
    return Record(files={place.shown(path): digest for path, digest in files.items()}, folders=folders_of(place, files))


def folders_of(place: Place, paths: Iterable[Path]) -> list[str]:
    """The folders that an install may have made for these files, the outer ones first."""
    folders = {folder for path in paths for folder in path.parents if place.holds(folder)}
    return [place.shown(folder) for folder in sorted(folders, key=lambda folder: len(folder.parts))]


def agents_as_written(folder: Path) -> frozenset[str]:
    """The agents of a folder that are the team's own definitions, as they are compared."""
    return frozenset(
        slug(Path(name).stem)
        for name, text in agent_files().items()
        if read_bytes(folder / name, MOST_BYTES) == text.encode()
    )


def _leads_elsewhere(place: Place, path: Path) -> bool:
    try:
        place.refuse_links(path)
    except UsageError:
        return True
    return False
