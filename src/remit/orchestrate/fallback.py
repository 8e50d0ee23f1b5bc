"""The fallback read: a little of what a failed subagent should have loaded, at most 3 files of 200 lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from remit.workspace.files import SourceFile, WorkTree

MAX_FILES = 3
MAX_LINES = 200


def fallback_read(root: Path, scope: Iterable[str]) -> dict[str, Any]:
    """The first lines of the first files of a scope, with what was read written down."""
    tree = WorkTree(root)
    files: list[dict[str, Any]] = []
    for path in _paths(tree, scope):
        found = tree.read(path)
        if isinstance(found, SourceFile):
            shown = found.lines[:MAX_LINES]
            files.append({"path": found.path, "lines": len(shown), "of": len(found.lines), "text": "\n".join(shown)})
        if len(files) == MAX_FILES:
            break
    return {"files": files}


def _paths(tree: WorkTree, scope: Iterable[str]) -> Iterator[str]:
    """The files that a scope names, and those in the folders it names."""
    listed: list[str] | None = None
    for one in scope:
        if tree.exists(one):
            yield one
            continue
        folder = tree.normal(one)
        if folder is None:
            continue
        listed = tree.paths if listed is None else listed
        yield from (path for path in listed if not folder or path.startswith(f"{folder}/"))
