"""Open the database for commands that need it, and report what is missing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from remit.surfaces.cli.printing import SlowNotice

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

T = TypeVar("T")


def with_database(work: Callable[[Database, Settings], Awaitable[T]]) -> T:
    """Run `work` with the configured database."""
    from remit.dispatch.worker_settings import load_settings  # late, as below: few commands need the extra
    from remit.store.database import open_database

    for name in ("psycopg.pool", "procrastinate"):  # Remit reports an unavailable database itself, in one line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings = load_settings()

    async def opened() -> T:
        with contextlib.ExitStack() as shown:
            shown.enter_context(SlowNotice()).update(opening_text(settings))
            async with open_database(settings.database, settings.state) as database:
                shown.close()
                return await work(database, settings)

    return asyncio.run(opened())


def opening_text(settings: Settings) -> str:
    """Return what a person waits for while the database is opened."""
    if settings.database:
        return "connecting to the database"
    folder = settings.state / "postgres"
    return f"starting the database in {folder}" if (folder / "made").exists() else f"creating the database in {folder}"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder for a database that is removed at the end.

    Other users can enter it, but not list it: the database of root may run as another user.
    """
    with tempfile.TemporaryDirectory(prefix="remit-demo-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name).resolve()
