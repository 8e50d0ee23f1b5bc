"""Documented guarantees on time, dead workers, attempts and cost."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.commands import Commands
from support.running import Fleet, Play
from support.waiting import until_async

from remit.dispatch.attempt import MAX_DEATHS, MAX_DEATHS_IN_TURN
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.submit import Queueing
from remit.errors import UsageError
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import AttemptFenced, Job
from remit.store.transcript import (
    ActualUsage,
    BudgetRequest,
    Reservation,
    Transcript,
    UsageSums,
    reserve,
    settle_broken,
)

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DONE = {"text": "done"}
WAITS = {"text": "done", "gate": "answers"}
FAILS_ONCE = {"text": "done", "fail": {"status": 400}}
AN_HOUR = {"seconds": 3600}
UNPRICED = "openai:my-own-model"


async def claim(fleet: Fleet, number: int) -> Job:
    """Claim a job as a new worker."""
    found = await jobs.claim(fleet.database, number, str(uuid.uuid4()), None)
    assert isinstance(found, Job)
    return found


async def given_back(database: Database, job: Job) -> None:
    await jobs.give_back(database, job.id, job.attempt)


async def lose_worker(database: Database, job: Job) -> None:
    """Leave the job running without a worker; the next one takes it over."""
    assert (await jobs.get(database, job.id)).state == "running"


LEFT = {"was stopped": given_back, "died": lose_worker}


async def test_a_retry_gets_its_full_time(play: Play) -> None:
    async with play(FAILS_ONCE) as fleet:
        failed = await fleet.run(limits=AN_HOUR)
        assert failed.outcome == "error"
        await fleet.rows("UPDATE remit.jobs SET started = started - interval '2 hours'")
        await jobs.retry(fleet.database, failed.id)
        await fleet.work()
        done = await fleet.job(failed.id)
        assert (done.outcome, done.error) == ("completed", None)


@pytest.mark.parametrize(
    ("deaths", "in_turn", "reason"),
    [
        (12, MAX_DEATHS_IN_TURN, f"{MAX_DEATHS_IN_TURN} attempts died in one turn"),
        (MAX_DEATHS, 1, f"{MAX_DEATHS} attempts died"),
    ],
    ids=["in one turn", "in many turns"],
)
async def test_a_retry_resets_the_count_of_dead_workers(play: Play, deaths: int, in_turn: int, reason: str) -> None:
    async with play(DONE) as fleet:
        number = await fleet.submit()
        await fleet.rows("UPDATE remit.jobs SET deaths = %s, deaths_in_turn = %s", deaths, in_turn)
        await fleet.work()
        stopped = await fleet.job(number)
        assert (stopped.outcome, fleet.requests) == ("error", [])
        assert f"stopped after {reason}:" in str(stopped.error)
        await jobs.retry(fleet.database, number)
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.deaths, done.deaths_in_turn) == ("completed", 0, 0)


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
async def test_a_change_of_workers_does_not_extend_the_time(
    play: Play, leave: Callable[[Database, Job], Awaitable[None]]
) -> None:
    async with play(DONE, takeover_seconds=1.5) as fleet:
        number = await fleet.submit(limits=AN_HOUR)
        job = await claim(fleet, number)
        await fleet.rows("UPDATE remit.jobs SET started = started - interval '2 hours'")
        await leave(fleet.database, job)
        await fleet.work()
        late = await fleet.job(number)
        assert (late.outcome, late.error, late.attempt) == ("timeout", "the limit of 3600 seconds is used up", 2)
        assert fleet.requests == [], "its time was over before its first request"


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
async def test_a_job_continues_after_a_change_of_workers_in_time(
    play: Play, leave: Callable[[Database, Job], Awaitable[None]]
) -> None:
    async with play(DONE, takeover_seconds=1.5) as fleet:
        number = await fleet.submit(limits=AN_HOUR)
        job = await claim(fleet, number)
        await fleet.rows("UPDATE remit.jobs SET started = started - interval '30 minutes'")
        await leave(fleet.database, job)
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.attempt) == ("completed", 2)


async def test_time_in_the_queue_does_not_count(play: Play) -> None:
    async with play(DONE) as fleet:
        number = await fleet.submit(limits=AN_HOUR)
        await fleet.rows("UPDATE remit.jobs SET created = created - interval '2 hours'")
        await fleet.work()
        assert (await fleet.job(number)).outcome == "completed"


WRITTEN = ("jobs", "messages", "tool_calls", "receipts", "results", "events")


async def written(fleet: Fleet) -> list[Any]:
    """Return all stored rows of jobs."""
    return [await fleet.rows(f"SELECT t::text FROM remit.{table} AS t ORDER BY 1") for table in WRITTEN]


async def test_a_hung_attempt_cannot_write(play: Play) -> None:
    async with play(DONE) as fleet:
        job = await claim(fleet, await fleet.submit())
        transcript = Transcript(fleet.database, job.id, job.attempt)
        await transcript.begin_call("1:a", 1, "Read", {})
        held = await reserve(fleet.database, job.id, job.attempt, BudgetRequest(100, 1000, 64))
        assert isinstance(held, Reservation)
        await fleet.rows("UPDATE remit.jobs SET checkpoint = now() - interval '901 seconds'")
        [hung] = await fleet.database.rows("jobs.hung", seconds=900.0)
        assert hung["id"] == job.id
        before = await written(fleet)

        refused: list[Awaitable[object]] = [
            reserve(fleet.database, job.id, job.attempt, BudgetRequest(100, 1000, 64)),
            transcript.save_message(0, b"{}", UsageSums(turns=1), "too late"),
            transcript.begin_call("1:b", 1, "Read", {}),
            transcript.finish_call("1:a", "too late", None, is_failed=False),
            transcript.save_result(1, "too late", "accept", b"{}"),
            transcript.touch(),
            jobs.touch(fleet.database, job.id, job.attempt),
            jobs.finish(fleet.database, job.id, job.attempt, "completed", result="too late"),
        ]
        for write in refused:
            with pytest.raises(AttemptFenced):
                await write
        await EventWriter(fleet.database, job.id, job.attempt).emit("text", {"text": "too late"})
        await settle_broken(fleet.database, job.id, job.attempt, held, ActualUsage(1, 1, 0.0))
        assert await written(fleet) == before


async def test_a_job_that_waits_for_a_provider_slot_is_not_hung(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute passes each time the waiting job reads its clock."""
    minutes = itertools.count()
    monkeypatch.setattr("remit.dispatch.model_client.time", SimpleNamespace(monotonic=lambda: 60.0 * next(minutes)))
    async with play(WAITS, provider_limits={"anthropic": 1}, takeover_seconds=1.5) as fleet:
        numbers = [await fleet.submit(f"job {n}") for n in range(2)]
        async with fleet.working():
            await fleet.server.wait("answers")
            await until_async(lambda: _asking(fleet, 2), "both got as far as their first turn")
            [(holder,)] = await fleet.rows("SELECT job FROM remit.slots")
            [waiting] = set(numbers) - {holder}
            before = next(minutes)
            await fleet.rows("UPDATE remit.jobs SET checkpoint = now() - interval '800 seconds' WHERE id = %s", waiting)
            await until_async(lambda: _is_fresh(fleet, waiting), "it says that it does not hang")
            assert 60.0 * (next(minutes) - before) < fleet.settings.hung_seconds, "and records it in time"
            fleet.server.open("answers")
            done = [await fleet.reached(number, "finished") for number in numbers]
        assert [(job.outcome, job.attempt) for job in done] == [("completed", 1)] * 2


