"""The review queue for programs: pages of items, and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from remit.errors import UsageError
from remit.store import review_queue
from remit.store.database import Database
from remit.store.review_dismissals import apply_dismissals, local_root
from remit.store.review_queue import VERBS, ItemFilter, ReviewDecision, ReviewItem, Verb


class ItemList(msgspec.Struct, kw_only=True):
    """Items of the review queue, the worst first. `after` continues the list; null on the last page."""

    schema: Literal["remit.review-items/1"] = "remit.review-items/1"
    items: list[ReviewItem]
    after: str | None


async def page_of_items(database: Database, wanted: ItemFilter, after: str, limit: int) -> ItemList:
    """Return a page of the review queue."""
    found = await review_queue.list_items(database, wanted, after=place_of(after), limit=limit + 1)
    items = found[:limit]
    return ItemList(items=items, after=f"{items[-1].rank}.{items[-1].id}" if len(found) > limit else None)


def place_of(after: str) -> tuple[int, int] | None:
    """Return the rank and the number of the item that a page continues after, such as `3.17`; None for the first."""
    rank, _, last = after.partition(".")
    is_number = after.isascii() and rank.isdecimal() and last.isdecimal()
    return (int(rank), int(last)) if is_number and len(rank) < 9 and len(last) < 19 else None


async def decide_posted(
    database: Database, item: int, decision: str, verb: str, reviewer: str, note: str
) -> ReviewDecision:
    """Store a decision of a reviewer, and write the dismissal that follows from it."""
    if verb not in VERBS:
        raise UsageError(f"the decision must be one of {', '.join(VERBS)}, not {verb[:40]!r}")
    chosen: Verb = verb
    stored = await review_queue.decide(database, decision, item, chosen, reviewer, note.strip())
    if stored.dismissal == "pending":
        await apply_dismissals(database, checkout_of)
    return stored


def checkout_of(project: str) -> Path | None:
    """Return the checkout of a project on this host. Rows of the database must not name other folders."""
    root = local_root(project)
    return root if root is not None and (root / ".git").exists() else None
