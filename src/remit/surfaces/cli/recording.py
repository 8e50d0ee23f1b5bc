"""`--record`: store the outcome of a command in the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from remit.checking import Verdict
from remit.dispatch.worker_settings import Settings
from remit.ledger.items import ItemOrigin, NewItem
from remit.ledger.ledger_entries import EntrySource, LedgerEntry, document_entry
from remit.ledger.recorded_merge import record_of
from remit.merging.merge_data import Merge
from remit.store import ledger, review_queue
from remit.store.database import Database
from remit.surfaces.cli.with_database import with_database
from remit.workspace import git


def record_verdicts(verdicts: Sequence[Verdict], source: EntrySource, root: Path) -> None:
    """Store verdicts on documents in the ledger."""
    _record(_entries(verdicts, source, root), [])


def record_merge(
    merged: Merge,
    source: EntrySource,
    root: Path,
    *,
    verdicts: Sequence[Verdict] = (),
    plan: int | None = None,
    is_queued_only: bool = False,
) -> None:
    """Store the findings of a merge as review items; the merge and the verdicts of its inputs in the ledger too."""
    recorded = record_of(merged, ItemOrigin(source, plan=plan), root.resolve())
    entries = [] if is_queued_only else [*_entries(verdicts, source, root), recorded.entry]
    if entries or recorded.items:
        _record(entries, recorded.items)


def _entries(verdicts: Sequence[Verdict], source: EntrySource, root: Path) -> list[LedgerEntry]:
    revision = git.head(root) or ""
    return [document_entry(verdict, source, project=str(root.resolve()), revision=revision) for verdict in verdicts]


def _record(entries: list[LedgerEntry], items: list[NewItem]) -> None:
    async def work(database: Database, _: Settings) -> tuple[int, int]:
        return await ledger.record(database, entries), len(await review_queue.add_items(database, items))

    new, queued = with_database(work)
    parts = [f"{new} new {'entry' if new == 1 else 'entries'} in the ledger"] if entries else []
    if items:
        parts.append(f"{queued} open review {'item' if queued == 1 else 'items'}")
    click.echo(f"recorded: {', '.join(parts)}", err=True)
