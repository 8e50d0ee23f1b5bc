"""The week of `remit serve --demo` is recorded work whose findings are true of the shop, and it fills every page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from support.fleet import Store
from support.postgres import Postgres

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.session_import import import_sessions
from remit.demo.demo_review import examples
from remit.demo.recorded_model import MODEL
from remit.demo.week import WeekFinding, fill_demo, read_week
from remit.dispatch.worker_settings import Settings, load_settings
from remit.errors import UsageError
from remit.gate.session_store import recorded_sessions
from remit.ledger.calibration import MIN_CURVE, calibrate
from remit.ledger.learned import decision_points
from remit.store import ledger, plans, review_queue
from remit.store.database import Database, open_database

T = TypeVar("T")
NOW = datetime(2026, 3, 9, 15, 30, tzinfo=UTC)
WEEK = read_week()


class Demo:
    """A filled database, and its checkout."""

    def __init__(self, store: Store, root: Path) -> None:
        self.store = store
        self.root = root / "shop"
        self.settings: Settings = load_settings(start=root)._replace(database=store.address, data=root / "data")

    def run(self, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
        async def opened() -> T:
            async with open_database(self.store.address, Path("/")) as database:
                return await work(database)

        return asyncio.run(opened())

    def fill(self, root: Path) -> None:
        self.run(lambda database: fill_demo(database, self.settings, root, now=NOW))


@pytest.fixture(scope="module")
def demo(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with postgres.temporary_database() as address:
        made = Demo(Store(address), tmp_path_factory.mktemp("demo"))
        made.fill(made.root)
        yield made


@pytest.mark.parametrize("finding", WEEK.findings, ids=lambda finding: finding.key)
def test_every_recorded_finding_quotes_its_line_of_the_shop(finding: WeekFinding) -> None:
    path, _, line = finding.place.partition(":")
    code = (examples() / "shop" / path).read_text(encoding="utf-8").split("\n")

    assert code[int(line) - 1] == finding.quote
    assert finding.decision != "reject" or finding.note, "a rejected finding states why"


def test_every_finding_of_the_week_is_reported_once_and_every_recording_is_used() -> None:
    used = [key for review in WEEK.reviews for key in review.findings]

    assert sorted(used) == sorted(finding.key for finding in WEEK.findings)
    assert len({question.task for question in WEEK.questions}) == len(WEEK.questions)


def test_the_findings_in_the_store_are_verified_and_have_the_recorded_places(demo: Demo) -> None:
    places = {finding.title: finding.place for finding in WEEK.findings}
    merges = [row["merge"] for row in demo.store.rows("SELECT merge FROM remit.phases") if row["merge"]]
    kept = [finding for merge in merges for finding in merge["findings"]]

    assert {finding["title"] for finding in kept} >= set(places)
    assert all(finding["verified"] for finding in kept)
    assert all(f"{one['path']}:{one['line']}" == places[one["title"]] for one in kept if one["title"] in places)


def test_jobs_are_spread_over_a_week_and_none_is_in_the_future(demo: Demo) -> None:
    jobs = demo.store.rows("SELECT agent, started, finished, verdict, outcome FROM remit.jobs")

    assert {job["outcome"] for job in jobs} == {"completed"}
    assert {job["verdict"] for job in jobs} == {"accept", "reject"}
    assert len({job["started"].date() for job in jobs}) == 7
    assert NOW - timedelta(days=7) < min(job["started"] for job in jobs)
    assert max(job["finished"] for job in jobs) <= NOW
    assert all(timedelta(0) < job["finished"] - job["started"] for job in jobs)
    briefs = demo.store.rows("SELECT brief ->> 'model' AS model FROM remit.briefs WHERE brief ->> 'command' IS NULL")
    assert {row["model"] for row in briefs} == {MODEL}


def test_times_of_one_job_are_in_order(demo: Demo) -> None:
    late = demo.store.rows(
        "SELECT 1 FROM remit.jobs JOIN remit.messages ON job = jobs.id "
        "WHERE messages.created NOT BETWEEN jobs.created AND jobs.finished"
    )
    calls = demo.store.rows(
        "SELECT 1 FROM remit.jobs JOIN remit.tool_calls ON job = jobs.id "
        "WHERE tool_calls.started < jobs.started OR tool_calls.finished > jobs.finished"
    )
    items = demo.store.rows("SELECT 1 FROM remit.review_items WHERE created < (SELECT min(created) FROM remit.plans)")

    assert (late, calls, items) == ([], [], [])


def test_untrue_claims_are_stopped_and_one_report_is_rejected(demo: Demo) -> None:
    results = demo.store.rows(
        "SELECT agent, submission, results.verdict FROM remit.results JOIN remit.jobs ON jobs.id = job "
        "WHERE results.verdict <> 'accept' ORDER BY agent, submission"
    )
    invented = [one.agent for work in (*WEEK.reviews, *WEEK.questions) for one in work.untrue]

    assert sorted(row["agent"] for row in results if row["submission"] == 1) == sorted([*invented, "qa-engineer"])
    assert [row["agent"] for row in results if row["verdict"] == "reject"] == ["security-auditor"]


def test_every_finished_job_and_every_plan_is_in_the_ledger(demo: Demo) -> None:
    finished = demo.store.rows("SELECT id FROM remit.jobs WHERE state = 'finished'")
    recorded = demo.store.rows("SELECT job, plan, source FROM remit.ledger")

    assert {row["job"] for row in recorded if row["source"] == "job"} == {row["id"] for row in finished}
    plans_done = len(WEEK.reviews) + len(WEEK.questions) + 1
    assert sum(row["source"] == "plan" for row in recorded) == plans_done


def test_there_are_decisions_and_items_to_decide(demo: Demo) -> None:
    opinions = demo.run(ledger.decided_opinions)
    progress = demo.run(review_queue.progress)

    assert progress.open >= 8
    assert progress.rejected == sum(finding.decision == "reject" for finding in WEEK.findings)
    assert progress.confirmed >= 15
    assert progress.unsure == 1
    assert len(opinions) >= 20
    assert (calibrate(decision_points(opinions)).recalibration is None) == (len(opinions) < MIN_CURVE * 4)


def test_a_plan_waits_for_an_answer(demo: Demo) -> None:
    questions = demo.run(lambda database: plans.escalations(database, is_open=True))

    assert len(questions) == 1
    assert demo.run(lambda database: plans.get_plan(database, questions[0].plan)).state == "waiting"


def test_sessions_are_imported_once(demo: Demo) -> None:
    folders = [folder_of(str(demo.root))]
    sessions = [found.state for found in recorded_sessions(folders)]
    assert [state.untrue_since() for state in sessions] == [
        (one.sent_back - one.passed, one.passed) for one in WEEK.sessions
    ]

    async def work(database: Database) -> tuple[int, int]:
        first = await import_sessions(database, folders, str(demo.root))
        return first, await import_sessions(database, folders, str(demo.root))

    new, again = demo.run(work)

    assert new > 0
    assert again == 0
    entries = demo.run(lambda database: ledger.list_entries(database, ledger.EntryFilter(source="hook")))
    assert all(entry.model == "recorded" and entry.claims for entry in entries)


def test_a_filled_database_is_left_as_it_is(demo: Demo, tmp_path: Path) -> None:
    before = demo.store.rows("SELECT count(*) FROM remit.jobs")
    demo.fill(tmp_path / "other")

    assert demo.store.rows("SELECT count(*) FROM remit.jobs") == before
    assert not (tmp_path / "other").exists()


def test_a_folder_with_files_is_refused(address: str, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/mine.txt").write_text("text", encoding="utf-8")
    refused = Demo(Store(address), tmp_path)

    with pytest.raises(UsageError, match="is not empty"):
        refused.fill(refused.root)
