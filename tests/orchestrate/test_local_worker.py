"""A local worker in the waiting process: if it dies, the wait ends with its error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from plan_building import CHAT, agents, one, phase, plan
from support.commands import ANTHROPIC
from support.running import Play, tools
from support.waiting import PATIENCE
from test_orchestrator import ME, answers, delegate, submitted

from remit.dispatch.submit import Resolving
from remit.dispatch.worker import Worker
from remit.errors import EnvironmentBroken
from remit.operations.job_fields import Run
from remit.orchestrate import delegating
from remit.orchestrate.local_worker import LocalWorker, ensure_worker
from remit.orchestrate.orchestrator import build_orchestrator
from remit.registry.definition import ORCHESTRATOR
from remit.surfaces.cli import waiting_runs
from remit.surfaces.cli.plan_commands import drive_with_progress

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DIED = r"the worker of this command failed \(RuntimeError: the ground gave way\)"


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make workers that are not listed die at their start."""
    run = Worker.run

    async def die(self: Worker, **options: Any) -> None:
        if not self._is_listed:
            raise RuntimeError("the ground gave way")
        await run(self, **options)

    monkeypatch.setattr(Worker, "run", die)


@pytest.mark.usefixtures("dying")
async def test_waiting_for_a_job_raises_the_error_of_a_dead_worker(play: Play) -> None:
    async with play() as fleet, asyncio.timeout(PATIENCE):
        with pytest.raises(EnvironmentBroken, match=DIED):
            async with ensure_worker(fleet.database, fleet.settings):
                await asyncio.Event().wait()
        me = asyncio.current_task()
        assert me is not None
        assert me.cancelling() == 0


@pytest.mark.usefixtures("dying")
async def test_a_plan_whose_worker_died_can_be_resumed(play: Play) -> None:
    spec = plan(phase("look", one("scout")))
    async with play() as fleet, asyncio.timeout(PATIENCE):
        number = await delegating.begin_plan(fleet.database, spec, fleet.project)
        with pytest.raises(EnvironmentBroken, match=DIED):
            async with ensure_worker(fleet.database, fleet.settings) as queue:
                await delegating.drive_plan(
                    fleet.database, fleet.settings, number, queue=queue, resolving=Resolving(registry=agents("scout"))
                )
        assert await fleet.rows("SELECT state, driver FROM remit.plans") == [("running", None)]


@pytest.mark.usefixtures("dying")
async def test_an_orchestrator_whose_spare_worker_died_gets_an_error(play: Play) -> None:
    async with play(conversations={ME: [tools(delegate("code-explorer")), CHAT]}) as fleet:
        number = await submitted(fleet)
        async with fleet.working(1, runners={ORCHESTRATOR: build_orchestrator()}):
            job = await fleet.reached(number, "finished")
        [told] = answers(fleet)
    assert job.outcome == "completed"
    assert "the ground gave way" in told


@pytest.mark.usefixtures("dying")
async def test_remit_orchestrate_ends_with_the_error_of_its_worker(play: Play) -> None:
    async with play() as fleet, asyncio.timeout(PATIENCE):
        wanted = Run(
            words=["orchestrator", "look after the house"], repo=str(fleet.project), model=ANTHROPIC, max_turns=3
        )
        with pytest.raises(EnvironmentBroken, match=DIED):
            await waiting_runs._orchestrate(fleet.database, fleet.settings, wanted)


@pytest.mark.usefixtures("dying")
async def test_remit_plan_ends_with_the_error_of_its_worker_and_releases_the_plan(play: Play) -> None:
    async with play() as fleet, asyncio.timeout(PATIENCE):
        number = await delegating.begin_plan(fleet.database, plan(phase("look", one("scout"))), fleet.project)
        with pytest.raises(EnvironmentBroken, match=DIED):
            await drive_with_progress(fleet.database, fleet.settings, number, Resolving(registry=agents("scout")))
        assert await fleet.rows("SELECT driver FROM remit.plans") == [(None,)]


async def test_a_worker_that_fails_while_stopping_does_not_hide_the_result(play: Play, monkeypatch: Any) -> None:
    async def fail_late(self: Worker) -> None:
        await self.stopped(PATIENCE)
        raise RuntimeError("too late to matter")

    monkeypatch.setattr(Worker, "run", fail_late)
    async with play() as fleet, asyncio.timeout(PATIENCE), ensure_worker(fleet.database, fleet.settings) as queue:
        assert queue is not None


async def test_a_cancelled_caller_stays_cancelled(play: Play) -> None:
    async def fail() -> None:
        raise RuntimeError("the ground gave way")

    async with play() as fleet:

        async def waiting() -> None:
            worker = Worker(fleet.database, fleet.settings, is_listed=False)
            async with LocalWorker(worker) as local:
                local.start(fail())
                me = asyncio.current_task()
                assert me is not None
                asyncio.get_running_loop().call_soon(me.cancel)
                await asyncio.Event().wait()

        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(waiting())
