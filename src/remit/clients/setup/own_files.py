"""The files that an install writes, and how to find them when the install record is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remit.clients.setup.plan import MAX_BYTES, InstallRecord, read_bytes
from remit.clients.setup.settings_file import own_hooks, read_settings
from remit.clients.setup.target import ClientSetup, InstallTarget
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.registry.model import digest_of

#: The content of `.remit/.gitignore`.
IGNORE = "*\n"


def wanted_files(target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
    """Return the files of an install, with their content."""
    ignore = ignore_file(target)
    is_leftover = (target.gate.is_dir() or target.plugin.is_dir()) and read_bytes(ignore, MAX_BYTES) == IGNORE.encode()
    return {
        **({ignore: IGNORE} if is_leftover or not ignore.exists() else {}),
        **target.client.wanted_files(target, entries),
    }


def ignore_file(target: InstallTarget) -> Path:
    """Return the path of the file that keeps `.remit` out of version control."""
    return target.root / ".remit" / ".gitignore"


def find_own_files(target: InstallTarget) -> InstallRecord:
    """Return a record of the files of an install whose record is lost: those with exactly the installed content."""
    settings = read_settings(target.settings) if target.client.hook_entries() else None
    own = own_hooks(settings, target.client.is_ours) if settings is not None else {}
    entries = target.client.hook_entries()
    wanted = wanted_files(target, {event: own[event] for event in entries if event in own} or entries)
    files = {
        path: digest_of(text.encode())
        for path, text in wanted.items()
        if not _is_redirected(target, path) and read_bytes(path, MAX_BYTES) == text.encode()
    }
    return InstallRecord(
        files={target.record_path(path): digest for path, digest in files.items()}, folders=folders_of(target, files)
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
