"""A rejected finding is dismissed in its checkout, an undone decision restores it, and a crash is repaired."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from support.fleet import Store
from support.waiting import until

from remit.ledger.dismissing import stored_dismissals
from remit.ledger.items import ItemOrigin
from remit.ledger.recorded_merge import record_of
from remit.merging.dismissals import FILE
from remit.merging.merge import merge_reports
from remit.merging.merge_data import MergeSettings, Opinion, Report, ReportedFinding
from remit.store import review_queue
from remit.store.database import Database, open_database
from remit.store.review_queue import apply_dismissals, local_root


async def add_item(database: Database, root: Path) -> int:
    opinion = Opinion(agent="bandit", id="B1", severity="minor", confidence=90.0, line=1, title="SQL")
    row = ReportedFinding(opinion=opinion, path="a.py", end_line=None, category="security", verified=True)
    merged = merge_reports([Report(agent="bandit", status="SUCCESS", verdict="accept", rows=(row,))], MergeSettings())
    (item,) = await review_queue.add_items(database, record_of(merged, ItemOrigin("merge"), root).items)
    return item


def test_a_rejection_is_a_dismissal_until_it_is_undone(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("query = 1\n", encoding="utf-8")

    async def work() -> None:
        async with open_database(store.address, Path("/")) as database:
            item = await add_item(database, tmp_path)
            decision = await review_queue.decide(database, uuid4(), item, "reject", "Ada", "a constant")
            assert decision.dismissal == "pending"
            assert await apply_dismissals(database, lambda _: None) == 0, "the checkout is on another host"
            assert [await apply_dismissals(database) for _ in range(2)] == [1, 0]
            assert [(one.why, one.by) for one in stored_dismissals(tmp_path)] == [("a constant", "Ada")]
            await review_queue.undo(database, decision.id, "Ada")
            assert await apply_dismissals(database) == 1
            assert stored_dismissals(tmp_path) == []
            (last,) = await review_queue.history(database, item=item)
            assert last.dismissal == "removed"

    asyncio.run(work())


def test_an_undone_rejection_stays_undone_if_another_process_was_just_writing_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("query = 1\n", encoding="utf-8")
    add_dismissal = review_queue.add_dismissal
    others: list[Thread] = []

    async def undo(decision: str) -> None:
        async with open_database(store.address, Path("/")) as database:
            await review_queue.undo(database, decision, "Ada")
            await apply_dismissals(database)

    def add_late(*arguments: Any) -> None:
        """Write only when the other process has undone the decision, or waits until this one has ended."""
        (decision,) = store.rows("SELECT id::text FROM remit.decisions")
        others.append(Thread(target=asyncio.run, args=(undo(decision["id"]),)))
        others[0].start()
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        until(lambda: not others[0].is_alive() or store.rows(waiting))
        add_dismissal(*arguments)

    async def work() -> None:
        async with open_database(store.address, Path("/")) as database:
            await review_queue.decide(database, uuid4(), await add_item(database, tmp_path), "reject", "Ada")
            monkeypatch.setattr(review_queue, "add_dismissal", add_late)
            await apply_dismissals(database)

    asyncio.run(work())
    others[0].join()
    assert stored_dismissals(tmp_path) == []


def test_a_decision_whose_process_died_is_completed_by_the_next(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("query = 1\n", encoding="utf-8")

    async def decide() -> None:
        async with open_database(store.address, Path("/")) as database:
            await review_queue.decide(database, uuid4(), await add_item(database, tmp_path), "reject", "Ada")

    async def later() -> int:
        async with open_database(store.address, Path("/")) as database:
            return await apply_dismissals(database)

    asyncio.run(decide())
    assert not (tmp_path / FILE).exists()
    assert asyncio.run(later()) == 1
    assert [one.why for one in stored_dismissals(tmp_path)] == ["rejected in a review"]


def test_a_file_that_cannot_be_written_is_tried_again(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("query = 1\n", encoding="utf-8")
    (tmp_path / FILE).write_text("not = [toml", encoding="utf-8")

    async def work() -> tuple[int, int]:
        async with open_database(store.address, Path("/")) as database:
            await review_queue.decide(database, uuid4(), await add_item(database, tmp_path), "reject", "Ada")
            first = await apply_dismissals(database)
            (tmp_path / FILE).unlink()
            return first, await apply_dismissals(database)

    assert asyncio.run(work()) == (0, 1)


def test_only_a_folder_of_this_host_is_a_checkout(tmp_path: Path) -> None:
    assert local_root(str(tmp_path)) == tmp_path
    assert local_root("") is None
    assert local_root("relative") is None
    assert local_root(str(tmp_path / "missing")) is None
