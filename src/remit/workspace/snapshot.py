"""Record a digest of each file before a run, to find the changes afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from remit.digests import sha256_of
from remit.workspace.files import SourceFile, Workspace, WorkTree

Difference = Literal["created", "modified", "deleted", "unchanged", "absent"]


class Snapshot(msgspec.Struct, frozen=True):
    """Path -> digest of the content. Files that are not readable text are left out."""

    files: dict[str, str]
    schema: Literal["remit.snapshot/1"] = "remit.snapshot/1"


def take_snapshot(root: Path) -> Snapshot:
    """Take a snapshot of every readable text file below a root."""
    tree = WorkTree(root)
    return Snapshot({path: file_digest for path in tree.paths if (file_digest := digest(tree, path)) is not None})


def digest(workspace: Workspace, path: str) -> str | None:
    """Return a file's digest, or None if it cannot be read."""
    file = workspace.read(path)
    if not isinstance(file, SourceFile):
        return None
    return sha256_of(file.text.encode("utf-8", "surrogatepass"))[:32]


def difference(before: Snapshot, now: Workspace, path: str) -> Difference:
    """Return how a file has changed since the snapshot."""
    old, new = before.files.get(path), digest(now, path)
    if old is None:
        return "created" if new is not None else "absent"
    if new is None:
        return "deleted"
    return "unchanged" if old == new else "modified"
