"""Jobs belong to a project: its workers alone take them, and its keys are its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running import Fleet, Play

from remit.dispatch.submit import Queueing
from remit.dispatch.worker import Worker
from remit.store import jobs, workers

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DONE = {"text": "Nothing to report."}


async def test_a_worker_takes_only_the_jobs_of_its_project_and_one_for_all_takes_the_rest(
    play: Play,
) -> None:
    async with play(DONE, DONE) as fleet:
        own, other = await _submit(fleet, "tests"), await _submit(fleet, "other", queue="nightly")
        await Worker(fleet.database, fleet.settings).run(until_idle=True)
        assert (await jobs.get(fleet.database, own)).state == "finished"
        assert (await jobs.get(fleet.database, other)).state == "queued"
        await Worker(fleet.database, fleet.settings._replace(is_for_all_projects=True)).run(until_idle=True)
        assert (await jobs.get(fleet.database, other)).outcome == "completed"


async def test_a_key_is_unique_in_a_project(play: Play) -> None:
    async with play(DONE) as fleet:
        numbers = [await _submit(fleet, project, key="one") for project in ("a", "a", "b")]
        assert numbers[0] == numbers[1] != numbers[2]


async def test_the_project_of_a_job_is_the_checkout_of_its_folder_unless_it_has_a_name(
    play: Play, tmp_path: Path
) -> None:
    async with play(DONE) as fleet:
        fleet.settings = fleet.settings._replace(project_name="")
        checkout = tmp_path / "checkout"
        (checkout / ".git").mkdir(parents=True)
        fleet.project = checkout / "inner"
        fleet.project.mkdir()
        assert (await fleet.job(await fleet.submit())).project == str(checkout.resolve())


async def test_the_queues_of_a_worker_are_listed_from_the_columns(play: Play) -> None:
    async with play(DONE) as fleet:
        await _submit(fleet, "a", queue="x")
        await _submit(fleet, "b", queue="x")
        of_a, of_all = [await workers.ticket_queues(fleet.database, project, []) for project in ("a", None)]
        assert len(of_a) == 2  # x, and the default queue that no job needs yet
        assert len(of_all) == 2
        assert len(set(of_a) & set(of_all)) == 1
        assert all(len(name) <= 40 for name in (*of_a, *of_all))


async def test_a_job_with_the_key_of_a_plan_is_no_job_of_that_plan(play: Play) -> None:
    async with play(DONE) as fleet:
        number = await _submit(fleet, "tests", key="plan-1-own")
        assert (await jobs.get(fleet.database, number)).plan is None
        await jobs.cancel_plan(fleet.database, 1, "not needed")
        assert (await jobs.get(fleet.database, number)).state == "queued"


async def _submit(fleet: Fleet, project: str, *, queue: str = "default", key: str | None = None) -> int:
    mine = fleet.settings
    fleet.settings = mine._replace(project_name=project)
    try:
        return await fleet.submit(queueing=Queueing(queue=queue, key=key), contract="none")
    finally:
        fleet.settings = mine
