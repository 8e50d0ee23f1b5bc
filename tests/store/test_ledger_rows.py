"""Every end of a job is in the ledger once, in the transaction that ends it; sums count each entry once."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.fleet import Store, submitted

from remit import testing
from remit.dispatch.submit import Queueing
from remit.ledger.ledger_entries import LedgerEntry
from remit.store import jobs, ledger
from remit.store.database import Database
from remit.store.ledger import EntryFilter
from remit.store.transcript import ActualUsage, BudgetRequest, Reservation, Transcript, UsageSums, reserve, settle

WORKER = "00000000-0000-0000-0000-000000000001"
FACTS = {
    "kind": "review",
    "profile": "v2",
    "status": "SUCCESS",
    "revision": "a" * 40,
    "claimed": 90.0,
    "supported": 70.0,
    "claims": 4,
    "invented": 1,
    "outcomes": {"verified": 3, "missing-file": 1},
    "findings": 2,
}
VIOLATIONS = [{"rule": "quote-mismatch", "level": "L1"}, {"rule": "quote-mismatch", "level": "L1"}]


def submit(store: Store, tmp_path: Path, number: int = 1) -> list[int]:
    registry = testing.registry("---\nname: builder\n---\nGo.")
    return asyncio.run(submitted(store.address, registry, [("task", tmp_path, Queueing())] * number))


async def worked(database: Database, job: int, verdict: str | None, sums: UsageSums = UsageSums()) -> None:  # noqa: B008
    claimed = await jobs.claim(database, job, WORKER, None)
    assert isinstance(claimed, jobs.Job)
    transcript = Transcript(database, job, claimed.attempt)
    await transcript.save_message(sums.turns, b'{"kind":"response"}', sums)
    if verdict is not None:
        number = len(await database.rows("transcript.results", job=job)) + 1
        report = {"verdict": verdict, "violations": VIOLATIONS, "facts": FACTS}
        await transcript.save_result(number, "text", verdict, msgspec.json.encode(report))
    outcome: jobs.Outcome = "completed" if verdict else "error"
    await jobs.finish(database, job, claimed.attempt, outcome, verdict=verdict, result="text")


def test_the_end_of_a_job_is_in_the_ledger_with_the_facts_of_its_verdict(store: Store, tmp_path: Path) -> None:
    (job,) = submit(store, tmp_path)

    async def work(database: Database) -> list[LedgerEntry]:
        await worked(database, job, "revise", UsageSums(3, 1000, 200, cost=0.25))
        return await ledger.list_entries(database, EntryFilter(job=job))

    (entry,) = store.run(work)

    assert (entry.source, entry.verdict, entry.attempt, entry.outcome) == ("job", "revise", 1, "completed")
    assert (entry.agent, entry.model, entry.kind) == ("builder", "anthropic:claude-opus-5", "review")
    assert entry.definition.startswith("sha256:")
    assert entry.project == str(tmp_path)
    assert (entry.claims, entry.invented, entry.outcomes) == (4, 1, {"verified": 3, "missing-file": 1})
    assert entry.violations == {"quote-mismatch": 2}
    assert (entry.claimed, entry.supported, entry.revision) == (90.0, 70.0, "a" * 40)
    assert (entry.cost, entry.tokens, entry.turns) == (0.25, 1200, 3)


def test_a_corrected_job_has_a_row_for_each_verdict_and_its_cost_is_counted_once(store: Store, tmp_path: Path) -> None:
    (job,) = submit(store, tmp_path)

    async def work(database: Database) -> list[LedgerEntry]:
        await worked(database, job, "revise", UsageSums(1, 100, 0, cost=1.0))
        assert await jobs.reopen(database, jobs.Message(job, 5, b'{"kind":"request","parts":[]}'))
        await worked(database, job, "accept", UsageSums(2, 150, 0, cost=1.5))
        return await ledger.list_entries(database)

    second, first = store.run(work)

    assert [(one.verdict, one.attempt) for one in (first, second)] == [("revise", 1), ("accept", 2)]
    assert [one.cost for one in (first, second)] == [1.0, 0.5]
    assert [one.tokens for one in (first, second)] == [100, 50]


def test_a_job_that_was_cancelled_or_hung_is_in_the_ledger_without_a_verdict(store: Store, tmp_path: Path) -> None:
    cancelled, hung = submit(store, tmp_path, 2)

    async def work(database: Database) -> list[LedgerEntry]:
        await jobs.cancel(database, cancelled)
        assert await jobs.claim(database, hung, WORKER, None)
        assert await jobs.end_hung(database, -1) == [hung]
        return await ledger.list_entries(database)

    found = {entry.job: entry for entry in store.run(work)}

    assert {job: (one.outcome, one.verdict) for job, one in found.items()} == {
        cancelled: ("cancelled", ""),
        hung: ("error", ""),
    }


def test_a_transaction_that_fails_leaves_neither_an_end_nor_an_entry(store: Store, tmp_path: Path) -> None:
    (job,) = submit(store, tmp_path)

    async def work(database: Database) -> None:
        await jobs.claim(database, job, WORKER, None)
        async with database.transaction() as connection:
            await connection.execute(
                "UPDATE remit.jobs SET state = 'finished', outcome = 'completed' WHERE id = %s", [job]
            )
            raise RuntimeError("the worker dies before the commit")

    with pytest.raises(RuntimeError):
        store.run(work)
    assert store.job(job)["state"] == "running"
    assert store.rows("SELECT 1 FROM remit.ledger") == []


def test_pruning_jobs_keeps_the_ledger(store: Store, tmp_path: Path) -> None:
    (job,) = submit(store, tmp_path)

    async def work(database: Database) -> list[LedgerEntry]:
        await worked(database, job, "accept")
        assert await jobs.prune(database, -1) == 1
        return await ledger.list_entries(database, EntryFilter(agent="builder"))

    assert [entry.job for entry in store.run(work)] == [job]


def entry(number: int, **fields: Any) -> LedgerEntry:
    at = datetime(2026, 3, 1 + number % 3, 12, tzinfo=UTC)
    return LedgerEntry(key=f"k{number}", source="check", at=at, agent=f"a{number % 2}", verdict="accept", **fields)


def test_an_entry_with_a_known_key_is_not_counted_twice(store: Store) -> None:
    async def work(database: Database) -> tuple[int, int, int]:
        both = [entry(1), entry(2)]
        return (
            await ledger.record(database, both),
            await ledger.record(database, [*both, entry(3)]),
            len(await ledger.list_entries(database)),
        )

    assert store.run(work) == (2, 1, 3)


def test_text_that_the_database_cannot_store_is_replaced(store: Store) -> None:
    async def work(database: Database) -> list[LedgerEntry]:
        await ledger.record(database, [entry(1, path="a\0b\ud800", violations={"x\0": 1})])
        return await ledger.list_entries(database)

    assert [(one.path, one.violations) for one in store.run(work)] == [("a\ufffdb\ufffd", {"x\ufffd": 1})]


def test_pages_and_the_stream_have_every_entry_once(store: Store) -> None:
    async def work(database: Database) -> tuple[list[str], list[str]]:
        await ledger.record(database, [entry(number) for number in range(25)])
        pages: list[LedgerEntry] = []
        while page := await ledger.list_entries(database, before=pages[-1].id if pages else None, limit=10):
            pages += page
        return [one.key for one in pages], [one.key async for one in ledger.stream_entries(database)]

    pages, stream = store.run(work)

    assert pages == stream[::-1] == [f"k{number}" for number in range(24, -1, -1)]


def test_sums_are_the_same_before_during_and_after_folding(store: Store) -> None:
    async def work(database: Database) -> list[Any]:
        await ledger.record(database, [entry(n, claims=4, invented=1, claimed=80.0, supported=60.0) for n in range(20)])
        seen = [await ledger.versions(database)]
        while await ledger.fold(database, limit=7):
            seen.append(await ledger.versions(database))
        assert await asyncio.gather(*(ledger.fold(database) for _ in range(4))) == [0] * 4
        return [*seen, await ledger.versions(database)]

    first, *others = store.run(work)

    assert len(others) == 4
    assert all(one == first for one in others)
    assert [(card.agent, card.sums.results, card.invented_per_100) for card in first] == [
        ("a0", 10, 25.0),
        ("a1", 10, 25.0),
    ]


def test_concurrent_folds_add_each_entry_once(store: Store) -> None:
    async def work(database: Database) -> tuple[int, int]:
        await ledger.record(database, [entry(number) for number in range(40)])
        folded = await asyncio.gather(*(ledger.fold(database, limit=9) for _ in range(8)))
        return sum(folded), sum(card.sums.runs for card in await ledger.versions(database))

    assert store.run(work) == (40, 40)


def test_a_budget_that_is_used_to_80_percent_makes_one_notice(store: Store, tmp_path: Path) -> None:
    (job,) = submit(store, tmp_path)
    store.rows("UPDATE remit.jobs SET max_tokens = 1000, tree_max_cost = 10 WHERE id = %s", job)

    async def work(database: Database) -> None:
        claimed = await jobs.claim(database, job, WORKER, None)
        assert isinstance(claimed, jobs.Job)
        transcript = Transcript(database, job, claimed.attempt)
        for number, tokens in enumerate((790, 800, 900)):
            await transcript.save_message(number, b"{}", UsageSums(1, tokens, 0))
        held = await reserve(database, job, claimed.attempt, BudgetRequest(10, 20, 1, 0.001, 0.001))
        assert isinstance(held, Reservation)
        await settle(database, job, claimed.attempt, held, ActualUsage(1, 1, 8.5))

    store.run(work)
    notices = store.rows("SELECT key, data FROM remit.outbox ORDER BY key")

    assert [row["key"] for row in notices] == [f"budget-{job}-tokens", f"budget-{job}-tree-cost"]
    assert json.loads(json.dumps(notices[0]["data"]))["limit"] == 1000
