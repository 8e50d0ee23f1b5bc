"""The folder for what remit keeps stays out of a project's history, without a change to the project's own files."""

from __future__ import annotations

from pathlib import Path


def keep_out_of_git(folder: Path) -> None:
    """Make the folder, and tell git to leave all of it alone. Raises OSError where that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
