"""Files of jobs and plans that are gone: long outputs and results that were kept, and worktrees."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

from remit.store import plans
from remit.store.database import Database

_FOLDERS = ("spill", "worktrees", "results")
_NAME = re.compile(r"(job|plan)-(\d{1,18})")


async def remove_orphans(database: Database, data: Path, *, is_shared: bool) -> None:
    """Remove what belongs to no job or plan of the store, and worktrees that nobody needs any more.

    Where the store is shared, a folder without a job here may be another store's, and stays.
    """
    await plans.delete_orphans(database)
    for folder in _FOLDERS:
        for place in await asyncio.to_thread(_places, data / folder):
            if await _is_over(database, folder, place.name, is_shared=is_shared):
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


async def _is_over(database: Database, folder: str, name: str, *, is_shared: bool) -> bool:
    named = _NAME.fullmatch(name)
    if named is None:
        return False
    if named[1] == "plan":
        return not is_shared and await database.row("plans.get", plan=int(named[2])) is None
    row = await database.row("jobs.get", job=int(named[2]))
    if row is None:
        return not is_shared
    # One of its own that is still there holds what its diff does not: it goes with its job.
    return folder == "worktrees" and row["state"] == "finished" and row["isolation"] != "worktree"


def _places(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
