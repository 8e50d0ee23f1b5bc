"""The operations on the review queue and the ledger: pages, and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from remit.errors import UsageError
from remit.ledger.items import ItemKind
from remit.ledger.ledger_entries import EntrySource, LedgerEntry
from remit.operations.declaration import described
from remit.operations.jobs import Number, PageLimit, Verdict, printable
from remit.store import ledger, review_queue
from remit.store.database import Database
from remit.store.ledger import EntryFilter
from remit.store.review_queue import (
    VERBS,
    ItemFilter,
    ItemState,
    ReviewDecision,
    ReviewItem,
    Verb,
    apply_dismissals,
    local_root,
)

_MAX_LISTED = 100


class ItemChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which items of the review queue: those that wait for a decision."""

    kind: ItemKind | None = None
    severity: Literal["critical", "important", "minor"] | None = None
    agent: str | None = None
    category: str | None = None
    path: Annotated[str | None, described("The start of the path.")] = None
    plan: Number | None = None

    def item_filter(self, state: ItemState | None = "open") -> ItemFilter:
        """Return the filter of the store."""
        names = ("agent", "category", "path")
        chosen = {name: printable(getattr(self, name)) for name in names}
        return ItemFilter(state=state, kind=self.kind, severity=self.severity, plan=self.plan, **chosen)


class FindingFilter(ItemChoice, frozen=True, kw_only=True):
    """Which items of the review queue, and which page of them."""

    state: ItemState | Literal["any"] = "open"
    limit: Annotated[int, described("The length of the page.", ge=1, le=_MAX_LISTED)] = 20
    after: Annotated[str, described("The `after` of the page before.", max_length=40)] = ""


class ItemPage(FindingFilter, frozen=True, kw_only=True):
    """A page of items over HTTP."""

    limit: PageLimit = 50


class ItemNumber(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the review queue."""

    item: Annotated[Number, described("The number of the item.")]


class ItemShape(msgspec.Struct, kw_only=True):
    """An item of the review queue; null if none waits."""

    schema: Literal["remit.review-item/1"] = "remit.review-item/1"
    item: ReviewItem | None


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to undo."""

    decision: Annotated[str, described("The id of the decision.")]
    note: Annotated[str, described("Why a decision of another reviewer is undone.", max_length=4_000)] = ""


class LedgerPage(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries of the ledger, and which page of them."""

    agent: str | None = None
    source: EntrySource | None = None
    verdict: Verdict | None = None
    job: Number | None = None
    plan: Number | None = None
    before: Annotated[Number | None, described("Only entries before this one.")] = None
    limit: PageLimit = 50


class LedgerList(msgspec.Struct, kw_only=True):
    """Entries of the ledger, the newest first."""

    schema: Literal["remit.ledger/1"] = "remit.ledger/1"
    entries: list[LedgerEntry]


class Decide(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on an item of the review queue."""

    item: Annotated[Number, described("The number of the item.")]
    verb: Verb
    note: Annotated[str, described("The reason, for people.", max_length=4_000)] = ""
    id: Annotated[str | None, described("A UUID: a call that is repeated with it decides once.", required=["http"])] = (
        None
    )


class ItemList(msgspec.Struct, kw_only=True):
    """Items of the review queue, the worst first. `after` continues the list; null on the last page."""

    schema: Literal["remit.review-items/1"] = "remit.review-items/1"
    items: list[ReviewItem]
    after: str | None


async def list_findings(database: Database, wanted: FindingFilter) -> ItemList:
    """Return a page of the items that a filter selects."""
    chosen = wanted.item_filter(wanted.state if wanted.state != "any" else None)
    return await page_of_items(database, chosen, wanted.after, wanted.limit)


async def page_of_items(database: Database, wanted: ItemFilter, after: str, limit: int) -> ItemList:
    """Return a page of the review queue."""
    stored = await review_queue.list_items(database, wanted, after=place_of(after), limit=limit + 1)
    items = stored[:limit]
    return ItemList(items=items, after=f"{items[-1].rank}.{items[-1].id}" if len(stored) > limit else None)


async def ledger_page(database: Database, wanted: LedgerPage) -> LedgerList:
    """Return a page of the ledger."""
    names = ("source", "verdict", "job", "plan")
    chosen = EntryFilter(agent=printable(wanted.agent), **{name: getattr(wanted, name) for name in names})
    return LedgerList(entries=await ledger.list_entries(database, chosen, before=wanted.before, limit=wanted.limit))


def whole_number(text: str) -> int | None:
    """Return the number of a text of a program or a page, if it is one that a row can have."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def place_of(after: str) -> tuple[int, int] | None:
    """Return the rank and the number of the item that a page continues after, such as `3.17`; None for the first."""
    rank, _, last = after.partition(".")
    is_number = after.isascii() and rank.isdecimal() and last.isdecimal()
    return (int(rank), int(last)) if is_number and len(rank) < 9 and len(last) < 19 else None


async def decide_item(
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
