"""The ledger in the store: record entries once, list and stream them, and sum them by day and version of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime

import msgspec
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.ledger.items import AgentVersion
from remit.ledger.learned import DecidedOpinion, learn
from remit.ledger.ledger_entries import LedgerEntry
from remit.ledger.scorecards import Scorecard, Sums
from remit.merging.merge_data import LearnedNote
from remit.store.database import Connection, Database, rows
from remit.store.storable import to_storable

#: Rows that are read or folded at a time.
_BATCH = 1000
_FOLD_BATCH = 20_000


async def record(database: Database, entries: Sequence[LedgerEntry]) -> int:
    """Store entries in one transaction, and return how many were new."""
    if not entries:
        return 0
    return await database.in_transaction(lambda connection: record_in(connection, entries))


async def record_in(connection: Connection, entries: Sequence[LedgerEntry]) -> int:
    """Store entries in an open transaction, and return how many were new."""
    unique = list({entry.key: entry for entry in entries}.values())
    new = 0
    for start in range(0, len(unique), _BATCH):
        batch = to_storable(msgspec.to_builtins(unique[start : start + _BATCH]))
        new += len(await rows(connection, "ledger.record", entries=Jsonb(batch)))
    if new:
        await rows(connection, "ledger.notify")
    return new


class EntryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are meant. None: any."""

    agent: str | None = None
    source: str | None = None
    verdict: str | None = None
    job: int | None = None
    plan: int | None = None
    session: str | None = None


ANY = EntryFilter()


async def list_entries(
    database: Database, wanted: EntryFilter = ANY, *, before: int | None = None, limit: int = 100
) -> list[LedgerEntry]:
    """Return entries, the newest first. `before` is the id of the last entry of the page before."""
    values = msgspec.structs.asdict(wanted)
    entries = await database.filtered("ledger.list", **values, before=before, limit=limit)
    return [as_entry(row) for row in entries]


async def stream_entries(database: Database) -> AsyncIterator[LedgerEntry]:
    """Yield all entries, the oldest first, in batches: memory does not grow with the ledger."""
    after = 0
    while batch := await database.rows("ledger.since", after=after, limit=_BATCH):
        for row in batch:
            yield as_entry(row)
        after = batch[-1]["id"]


def as_entry(row: DictRow) -> LedgerEntry:
    """Return an entry from its row."""
    return LedgerEntry(**row)


async def fold(database: Database, limit: int = _FOLD_BATCH) -> int:
    """Add new entries to the sums of their days, and return their number. Each entry is added once."""

    async def work(connection: Connection) -> int:
        return int((await rows(connection, "ledger.fold", limit=limit))[0]["rows"])

    return await database.in_transaction(work)


async def versions(
    database: Database,
    *,
    agent: str | None = None,
    since: date | None = None,
    definition: str | None = None,
    model: str | None = None,
) -> list[Scorecard]:
    """Return the sums of each agent, definition and model, without decisions."""
    versions = await database.filtered(
        "ledger.by_version", since=since, agent=agent, definition=definition, model=model
    )
    return [
        Scorecard(
            agent=row["agent"],
            definition=row["definition"],
            model=row["model"],
            first_day=row["first_day"],
            last_day=row["last_day"],
            sums=_sums(row),
        )
        for row in versions
    ]


async def trends(database: Database, days: int) -> dict[tuple[str, str, str], list[float]]:
    """Return, by agent, definition and model, the share of accepted first tries on each of the last days with any."""
    trend_rows = await database.rows("ledger.trends", days=days)
    return {(row["agent"], row["definition"], row["model"]): row["shares"] for row in trend_rows}


def _sums(row: DictRow) -> Sums:
    return Sums(**{name: row[name] for name in Sums.__struct_fields__})


async def versions_in_plan(database: Database, plan: int) -> dict[str, AgentVersion]:
    """Return the definition and model of each agent that had a job in a plan."""
    agents = await database.rows("ledger.versions_of_plan", plan=plan)
    return {row["agent"]: AgentVersion(row["definition"], row["model"]) for row in agents}


async def decided_opinions(
    database: Database, *, agent: str | None = None, until: datetime | None = None
) -> list[DecidedOpinion]:
    """Return what agents stated about findings that a person confirmed or rejected, in a fixed order."""
    opinions = await database.filtered("review_queue.decided_opinions", agent=agent, until=until)
    return [DecidedOpinion(**row) for row in opinions]


async def learned_note(database: Database) -> LearnedNote:
    """Return the weights and the worth of agreement that all decisions until now give."""
    return learn(await decided_opinions(database))


async def scorecards(database: Database, *, agent: str | None = None, since: date | None = None) -> list[Scorecard]:
    """Return a scorecard for each agent, definition and model, by agent, the latest version first."""
    cards = {
        (card.agent, card.definition, card.model): card for card in await versions(database, agent=agent, since=since)
    }
    for row in await database.filtered("review_queue.precision", agent=agent):
        key = (row["agent"], row["definition"], row["model"])
        card = cards.get(key) or Scorecard(agent=key[0], definition=key[1], model=key[2])
        cards[key] = msgspec.structs.replace(card, confirmed=row["confirmed"], rejected=row["rejected"])
    return sorted(cards.values(), key=_order)


def _order(card: Scorecard) -> tuple[str, int, str, str]:
    return card.agent, -(card.last_day.toordinal() if card.last_day else 0), card.definition, card.model
