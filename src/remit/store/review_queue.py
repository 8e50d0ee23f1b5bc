"""The review queue: items for people, locks with a lease, and decisions that can be repeated and undone.

An item that a reviewer gets is locked until the lease ends or the reviewer decides, so two reviewers never get the
same one. The sender chooses the id of a decision: if the reply is lost and the request repeated, nothing is doubled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import RemitError, UsageError
from remit.ledger.dismissing import add_dismissal, remove_dismissal
from remit.ledger.items import ItemKind, NewItem
from remit.merging.merge_data import MergedFinding
from remit.store.database import Connection, Database, rows
from remit.store.storable import to_storable

ItemState = Literal["open", "confirmed", "rejected", "unsure"]
Verb = Literal["confirm", "reject", "unsure", "skip"]
VERBS: tuple[Verb, ...] = get_args(Verb)
#: How long a reviewer keeps an item without a sign of life.
LEASE_SECONDS = 300.0
#: Characters of a note.
MAX_NOTE = 4_000
#: Items that one statement stores.
_BATCH = 500
_STATES: dict[str, ItemState] = {"confirm": "confirmed", "reject": "rejected", "unsure": "unsure"}


class ItemTaken(UsageError):
    """Another reviewer has locked the item."""

    def __init__(self, item: int, by: str) -> None:
        super().__init__(f"item {item} is locked by {by}")
        self.by = by


class AlreadyDecided(UsageError):
    """The item was decided meanwhile."""

    def __init__(self, item: int, decision: ReviewDecision) -> None:
        super().__init__(f"item {item} was already decided by {decision.reviewer}: {decision.verb}")
        self.decision = decision


class ReviewItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the queue. `body` has the finding and its conflicts as in `remit.merge/1`, or the result."""

    id: int
    key: str
    kind: ItemKind
    state: ItemState
    rank: int
    source: str
    job: int | None
    plan: int | None
    session: str | None
    project: str
    revision: str
    fingerprint: str
    agents: list[str]
    category: str
    severity: str | None
    title: str
    path: str
    line: int | None
    end_line: int | None
    confidence: float | None
    body: dict[str, Any]
    locked_by: str | None
    locked_until: datetime | None
    created: datetime
    updated: datetime
    decision: str | None
    decided: datetime | None
    decided_by: str | None
    note: str | None


class ReviewDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer decided on an item."""

    id: str
    item: int
    verb: Verb
    reviewer: str
    note: str
    at: datetime
    undone: datetime | None
    #: Whether the finding is, or has yet to be, in the file of dismissals: "", pending, written, removing, removed.
    dismissal: str
    #: Whether this decision was stored before, by the same request.
    is_repeated: bool = False


class ItemFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which items are meant. None: any. `path` is the start of a path."""

    state: ItemState | None = "open"
    kind: ItemKind | None = None
    severity: str | None = None
    agent: str | None = None
    category: str | None = None
    project: str | None = None
    plan: int | None = None
    path: str | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How many items are in each state."""

    open: int
    confirmed: int
    rejected: int
    unsure: int
    locked: int
    #: Open items that this reviewer has skipped.
    skipped: int
    decided_today: int

    @property
    def total(self) -> int:
        """All items."""
        return self.open + self.confirmed + self.rejected + self.unsure


OPEN = ItemFilter()


async def add_items(database: Database, items: Sequence[NewItem]) -> list[int]:
    """Store items and return the ids of those that are open. A stored item is updated, unless it was decided."""
    if not items:
        return []
    return await database.in_transaction(lambda connection: add_items_in(connection, items))


async def add_items_in(connection: Connection, items: Sequence[NewItem]) -> list[int]:
    """Store items in an open transaction."""
    # By key, so that two writers never wait for each other, and one item for each key.
    unique = sorted({item.key: item for item in items}.values(), key=lambda item: item.key)
    added: list[int] = []
    for start in range(0, len(unique), _BATCH):
        batch = {item["key"]: item for item in to_storable(msgspec.to_builtins(unique[start : start + _BATCH]))}
        stored = await rows(connection, "review_queue.add", items=Jsonb(list(batch.values())))
        numbers = [row["id"] for row in stored]
        opinions = [{"item": row["id"], **opinion} for row in stored for opinion in batch[row["key"]]["opinions"]]
        await rows(connection, "review_queue.drop_opinions", items=numbers)
        await rows(connection, "review_queue.add_opinions", opinions=Jsonb(opinions))
        added += numbers
    return sorted(added)


async def get_item(database: Database, item: int) -> ReviewItem:
    """Return an item. Raises UsageError if it does not exist."""
    row = await database.row("review_queue.get", item=item)
    if row is None:
        raise UsageError(f"there is no review item {item}")
    return ReviewItem(**row)


async def list_items(
    database: Database, wanted: ItemFilter = OPEN, *, after: tuple[int, int] | None = None, limit: int = 100
) -> list[ReviewItem]:
    """Return items, the worst first. `after` is the rank and id of the last item of the page before."""
    rank, last = after or (None, None)
    items = await database.filtered(
        "review_queue.list", **msgspec.structs.asdict(wanted), rank=rank, after=last, limit=limit
    )
    return [ReviewItem(**row) for row in items]


async def next_item(
    database: Database,
    reviewer: str,
    wanted: ItemFilter = OPEN,
    *,
    seconds: float = LEASE_SECONDS,
    with_skipped: bool = False,
) -> ReviewItem | None:
    """Lock the next item for a reviewer and return it, or None. An item that the reviewer has locked comes first."""
    values = {**msgspec.structs.asdict(wanted), "reviewer": reviewer, "seconds": seconds, "with_skipped": with_skipped}
    items = await database.filtered("review_queue.next", **values)
    return await get_item(database, items[0]["id"]) if items else None


async def lock_item(database: Database, item: int, reviewer: str, *, seconds: float = LEASE_SECONDS) -> ReviewItem:
    """Lock an item that a reviewer opened by its link. Raises ItemTaken if another reviewer has locked it."""
    await get_item(database, item)
    is_locked = await database.rows("review_queue.lock", item=item, reviewer=reviewer, seconds=seconds)
    current = await get_item(database, item)
    if not is_locked and current.locked_by not in (None, reviewer):
        raise ItemTaken(item, current.locked_by or "another reviewer")
    return current


async def renew_lock(database: Database, item: int, reviewer: str, *, seconds: float = LEASE_SECONDS) -> bool:
    """Keep a lock. Return False if it has ended."""
    return bool(await database.rows("review_queue.renew", item=item, reviewer=reviewer, seconds=seconds))


async def release_lock(database: Database, item: int, reviewer: str) -> None:
    """Give an item back without a decision."""
    await database.rows("review_queue.release", item=item, reviewer=reviewer)


async def decide(
    database: Database, decision: str | UUID, item: int, verb: Verb, reviewer: str, note: str = ""
) -> ReviewDecision:
    """Store a decision and return it. `decision` is an id that the sender has chosen for this decision.

    Raises ItemTaken if another reviewer has locked the item, and AlreadyDecided if it was decided meanwhile.
    """
    if verb not in VERBS:
        raise UsageError(f"unknown decision {verb!r}; choose from {', '.join(VERBS)}")
    name, text = _uuid(decision), str(to_storable(note))[:MAX_NOTE]

    async def work(connection: Connection) -> ReviewDecision:
        held = await rows(connection, "review_queue.hold", item=item)
        if not held:
            raise UsageError(f"there is no review item {item}")
        stored = await _decision(connection, name)
        if stored is not None:
            return _repeated(stored, item, verb)
        return await _decide(connection, held[0], name, verb, reviewer, text)

    return await database.in_transaction(work)


async def _decide(
    connection: Connection, held: DictRow, name: str, verb: Verb, reviewer: str, note: str
) -> ReviewDecision:
    item = held["id"]
    if held["locked_by"] not in (None, reviewer):
        raise ItemTaken(item, held["locked_by"])
    if held["state"] in ("confirmed", "rejected"):
        earlier = await _decision(connection, held["decision"])
        if earlier is not None:
            raise AlreadyDecided(item, earlier)
    is_dismissal = verb == "reject" and held["kind"] != "result" and bool(held["fingerprint"] and held["project"])
    values = {"item": item, "verb": verb, "reviewer": reviewer, "note": note}
    dismissal = "pending" if is_dismissal else ""
    added = await rows(connection, "review_queue.add_decision", decision=name, dismissal=dismissal, **values)
    if not added:  # the same id for another item
        raise UsageError(f"the decision {name} belongs to another item")
    if verb == "skip":
        await rows(connection, "review_queue.skip", item=item, reviewer=reviewer)
    else:
        await rows(connection, "review_queue.close", item=item, state=_STATES[verb], decision=name)
    return ReviewDecision(**added[0])


def _repeated(stored: ReviewDecision, item: int, verb: Verb) -> ReviewDecision:
    if (stored.item, stored.verb) != (item, verb):
        raise UsageError(f"the decision {stored.id} was already used for item {stored.item}: {stored.verb}")
    return msgspec.structs.replace(stored, is_repeated=True)


async def undo(
    database: Database, decision: str | UUID, reviewer: str, *, note: str = "", seconds: float = LEASE_SECONDS
) -> ReviewDecision:
    """Undo a decision: its item is open again, and locked for the reviewer. A repeated request changes nothing.

    The decision of another reviewer is undone with a `note` only; the log of writes has it.
    """
    name = _uuid(decision)

    async def work(connection: Connection) -> ReviewDecision:
        stored = await _decision(connection, name)
        if stored is None:
            raise UsageError(f"there is no decision {name}")
        if stored.undone is None and stored.reviewer != reviewer and not note.strip():
            raise UsageError(f"the decision is one of {stored.reviewer}: state in a note why you undo it")
        held = (await rows(connection, "review_queue.hold", item=stored.item))[0]
        if held["locked_by"] not in (None, reviewer):
            raise ItemTaken(stored.item, held["locked_by"])
        undone = await rows(connection, "review_queue.undo", decision=name, reviewer=reviewer)
        if not undone:
            current = await _decision(connection, name)
            return msgspec.structs.replace(current or stored, is_repeated=True)
        values = {"item": stored.item, "decision": name, "reviewer": reviewer, "skipper": stored.reviewer}
        await rows(connection, "review_queue.reopen", seconds=seconds, **values)
        return ReviewDecision(**undone[0])

    return await database.in_transaction(work)


async def history(
    database: Database,
    *,
    item: int | None = None,
    reviewer: str | None = None,
    before: datetime | None = None,
    limit: int = 50,
) -> list[ReviewDecision]:
    """Return decisions, the newest first, also those that were undone."""
    decisions = await database.filtered(
        "review_queue.history", item=item, reviewer=reviewer, before=before, limit=limit
    )
    return [ReviewDecision(**row) for row in decisions]


async def progress(database: Database, wanted: ItemFilter = OPEN, *, reviewer: str | None = None) -> Progress:
    """Return how many items that match are in each state; the state of the filter does not matter."""
    values = {**msgspec.structs.asdict(wanted), "state": None, "reviewer": reviewer}
    return Progress(**(await database.filtered("review_queue.progress", **values))[0])


async def _decision(connection: Connection, name: str) -> ReviewDecision | None:
    decisions = await rows(connection, "review_queue.decision", decision=name)
    return ReviewDecision(**decisions[0]) if decisions else None


def _uuid(decision: str | UUID) -> str:
    try:
        return str(decision if isinstance(decision, UUID) else UUID(decision))
    except ValueError:
        raise UsageError(f"the id of a decision must be a UUID, not {decision!r}") from None


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
            done += await database.in_transaction(partial(_apply_in, root=root, row=row))
        except (RemitError, msgspec.ValidationError) as error:
            log.warning("the dismissal of item %s was not stored: %s", row["item"], error)
    return done


async def _apply_in(connection: Connection, root: Path, row: DictRow) -> bool:
    """Write or remove a dismissal while its item is locked, unless the decision was changed or applied meanwhile."""
    await rows(connection, "review_queue.hold", item=row["item"])
    stored = await _decision(connection, row["id"])
    if stored is None or stored.dismissal != row["dismissal"]:
        return False
    await asyncio.to_thread(_apply, root, row)
    after = "written" if row["dismissal"] == "pending" else "removed"
    await rows(connection, "review_queue.set_dismissal", decision=row["id"], dismissal=after)
    return True


def _apply(root: Path, row: DictRow) -> None:
    finding = msgspec.convert(row["body"].get("finding"), MergedFinding)
    if row["dismissal"] == "pending":
        add_dismissal(root, finding, row["note"].strip() or _NO_NOTE, row["reviewer"], row["at"].date())
    else:
        remove_dismissal(root, finding.fingerprint)
