"""Files of jobs that are gone: long outputs that were kept, and worktrees."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

from remit.store.database import Database

_FOLDERS = ("spill", "worktrees")


async def remove_leftovers(database: Database, data: Path, *, is_shared: bool) -> None:
    """Remove what belongs to no job of the store, and worktrees whose job is finished.

    Where the store is shared, a folder without a job here may be another store's, and stays.
    """
    for folder in _FOLDERS:
        for place in await asyncio.to_thread(_places, data / folder):
            number = re.fullmatch(r"job-(\d{1,18})", place.name)
            row = await database.row("jobs.get", job=int(number[1])) if number else None
            is_over = not is_shared if row is None else folder == "worktrees" and row["state"] == "finished"
            if number and is_over:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


def _places(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