async def _asking(fleet: Fleet, most: int) -> bool:
    found = await fleet.rows("SELECT count(*) FROM remit.events WHERE kind = 'turn'")
    return bool(found[0][0] == most)


async def _is_fresh(fleet: Fleet, number: int) -> bool:
    found = await fleet.rows("SELECT checkpoint > now() - interval '400 seconds' FROM remit.jobs WHERE id = %s", number)
    return bool(found[0][0])


async def test_a_cost_limit_of_a_tree_without_a_price_is_refused_with_a_hint(play: Play) -> None:
    async with play(DONE) as fleet:
        with pytest.raises(UsageError, match=f"the price of '{UNPRICED}' is unknown.*limit its tokens"):
            await fleet.submit(model=UNPRICED, queueing=Queueing(tree_max_cost=1.0))
        assert await fleet.rows("SELECT count(*) FROM remit.jobs") == [(0,)]
        assert await fleet.submit(model=UNPRICED, queueing=Queueing(tree_max_tokens=100_000)), "as it says"


async def test_a_tree_with_a_cost_limit_refuses_jobs_without_a_price(play: Play) -> None:
    async with play(DONE) as fleet:
        top = await fleet.submit(queueing=Queueing(tree_max_cost=1.0))
        child = await fleet.submit(queueing=Queueing(parent=top))
        for inside in (Queueing(parent=top), Queueing(parent=child), Queueing(tree=top)):
            with pytest.raises(UsageError, match="limit its tokens"):
                await fleet.submit(model=UNPRICED, queueing=inside)
        free = await fleet.submit(queueing=Queueing(tree_max_tokens=100_000))
        assert await fleet.submit(model=UNPRICED, queueing=Queueing(parent=free)), "where money is not limited"


async def test_a_cost_limit_of_an_orchestrator_needs_a_price(play: Play) -> None:
    async with play(DONE) as fleet:
        asked = {"subagent_def": None, "runner": "orchestrator", "model": UNPRICED}
        with pytest.raises(UsageError, match="limit its tokens"):
            await fleet.submit(**asked, queueing=Queueing(tree_max_cost=1.0))
        with pytest.raises(UsageError, match="limit its tokens"):
            await fleet.submit(**asked, limits={"cost": 1.0})
        assert await fleet.rows("SELECT count(*) FROM remit.jobs") == [(0,)]


def test_the_tree_cost_option_is_refused_without_a_price(address: str, project: Path, tmp_path: Path) -> None:
    remit = Commands(address, project, tmp_path / "data", "http://127.0.0.1:9")
    ran = remit("run", "--detach", "generic", "go", "--model", UNPRICED, "--tree-max-cost", "1")
    assert (ran.code, ran.out) == (2, "")
    assert f"the price of '{UNPRICED}' is unknown" in " ".join(ran.err.split())
    assert "limit its tokens" in " ".join(ran.err.split())
