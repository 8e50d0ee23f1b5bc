"""Write rejected findings into the files of dismissals of their checkouts, and remove those of undone decisions.

The decision states what is to be done; the file is written afterwards. If the process dies in between, the next call
does it: writing an entry twice changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec
from psycopg.rows import DictRow

from remit.errors import RemitError
from remit.ledger.dismissing import add_dismissal, remove_dismissal
from remit.merging.model import MergedFinding
from remit.store.database import Database

log = logging.getLogger("remit.review")
_LIMIT = 1000
#: The reason of a dismissal whose reviewer wrote none.
_NO_NOTE = "rejected in a review"
#: Returns the checkout of a project on this host, or None.
FindRoot = Callable[[str], Path | None]


def local_root(project: str) -> Path | None:
    """Return the folder of a project if it exists on this host."""
    path = Path(project)
    return path if project and path.is_absolute() and path.is_dir() else None


async def apply_dismissals(database: Database, find_root: FindRoot = local_root, project: str | None = None) -> int:
    """Write and remove the dismissals that decisions have asked for, and return how many.

    What belongs to a checkout that is not on this host waits for a process there.
    """
    done = 0
    for row in await database.filtered("review_queue.pending_dismissals", project=project, limit=_LIMIT):
        root = await asyncio.to_thread(find_root, row["project"])
        if root is None:
            continue
        try:
            await asyncio.to_thread(_apply, root, row)
        except (RemitError, msgspec.ValidationError) as error:
            log.warning("the dismissal of item %s was not stored: %s", row["item"], error)
            continue
        after = "written" if row["dismissal"] == "pending" else "removed"
        await database.rows(
            "review_queue.set_dismissal", decision=row["id"], expected=row["dismissal"], dismissal=after
        )
        done += 1
    return done


def _apply(root: Path, row: DictRow) -> None:
    finding = msgspec.convert(row["body"].get("finding"), MergedFinding)
    if row["dismissal"] == "pending":
        add_dismissal(root, finding, row["note"].strip() or _NO_NOTE, row["reviewer"], row["at"].date())
    else:
        remove_dismissal(root, finding.fingerprint)
