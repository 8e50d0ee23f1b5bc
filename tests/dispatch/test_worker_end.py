"""A worker that ends in any way returns its jobs and leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest
from support.running import Play

from remit.dispatch.worker import Worker

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio


async def test_a_cancelled_worker_returns_its_jobs_to_the_queue(play: Play) -> None:
    async with play({"text": "never said", "gate": "held"}, shutdown_seconds=0.0) as fleet:
        number = await fleet.submit()
        before = asyncio.all_tasks()
        working = asyncio.create_task(Worker(fleet.database, fleet.settings).run())
        await fleet.server.wait("held")
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        job = await fleet.job(number)
        left = {task.get_name() for task in asyncio.all_tasks() - before if "process job" in task.get_name()}
        assert (job.state, job.deaths, left) == ("queued", 0, set())
        assert await fleet.rows("SELECT 1 FROM remit.workers") == []


async def test_a_worker_that_cannot_start_leaves_no_row(play: Play) -> None:
    def fail() -> None:
        raise OSError("nowhere to say that it began")

    async with play() as fleet:
        before = asyncio.all_tasks()
        with pytest.raises(OSError, match="nowhere"):
            await Worker(fleet.database, fleet.settings, on_start=fail).run()
        assert [task for task in asyncio.all_tasks() - before if "_watch" in repr(task)] == []
        assert await fleet.rows("SELECT 1 FROM remit.workers") == []
