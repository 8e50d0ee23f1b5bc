"""The file of dismissals of a checkout: read it, add an entry, remove one. Concurrent changes are not lost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.merging.dismissals import (
    FILE,
    Dismissal,
    find_dismissal,
    new_dismissal,
    read_dismissals,
    render_dismissals,
)
from remit.merging.merge_data import MergedFinding
from remit.workspace import git
from remit.workspace.atomic_write import lock_descriptor, replace_file
from remit.workspace.safe_git import run_git

_WAIT_SECONDS = 3.0


def stored_dismissals(root: Path, base: str = "") -> list[Dismissal]:
    """Return the dismissals of a checkout, or of the commit at which it left `base`; empty if there is no file."""
    if base:
        commit = git.merge_base(root, base)
        data = run_git(root, "show", f"{commit}:./{FILE}") if commit else None
        return read_dismissals(data, f"{base}:{FILE}") if data is not None else []
    try:
        return read_dismissals((root / FILE).read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{root / FILE}: {error.strerror or error}") from error


def add_dismissal(root: Path, finding: MergedFinding, why: str, on: date) -> Dismissal:
    """Dismiss a finding in the file of a checkout. An entry with the same id is replaced."""
    workspace = open_sources(root).workspace
    entry = new_dismissal(finding, workspace, why, git.user_name(root) or "", on.isoformat())
    with _locked(root):
        _store(root, [*(dismissal for dismissal in stored_dismissals(root) if dismissal.id != entry.id), entry])
    return entry


def remove_dismissal(root: Path, name: str) -> Dismissal:
    """Remove the entry with an id, or with the id of its finding, from the file of a checkout, and return it."""
    with _locked(root):
        entries = stored_dismissals(root)
        removed = find_dismissal(entries, name)
        _store(root, [entry for entry in entries if entry is not removed])
    return removed


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Lock the folder of the file, so that no other process replaces it meanwhile."""
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{root}: {error.strerror or error}") from error
    try:
        lock_descriptor(folder, _WAIT_SECONDS)
        yield
    except TimeoutError:
        raise UsageError(f"{root / FILE} is locked by another process") from None
    finally:
        os.close(folder)


def _store(root: Path, entries: Iterable[Dismissal]) -> None:
    try:
        replace_file(str(root / FILE), render_dismissals(entries).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{root / FILE}: {error.strerror or error}") from error
