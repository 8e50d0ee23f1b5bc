"""A job whose folder does not exist on the host of a worker costs no request, and waits for a host that has it."""

from __future__ import annotations

import logging
import shutil

import pytest
from support.running import Fleet, Play, tools
from support.waiting import until_async

from remit.configuration import load
from remit.dispatch import worker as workers
from remit.dispatch.health import health_facts
from remit.dispatch.submit import Queueing
from remit.dispatch.worker import Worker
from remit.reports.job_text import event_lines, job_lines
from remit.reports.layout import plain_lines

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DONE = {"text": "done"}
SAID = "the folder {} does not exist on "


async def left(fleet: Fleet) -> int:
    """Return a job that a worker has left in the queue."""
    number = await fleet.submit()
    fleet.project.rename(fleet.project.with_name("moved"))
    await fleet.work()
    return number


async def _has_left(fleet: Fleet, number: int) -> bool:
    job = await fleet.job(number)
    return job.state == "queued" and job.attempt == 1


async def test_a_job_without_its_folder_stays_in_the_queue_and_calls_no_model(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async with play(DONE) as fleet:
        with caplog.at_level(logging.INFO, "remit.worker"):
            number = await left(fleet)
        job = await fleet.job(number)
        said = SAID.format(fleet.project)
        assert (job.state, job.outcome, job.turns, job.started) == ("queued", None, 0, None)
        assert fleet.requests == []
        assert said in " ".join(plain_lines(job_lines(job, 400)).split()), "`remit jobs show` says why it waits"
        assert [said in plain_lines(event_lines(event, 400)) for event in await fleet.events(number)] == [True]
        assert [record.exc_info for record in caplog.records if said in record.getMessage()] == [None]


async def test_a_job_that_was_left_runs_when_its_folder_is_there(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_FOLDER_SECONDS", 0.1)
    async with play(DONE) as fleet:
        number = await fleet.submit()
        moved = fleet.project.rename(fleet.project.with_name("moved"))
        async with fleet.working():
            await until_async(lambda: _has_left(fleet, number), f"job {number} is left")
            moved.rename(fleet.project)
            job = await fleet.reached(number, "finished")
        assert (job.outcome, job.error) == ("completed", None)
        assert job.attempt == 2, "a worker that has left a job looks for its folder, and claims it no more"
        assert await fleet.kinds(number) == ["left", "started", "turn", "text", "usage", "checked", "finished"]


async def test_a_cancelled_job_without_its_folder_ends(play: Play) -> None:
    async with play(DONE) as fleet:
        number = await left(fleet)
        await fleet.cancel(number)
        assert (await fleet.job(number)).outcome == "cancelled"


async def test_the_worker_of_a_command_ends_a_job_without_its_folder(play: Play) -> None:
    async with play(DONE) as fleet:
        number = await fleet.submit(queueing=Queueing(first_queue="run-here"))
        shutil.rmtree(fleet.project)
        await Worker(fleet.database, fleet.settings, queues=["run-here"], is_listed=False).run(until_idle=True)
        job = await fleet.job(number)
        assert (job.outcome, job.error) == ("error", f"the folder {fleet.project} does not exist on this host")
        assert fleet.requests == []


async def test_a_folder_that_vanishes_during_a_job_is_one_line_of_the_log(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async with play(tools(("Read", {"file_path": "a.py"})), {"text": "done", "gate": "held"}) as fleet:
        number = await fleet.submit()
        with caplog.at_level(logging.INFO, "remit.worker"):
            async with fleet.working():
                await fleet.server.wait("held")
                shutil.rmtree(fleet.project)
                fleet.server.open("held")
                job = await fleet.reached(number, "finished")
        assert job.outcome == "error"
        assert "not a folder" in (job.error or "")
        assert [record for record in caplog.records if record.exc_info] == []


async def test_doctor_names_the_folder_that_a_job_waits_for(play: Play) -> None:
    async def jobs_in_doctor() -> list[tuple[str, str]]:
        facts = [fact async for fact in health_facts(load(), fleet.settings)]
        return [(fact.level, fact.words) for fact in facts if fact.what == "jobs"]

    async with play(DONE) as fleet:
        await fleet.submit()
        number = await fleet.submit()
        assert await jobs_in_doctor() == []
        fleet.project.rename(fleet.project.with_name("moved"))
        await fleet.work()
        waits = f"job {number - 1} and 1 more wait for a worker on a host that has {fleet.project}"
        assert await jobs_in_doctor() == [("odd", f"{waits}; no worker has found this folder")]
