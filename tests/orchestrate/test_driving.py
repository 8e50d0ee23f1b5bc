"""Who drives a plan, and what a driver leaves behind that dies at the worst moment."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from plan_building import CUT, begun, one, phase, plan, result, says, states
from support.running import Fleet, Play, until

from remit.errors import UsageError
from remit.store import plans
from remit.store.events import JobEndListener
from remit.store.plan_lease import PlanLease
from remit.store.plans import Escalation

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
LOOK = plan(phase("look", one("scout"), one("helper")))
TURNS = {"task of scout": [CUT], "task of helper": says(result("helper"))}
ASKED: dict[str, Any] = dict.fromkeys(Escalation.__struct_fields__) | {"id": 1, "phase": 0, "answer": "skip"}
SILENT = "UPDATE remit.plans SET heartbeat = now() - interval '1 hour'"


def holds(fleet: Fleet, plan: int) -> list[PlanLease]:
    """Two who would drive a plan."""
    return [PlanLease(fleet.database, plan, f"{name * 8}-1111-4111-8111-111111111111") for name in "12"]


@pytest.mark.parametrize("tokens", [None, 1_000_000], ids=["free", "with a budget"])
async def test_a_job_that_ended_before_it_was_written_down_is_not_repeated(
    tokens: int | None, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver dies between submitting a job and saying so, and the job comes to nothing meanwhile."""

    async def dies(_: PlanLease, delegation: Any, *__: Any) -> None:
        if tokens:  # even earlier: where the budget is kept is not written down either
            await fleet.rows("UPDATE remit.plans SET top = NULL")
        over = "SELECT 1 FROM remit.jobs WHERE id = %s AND state = 'finished'"
        await until(lambda: fleet.rows(over, delegation.job), "the job is over")
        raise UsageError("killed")

    look = msgspec.structs.replace(LOOK, max_tokens=tokens)
    async with play(conversations=TURNS) as fleet, begun(fleet, look) as run:
        with monkeypatch.context() as patched:
            patched.setattr(PlanLease, "save", dies)
            with pytest.raises(UsageError, match="killed"):
                await run.drive()
        found = await run.drive()
        assert states(found) == [("scout", "failed"), ("helper", "accepted")]
        assert await fleet.rows("SELECT agent, outcome FROM remit.jobs ORDER BY id") == [
            ("scout", "truncated"),
            ("helper", "completed"),
        ]
        budgets = await fleet.rows("SELECT tree_max_tokens, root IS NULL FROM remit.jobs ORDER BY id")
        assert budgets == ([(tokens, True), (None, False)] if tokens else [(None, True)] * 2), "one budget for both"


async def test_who_lost_a_plan_while_it_was_frozen_does_not_get_it_back_even_if_the_next_one_is_slow(
    play: Play,
) -> None:
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        first, second = holds(fleet, run.number)
        assert await first.acquire(1.0)
        await first.renew()
        await fleet.rows(SILENT)
        assert await second.acquire(1.0)
        await fleet.rows(SILENT)
        with pytest.raises(UsageError, match=f"plan {run.number} is now driven by another process"):
            await first.renew()
        await second.renew()


async def test_who_lost_a_plan_can_write_nothing_more_of_it(play: Play) -> None:
    """It may have been frozen between looking and writing: what it saw is long past."""
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        first, second = holds(fleet, run.number)
        assert await first.acquire(1.0)
        [seen, _] = await plans.delegations_of(fleet.database, run.number)
        [phase] = await plans.phases_of(fleet.database, run.number)
        await fleet.rows(SILENT)
        await second.acquire(1.0)
        mine = msgspec.structs.replace(seen, state="accepted", result="What the second brought.")
        await second.save(mine, "accept", "it was accepted")
        asked = Escalation(**ASKED | {"plan": run.number})
        seen.state = "running"
        phase.state = "finished"
        for write in (
            first.save(seen, "submit", "it is dispatched"),
            first.save_phase(phase),
            first.set_state("cancelled"),
            first.apply(asked, [seen], phase, "skip", "not needed"),
        ):
            with pytest.raises(UsageError, match=f"plan {run.number} is now driven by another process"):
                await write
        found = await run.result()
    assert found.delegations[0] == mine
    assert (found.plan.state, found.phases[0].state) == ("running", "waiting")


async def test_a_driver_ends_when_it_learns_that_another_drives(play: Play) -> None:
    turns = {"task of scout": [{"text": "x", "gate": "held"}], "task of helper": says(result("helper"))}
    async with play(conversations=turns, takeover_seconds=1.0) as fleet, begun(fleet, LOOK) as run:
        driving = asyncio.create_task(run.drive())
        await fleet.server.wait("held")
        await fleet.rows("UPDATE remit.plans SET driver = '22222222-2222-4222-8222-222222222222'")
        with pytest.raises(UsageError, match=f"plan {run.number} is now driven by another process"):
            await driving
        fleet.server.open("held")


async def test_the_end_of_a_job_is_heard_of_at_once_and_only_by_those_who_expect_it(play: Play) -> None:
    async with (
        play(CUT, CUT) as fleet,
        JobEndListener(fleet.database) as listener,
        JobEndListener(fleet.database) as other,
    ):
        for each in (listener, other):
            await each.wait(20.0)  # it listens
        job = await fleet.submit()
        listener.expect([job])
        other.expect([job + 1])
        waiting = asyncio.create_task(listener.wait(20.0))
        deaf = asyncio.create_task(other.wait(20.0))
        await fleet.work()
        async with asyncio.timeout(10):
            await waiting
        assert not deaf.done()
        deaf.cancel()


async def test_an_end_that_nobody_told_of_is_found_all_the_same(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobEndListener, "_listen", lambda _: asyncio.sleep(0))
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        assert states(await run.drive()) == [("scout", "failed"), ("helper", "accepted")]
