"""An orchestrator that waits for its subagents is not hung, and ends when it has lost its job."""

from __future__ import annotations

import asyncio

import pytest
from plan_building import agents, one, phase, plan, result, says
from support.running import Play, tools
from support.waiting import until_async
from test_orchestrator import EXPLORER, ME, answers, submitted

from remit.aio import cancel_and_wait
from remit.dispatch.submit import Resolving
from remit.orchestrate import delegating
from remit.orchestrate.orchestrator import build_orchestrator
from remit.registry.definition import ORCHESTRATOR

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DELEGATE = (
    "Delegate",
    {"phase": "explore", "delegations": [{"agent": "code-explorer", "task": "look", "kind": "generic"}]},
)
READS, ANSWERS = says(result("code-explorer"))
HELD = [READS, {**ANSWERS, "gate": "held"}]
AGED = "UPDATE remit.jobs SET checkpoint = now() - interval '1 day' WHERE id = %s"
YOUNG = "SELECT 1 FROM remit.jobs WHERE id = %s AND checkpoint > now() - interval '1 hour'"


async def test_it_does_not_count_as_hung_while_its_subagents_work(play: Play) -> None:
    async with play(conversations={ME: [tools(DELEGATE), {"text": "Done."}], EXPLORER: HELD}, hung_seconds=2) as fleet:
        number = await submitted(fleet)
        async with fleet.working(2, runners={ORCHESTRATOR: build_orchestrator()}):
            await fleet.server.wait("held")
            for _ in range(2):
                await fleet.rows(AGED, number)
                await until_async(lambda: fleet.rows(YOUNG, number), "it says again that it gets on")
            fleet.server.open("held")
            job = await fleet.reached(number, "finished")
    assert (job.outcome, job.result) == ("completed", "Done.")


async def test_it_does_not_count_as_hung_while_it_waits_for_results(play: Play) -> None:
    """The phase was interrupted by a failed call and its results are requested again."""
    turns = {ME: [tools(("Results", {"phase": "explore"})), {"text": "Done."}], EXPLORER: HELD}
    async with play(conversations=turns, hung_seconds=2) as fleet:
        number = await submitted(fleet)
        left = await delegating.begin_plan(
            fleet.database, plan(phase("explore", one("code-explorer", kind="generic"))), fleet.project
        )
        await fleet.rows("UPDATE remit.plans SET digest = %s WHERE id = %s", f"orchestrate-{number}-1:x", left)
        async with fleet.working(2, runners={ORCHESTRATOR: build_orchestrator()}):
            await fleet.server.wait("held")
            await fleet.rows(AGED, number)
            await until_async(lambda: fleet.rows(YOUNG, number), "it says that it gets on")
            fleet.server.open("held")
            assert (await fleet.reached(number, "finished")).outcome == "completed"
        assert "code-explorer: accepted" in answers(fleet)[0]


async def test_an_orchestrator_that_lost_its_job_releases_its_plan(play: Play) -> None:
    async with play(conversations={ME: [tools(DELEGATE), {"text": "Done."}], EXPLORER: HELD}, hung_seconds=2) as fleet:
        number = await submitted(fleet)
        async with fleet.working(2, runners={ORCHESTRATOR: build_orchestrator()}):
            await fleet.server.wait("held")
            await fleet.rows("UPDATE remit.jobs SET attempt = attempt + 1 WHERE id = %s", number)
            await until_async(
                lambda: fleet.rows("SELECT 1 FROM remit.plans WHERE driver IS NULL"), "nobody drives the plan any more"
            )
            fleet.server.open("held")
        assert len([one for one in fleet.requests if one.marker == ME]) == 1, "a lost conversation gets no message"


async def test_a_job_that_waited_long_is_requeued_with_its_priority(play: Play) -> None:
    async def spare() -> str:
        return "spare"

    async with play() as fleet:
        number = await delegating.begin_plan(fleet.database, plan(phase("look", one("scout"))), fleet.project)
        driving = asyncio.create_task(
            delegating.drive_plan(
                fleet.database, fleet.settings, number, spare=spare, resolving=Resolving(registry=agents("scout"))
            )
        )
        try:
            await until_async(lambda: fleet.rows("UPDATE remit.jobs SET priority = 7 RETURNING id"), "it is submitted")
            await until_async(
                lambda: fleet.rows("SELECT 1 FROM procrastinate_jobs WHERE queue_name = 'spare' AND priority = 7"),
                "its ticket is as urgent as it is itself",
            )
        finally:
            await cancel_and_wait(driving)
