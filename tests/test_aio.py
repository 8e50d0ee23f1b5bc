"""Tasks next to each other: work with a keep-alive."""

from __future__ import annotations

import asyncio

import pytest

from remit.aio import run_with_keepalive

pytestmark = pytest.mark.anyio


async def test_work_returns_its_result_and_is_kept_alive_meanwhile() -> None:
    beats = 0
    enough = asyncio.Event()

    async def keepalive() -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            enough.set()

    async def work() -> str:
        await enough.wait()
        return "done"

    assert await run_with_keepalive(work(), keepalive, 0.001) == "done"
    before = beats
    await asyncio.sleep(0)
    assert (before, beats) == (3, 3)


async def test_a_failed_keepalive_cancels_the_work_and_is_raised() -> None:
    ended: list[str] = []

    async def keepalive() -> None:
        raise ValueError("lost")

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    with pytest.raises(ValueError, match="lost"):
        await run_with_keepalive(work(), keepalive, 0.001)
    assert ended == ["work"]


async def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise KeyError("missing")

    async def keepalive() -> None:
        raise AssertionError("not reached")

    with pytest.raises(KeyError, match="missing"):
        await run_with_keepalive(work(), keepalive, 60)


async def test_a_cancellation_ends_the_work_and_the_keepalive() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def keepalive() -> None:
        await asyncio.Event().wait()

    running = asyncio.create_task(run_with_keepalive(work(), keepalive, 0.001))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()
