"""The folder for what remit keeps stays out of a project's history, without a change to the project's own files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def keep_out_of_git(folder: Path) -> None:
    """Make the folder, and tell git to leave all of it alone. Raises OSError where that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        suppress(FileExistsError),
        (folder / ".gitignore").open("x", encoding="utf-8") as file,
    ):  # a link is not followed
        file.write("*\n")
