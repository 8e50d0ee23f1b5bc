"""Files of jobs that are gone: long outputs that were kept, and worktrees."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

from remit.store.database import Database

_FOLDERS = ("spill", "worktrees")


async def remove_leftovers(database: Database, data: Path) -> None:
    """Remove what belongs to no job of the store, or to a worktree whose job is finished."""
    for folder in _FOLDERS:
        for place in await asyncio.to_thread(_places, data / folder):
            number = re.fullmatch(r"job-(\d{1,18})", place.name)
            row = await database.row("jobs.get", job=int(number[1])) if number else None
            is_over = row is None or (folder == "worktrees" and row["state"] == "finished")
            if number and is_over:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


def _places(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
