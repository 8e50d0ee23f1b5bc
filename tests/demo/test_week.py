"""The demonstration fills every page, its results are judged and merged, and a seed gives the same week."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from support.fleet import Store
from support.postgres import Postgres

from remit.aio import cancel_and_wait
from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.session_import import import_sessions
from remit.demo.week import _draw_week, beat_forever, fill_demo
from remit.errors import UsageError
from remit.gate.session_store import recorded_sessions
from remit.ledger.calibration import calibrate
from remit.ledger.learned import decision_points
from remit.ledger.scorecards import Scorecard
from remit.store import jobs, ledger, plans, review_queue, workers
from remit.store.database import Database, open_database

T = TypeVar("T")
NOW = datetime(2026, 3, 9, 15, 30, tzinfo=UTC)


class Demo:
    """A filled database, and its checkout."""

    def __init__(self, store: Store, root: Path) -> None:
        self.store = store
        self.root = root

    def run(self, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
        async def opened() -> T:
            async with open_database(self.store.address, Path("/")) as database:
                return await work(database)

        return asyncio.run(opened())


@pytest.fixture(scope="module")
def demo(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with postgres.temporary_database() as address:
        made = Demo(Store(address), tmp_path_factory.mktemp("demo"))
        made.run(lambda database: fill_demo(database, made.root, now=NOW))
        yield made


def test_a_week_has_jobs_in_every_state_with_transcripts(demo: Demo) -> None:
    found = demo.run(lambda database: jobs.list_jobs(database, state=None, agent=None, limit=1000))

    assert {job.state for job in found} == {"queued", "running", "finished"}
    assert {job.outcome for job in found} >= {"completed", "timeout"}
    assert {job.verdict for job in found} >= {"accept", "revise"}
    assert len(found) > 80
    one = next(job for job in found if job.verdict == "accept")
    assert len(demo.store.messages(one.id)) == 2 * len(demo.store.calls(one.id)) + 2


def test_every_finished_job_and_every_plan_is_in_the_ledger_once(demo: Demo) -> None:
    finished = demo.store.rows("SELECT id FROM remit.jobs WHERE state = 'finished'")
    recorded = demo.store.rows("SELECT job, plan, source FROM remit.ledger")

    assert sorted(row["job"] for row in recorded if row["source"] == "job") == sorted(row["id"] for row in finished)
    assert sum(row["source"] == "plan" for row in recorded) == 7


def test_there_are_enough_decisions_for_a_calibration_and_items_to_decide(demo: Demo) -> None:
    opinions = demo.run(ledger.decided_opinions)
    found = calibrate(decision_points(opinions))
    progress = demo.run(review_queue.progress)

    assert found.recalibration is not None
    assert progress.open >= 10
    assert progress.confirmed > 50
    assert progress.rejected > 50
    assert progress.unsure > 0


def test_agents_have_two_versions_and_different_precision(demo: Demo) -> None:
    cards = demo.run(ledger.scorecards)
    by_agent: dict[str, list[Scorecard]] = {}
    for card in cards:
        by_agent.setdefault(card.agent, []).append(card)
    precision = {
        agent: sum(card.confirmed for card in own) / max(1, sum(card.confirmed + card.rejected for card in own))
        for agent, own in by_agent.items()
    }

    assert len(by_agent["security-auditor"]) == 2
    assert precision["security-auditor"] > precision["code-quality-reviewer"]


def test_a_plan_waits_for_an_answer(demo: Demo) -> None:
    questions = demo.run(lambda database: plans.escalations(database, is_open=True))

    assert len(questions) == 1
    assert demo.run(lambda database: plans.get_plan(database, questions[0].plan)).state == "waiting"


def test_sessions_are_imported_once(demo: Demo) -> None:
    folders = [folder_of(str(demo.root))]
    assert len(recorded_sessions(folders)) == 4

    async def work(database: Database) -> tuple[int, int]:
        first = await import_sessions(database, folders, str(demo.root))
        return first, await import_sessions(database, folders, str(demo.root))

    new, again = demo.run(work)

    assert new > 0
    assert again == 0
    entries = demo.run(lambda database: ledger.list_entries(database, ledger.EntryFilter(source="hook")))
    assert all(entry.model == "anthropic:claude-sonnet-5-5" and entry.claims for entry in entries)


def test_a_filled_database_is_left_as_it_is(demo: Demo, tmp_path: Path) -> None:
    before = demo.store.rows("SELECT count(*) FROM remit.jobs")
    demo.run(lambda database: fill_demo(database, tmp_path / "other", now=NOW))

    assert demo.store.rows("SELECT count(*) FROM remit.jobs") == before
    assert not (tmp_path / "other").exists()


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("text", encoding="utf-8")

    with pytest.raises(UsageError, match="is not empty"):
        _draw_week(tmp_path, 7, NOW)


def test_the_same_seed_gives_the_same_week(demo: Demo, tmp_path: Path) -> None:
    week = _draw_week(tmp_path / "again", 7, NOW)
    stored = demo.store.rows("SELECT merge FROM remit.phases ORDER BY plan")
    texts = demo.store.rows("SELECT result FROM remit.jobs WHERE state = 'finished' AND idempotency_key IS NULL")

    assert [msgspec.json.decode(msgspec.json.encode(review.merge)) for review in week.reviews] == [
        msgspec.json.decode(msgspec.json.encode(row["merge"])) for row in stored
    ]
    assert sorted(work.text for work in week.single) == sorted(row["result"] for row in texts)


def test_the_worker_and_its_job_stay_alive(demo: Demo) -> None:
    async def beat(database: Database) -> None:
        beating = asyncio.create_task(beat_forever(database))
        async with asyncio.timeout(30):
            while not await alive(database):  # noqa: ASYNC110 (the task writes to the database)
                await asyncio.sleep(0.01)
        await cancel_and_wait(beating)

    async def alive(database: Database) -> bool:
        found = await workers.live_workers(database, 10)
        running = demo.store.rows(
            "SELECT 1 FROM remit.jobs WHERE state = 'running' AND checkpoint > now() - interval '9 s'"
        )
        return bool(found) and bool(running)

    demo.run(beat)
