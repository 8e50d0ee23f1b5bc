"""Import the reports of recorded sessions into the ledger. A report that was imported before is skipped."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.clients.hooks.results import MAX_CHECK_BYTES, KeptResult, list_results, read_text, sessions_with_results
from remit.contract.kinds import slug
from remit.gate.session_store import read_session
from remit.ledger.items import ItemOrigin, NewItem, result_item
from remit.ledger.ledger_entries import INVENTED, LedgerEntry
from remit.merging.model import AgentReport
from remit.registry.models import full_name
from remit.store import ledger, review_queue

if TYPE_CHECKING:
    from remit.store.database import Database


async def import_sessions(database: Database, folders: Iterable[str], project: str = "", *, since: float = 0.0) -> int:
    """Record the judged reports of the sessions in some folders of the gate, and return how many were new.

    A report that was rejected becomes a review item. Sessions without a report after `since` are left out.
    """
    entries, items = await asyncio.to_thread(_read_sessions, list(folders), project, since)
    new = await ledger.record(database, entries)
    await review_queue.add_items(database, items)
    return new


def _read_sessions(folders: list[str], project: str, since: float) -> tuple[list[LedgerEntry], list[NewItem]]:
    entries: list[LedgerEntry] = []
    items: list[NewItem] = []
    found = [(folder, name) for folder in folders for name in sessions_with_results(folder, since)]
    for folder, name in found:
        state = read_session(folder, name)
        if state is None:
            continue
        session = state.session or name
        for kept in list_results(folder, session):
            if not kept.verdict:
                continue
            entry = entry_of(kept, session, project)
            entries.append(entry)
            if kept.outcome in ("rejected", "failed"):
                items.append(_item(kept, entry))
    return entries, items


def entry_of(kept: KeptResult, session: str, project: str) -> LedgerEntry:
    """Return the ledger's entry of a stored report. Its file name is unique in its session."""
    check = _read_check(kept)
    counts = _counts(check.get("summary"))
    first = next(iter(_tables(check.get("results"))), {})
    confidence = first.get("confidence")
    scores = confidence if isinstance(confidence, dict) else {}
    return LedgerEntry(
        key=f"hook-{session}-{Path(kept.base).name}",
        source="hook",
        at=datetime.fromtimestamp(kept.at, UTC),
        session=session,
        path=kept.path,
        agent=slug(kept.agent.rpartition(":")[2]),
        definition=kept.definition,
        model=full_name(kept.model, {}) if kept.model else "",
        kind=_text(first.get("kind")),
        profile=kept.profile,
        project=project,
        revision=kept.commit,
        findings=max(0, kept.findings),
        status=_text(first.get("status")),
        verdict=kept.verdict,
        outcome=kept.outcome,
        attempt=max(1, kept.attempt),
        claims=sum(counts.values()),
        invented=sum(number for outcome, number in counts.items() if outcome in INVENTED),
        outcomes=counts,
        violations=dict(Counter(_text(one.get("rule")) for one in kept.violations)),
        claimed=_number(scores.get("claimed")),
        supported=_number(scores.get("supported")),
        verified=_number(scores.get("verified")),
        inferred=_number(scores.get("inferred")),
    )


def _item(kept: KeptResult, entry: LedgerEntry) -> NewItem:
    why = kept.failure or "the result was rejected"
    report = AgentReport(entry.agent, entry.status or "FAILED", entry.verdict, entry.kind, entry.claimed)
    origin = ItemOrigin("hook", session=entry.session, project=entry.project)
    return result_item(entry.key, entry.agent, why, report, origin, read_text(kept))


def _read_check(kept: KeptResult) -> Mapping[str, Any]:
    """Return the stored verdicts; empty if they are missing or broken. The file may have been changed."""
    try:
        with Path(kept.check).open("rb") as file:
            values = json.loads(file.read(MAX_CHECK_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _counts(summary: object) -> dict[str, int]:
    values = summary.get("claims_by_outcome") if isinstance(summary, dict) else None
    entries = values.items() if isinstance(values, dict) else ()
    return {name: number for name, number in entries if isinstance(number, int) and 0 <= number < 1_000_000}


def _tables(values: object) -> Iterator[dict[str, Any]]:
    return (one for one in values if isinstance(one, dict)) if isinstance(values, list) else iter(())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
