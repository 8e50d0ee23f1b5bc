"""What people's decisions state about agents: decided opinions for calibration and weights, and scorecards."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from remit.ledger.learned import DecidedOpinion, learn
from remit.ledger.scorecards import Scorecard
from remit.merging.model import LearnedNote
from remit.store import ledger
from remit.store.database import Database


async def decided_opinions(
    database: Database, *, agent: str | None = None, until: datetime | None = None
) -> list[DecidedOpinion]:
    """Return what agents stated about findings that a person confirmed or rejected, in a fixed order."""
    found = await database.filtered("review_queue.decided_opinions", agent=agent, until=until)
    return [DecidedOpinion(**row) for row in found]


async def learned_note(database: Database) -> LearnedNote:
    """Return the weights and the worth of agreement that all decisions until now give."""
    return learn(await decided_opinions(database))


async def scorecards(database: Database, *, agent: str | None = None, since: date | None = None) -> list[Scorecard]:
    """Return a scorecard for each agent, definition and model, by agent, the latest version first."""
    cards = {
        (card.agent, card.definition, card.model): card
        for card in await ledger.versions(database, agent=agent, since=since)
    }
    for row in await database.filtered("review_queue.precision", agent=agent):
        key = (row["agent"], row["definition"], row["model"])
        card = cards.get(key) or Scorecard(agent=key[0], definition=key[1], model=key[2])
        cards[key] = msgspec.structs.replace(card, confirmed=row["confirmed"], rejected=row["rejected"])
    return sorted(cards.values(), key=_order)


def _order(card: Scorecard) -> tuple[str, int, str, str]:
    return card.agent, -(card.last_day.toordinal() if card.last_day else 0), card.definition, card.model
