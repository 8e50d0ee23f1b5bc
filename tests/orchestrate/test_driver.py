"""Ownership of a plan, and the state after a driver died."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
import pytest
from plan_building import CUT, begun, one, phase, plan, result, says, states
from support.running import Fleet, Play
from support.waiting import until_async

from remit.errors import UsageError
from remit.store import plans
from remit.store.events import JobEndListener
from remit.store.plans import Escalation, PlanLease

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
LOOK = plan(phase("look", one("scout"), one("helper")))
TURNS = {"task of scout": [CUT], "task of helper": says(result("helper"))}
ASKED: dict[str, Any] = dict.fromkeys(Escalation.__struct_fields__) | {"id": 1, "phase": 0, "answer": "skip"}
SILENT = "UPDATE remit.plans SET heartbeat = now() - interval '1 hour'"


def holds(fleet: Fleet, plan: int) -> list[PlanLease]:
    """Return two leases for one plan."""
    return [PlanLease(fleet.database, plan, f"{name * 8}-1111-4111-8111-111111111111") for name in "12"]


@pytest.mark.parametrize("tokens", [None, 1_000_000], ids=["free", "with a budget"])
async def test_a_job_that_ended_before_it_was_recorded_is_not_repeated(
    tokens: int | None, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver dies between submitting a job and recording it, and the job fails meanwhile."""

    async def dies(_: PlanLease, delegation: Any, *__: Any) -> None:
        if tokens:  # even earlier: the job with the budget is not recorded either
            await fleet.rows("UPDATE remit.plans SET top = NULL")
        over = "SELECT 1 FROM remit.jobs WHERE id = %s AND state = 'finished'"
        await until_async(lambda: fleet.rows(over, delegation.job), "the job is over")
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


async def test_a_frozen_driver_does_not_get_its_plan_back_from_a_slow_successor(
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


async def test_a_driver_that_lost_its_plan_cannot_write(play: Play) -> None:
    """It may have been frozen between reading and writing, so its data is outdated."""
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


async def test_a_driver_ends_when_another_has_taken_over(play: Play) -> None:
    turns = {"task of scout": [{"text": "x", "gate": "held"}], "task of helper": says(result("helper"))}
    async with play(conversations=turns, takeover_seconds=1.0) as fleet, begun(fleet, LOOK) as run:
        driving = asyncio.create_task(run.drive())
        await fleet.server.wait("held")
        await fleet.rows("UPDATE remit.plans SET driver = '22222222-2222-4222-8222-222222222222'")
        with pytest.raises(UsageError, match=f"plan {run.number} is now driven by another process"):
            await driving
        fleet.server.open("held")


async def test_the_end_of_a_job_notifies_only_its_listeners(play: Play) -> None:
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


async def test_all_listeners_of_a_process_share_one_connection(play: Play) -> None:
    listening = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN remit_ended%%'"
    )
    async with play(CUT) as fleet, contextlib.AsyncExitStack() as stack:
        listeners = [await stack.enter_async_context(JobEndListener(fleet.database)) for _ in range(20)]
        for each in listeners:
            await each.wait(20.0)
            assert each.is_listening
        assert await fleet.rows(listening) == [(1,)]
        await stack.aclose()
        await until_async(lambda: has_rows(fleet, listening, [(0,)]), "the connection is closed")


async def has_rows(fleet: Fleet, statement: str, expected: list[tuple[int]]) -> bool:
    return await fleet.rows(statement) == expected


async def test_listeners_are_notified_after_the_connection_was_lost(play: Play) -> None:
    async with play(CUT) as fleet, JobEndListener(fleet.database) as listener:
        await listener.wait(20.0)
        listener.expect([1])
        await fleet.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN remit_ended%%'"
        )
        async with asyncio.timeout(10):
            await listener.wait(20.0)


async def test_an_end_without_a_notification_is_found_by_polling(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.store.events._JobEnds._listen", lambda _: asyncio.sleep(0))
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        assert states(await run.drive()) == [("scout", "failed"), ("helper", "accepted")]
