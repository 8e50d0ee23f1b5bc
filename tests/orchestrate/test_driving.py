"""Who drives a plan, and what a driver leaves behind that dies at the worst moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from plan_building import CUT, begun, one, phase, plan, result, says, states
from support.running import Play, until

from remit.errors import UsageError
from remit.orchestrate import stepping
from remit.store import plans
from remit.store.listening import Ear

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
LOOK = plan(phase("look", one("scout"), one("helper")))
TURNS = {"task of scout": [CUT], "task of helper": says(result("helper"))}
SILENT = "UPDATE remit.plans SET heartbeat = now() - interval '1 hour'"


async def test_a_job_that_ended_before_it_was_written_down_is_not_repeated(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver dies between submitting a job and saying so, and the job comes to nothing meanwhile."""

    async def dies(database: Any, delegation: Any, *_: Any) -> None:
        over = "SELECT 1 FROM remit.jobs WHERE id = %s AND state = 'finished'"
        await until(lambda: fleet.rows(over, delegation.job), "the job is over")
        raise UsageError("killed")

    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        with monkeypatch.context() as patched:
            patched.setattr(stepping.plans, "save", dies)
            with pytest.raises(UsageError, match="killed"):
                await run.drive()
        found = await run.drive()
        assert states(found) == [("scout", "failed"), ("helper", "accepted")]
        assert await fleet.rows("SELECT agent, outcome FROM remit.jobs ORDER BY id") == [
            ("scout", "truncated"),
            ("helper", "completed"),
        ]


async def test_who_lost_a_plan_while_it_was_frozen_does_not_get_it_back_even_if_the_next_one_is_slow(
    play: Play,
) -> None:
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        first, second = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
        assert await plans.drive(fleet.database, run.number, first, 1.0)
        assert await plans.beat(fleet.database, run.number, first)
        await fleet.rows(SILENT)
        assert await plans.drive(fleet.database, run.number, second, 1.0)
        await fleet.rows(SILENT)
        assert not await plans.beat(fleet.database, run.number, first)
        assert await plans.beat(fleet.database, run.number, second)


async def test_a_driver_ends_when_it_learns_that_another_drives(play: Play) -> None:
    turns = {"task of scout": [{"text": "x", "gate": "held"}], "task of helper": says(result("helper"))}
    async with play(conversations=turns, takeover_seconds=1.0) as fleet, begun(fleet, LOOK) as run:
        driving = asyncio.create_task(run.drive())
        await fleet.server.wait("held")
        await fleet.rows("UPDATE remit.plans SET driver = '22222222-2222-4222-8222-222222222222'")
        with pytest.raises(UsageError, match=f"plan {run.number} is driven by another process now"):
            await driving
        fleet.server.open("held")


async def test_the_end_of_a_job_is_heard_of_at_once_and_only_by_those_who_expect_it(play: Play) -> None:
    async with play(CUT, CUT) as fleet, Ear(fleet.database) as ear, Ear(fleet.database) as other:
        for each in (ear, other):
            await each.news(20.0)  # it listens
        job = await fleet.submit()
        ear.expect([job])
        other.expect([job + 1])
        waiting = asyncio.create_task(ear.news(20.0))
        deaf = asyncio.create_task(other.news(20.0))
        await fleet.work()
        async with asyncio.timeout(10):
            await waiting
        assert not deaf.done()
        deaf.cancel()


async def test_an_end_that_nobody_told_of_is_found_all_the_same(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ear, "_listen", lambda _: asyncio.sleep(0))
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        assert states(await run.drive()) == [("scout", "failed"), ("helper", "accepted")]
