"""The API for the review queue and the ledger: items, decisions, and what was recorded."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from starlette.requests import Request

from remit.errors import UsageError
from remit.ledger.ledger_entries import LedgerEntry
from remit.operations.review_items import ItemList, page_of_items
from remit.store import ledger, review_queue
from remit.store.ledger import EntryFilter
from remit.store.review_queue import ReviewDecision, ReviewItem
from remit.surfaces.server.api_jobs import limit_of
from remit.surfaces.server.operations import ApiOperation, QueryParameter
from remit.surfaces.server.review_pages import filter_of, lock_next
from remit.surfaces.server.site import before_of, number_of, person_of, site_of, write


class NextItem(msgspec.Struct, kw_only=True):
    """The item that the caller has locked, or null if none waits."""

    schema: Literal["remit.review-item/1"] = "remit.review-item/1"
    item: ReviewItem | None


class FilterBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which items are meant."""

    kind: str = ""
    severity: str = ""
    agent: str = ""
    category: str = ""
    path: str = ""
    plan: str = ""


class LedgerList(msgspec.Struct, kw_only=True):
    """Entries of the ledger, the newest first."""

    schema: Literal["remit.ledger/1"] = "remit.ledger/1"
    entries: list[LedgerEntry]


async def list_items(request: Request) -> ItemList:
    """List items of the review queue."""
    wanted, after = filter_of(request.query_params), request.query_params.get("after", "")
    return await page_of_items(site_of(request).database, wanted, after, limit_of(request))


async def show_item(request: Request) -> NextItem:
    """Return one item."""
    return NextItem(item=await review_queue.get_item(site_of(request).database, number_of(request)))


async def next_item(request: Request, body: FilterBody) -> NextItem:
    """Lock the next item for the caller and return it."""
    return NextItem(item=await lock_next(request, filter_of(msgspec.structs.asdict(body))))


async def undo(request: Request) -> ReviewDecision:
    """Undo a decision."""
    decision = str(request.path_params["decision"])
    async with write(request, "reviewer", "undo", f"decision:{decision[:40]}"):
        return await review_queue.undo(site_of(request).database, decision, person_of(request).name)


async def list_ledger(request: Request) -> LedgerList:
    """List entries of the ledger."""
    wanted: dict[str, Any] = {
        name: value
        for name in ("agent", "source", "verdict")
        if (value := request.query_params.get(name)) and value.isprintable()
    }
    for name in ("job", "plan"):
        text = request.query_params.get(name, "")
        if text and not (text.isascii() and text.isdecimal() and len(text) < 19):
            raise UsageError(f"{name} must be a number, not {text[:40]!r}")
        wanted |= {name: int(text)} if text else {}
    entries = await ledger.list_entries(
        site_of(request).database, EntryFilter(**wanted), before=before_of(request), limit=limit_of(request)
    )
    return LedgerList(entries=entries)


_FILTERS = tuple(
    QueryParameter(name, text)
    for name, text in (
        ("state", "open (default), confirmed, rejected, unsure or any"),
        ("kind", "finding, conflict or result"),
        ("severity", "critical, important or minor"),
        ("agent", "one of the agents that report it"),
        ("category", "the category of the finding"),
        ("path", "the start of the path"),
        ("after", "continue after this item"),
    )
)
_LIMIT = QueryParameter("limit", "at most this many; default: 50", "integer")
_ITEM = "/review/{number:number}"
OPERATIONS = (
    ApiOperation(
        *("GET", "/review", "listItems", "List items of the review queue", "viewer", list_items, ItemList),
        query=(*_FILTERS, _LIMIT),
    ),
    ApiOperation("POST", "/review/next", "nextItem", "Lock the next item", "reviewer", next_item, NextItem, FilterBody),
    ApiOperation("GET", _ITEM, "showItem", "Show an item", "viewer", show_item, NextItem),
    ApiOperation(
        "POST", "/review/decisions/{decision}/undo", "undoDecision", "Undo a decision", "reviewer", undo, ReviewDecision
    ),
    ApiOperation(
        *("GET", "/ledger", "listLedger", "List entries of the ledger", "viewer", list_ledger, LedgerList),
        query=(
            QueryParameter("agent", "the name of an agent"),
            QueryParameter("source", "job, plan, hook, check, verify, merge or review"),
            QueryParameter("verdict", "accept, revise or reject"),
            QueryParameter("job", "the number of a job", "integer"),
            QueryParameter("plan", "the number of a plan", "integer"),
            QueryParameter("before", "continue before this number", "integer"),
            _LIMIT,
        ),
    ),
)
