"""Run asyncio tasks next to each other and end them reliably."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
#: Seconds after which a task that is still running is cancelled again.
_CANCEL_AGAIN_SECONDS = 5.0


async def run_with_keepalive(
    work: Coroutine[Any, Any, T], keepalive: Callable[[], Awaitable[object]], seconds: float
) -> T:
    """Run `work`, await `keepalive()` every `seconds` meanwhile, and return the result of `work`.

    If `keepalive` raises, `work` is cancelled and the error is raised. Both tasks have ended when this returns.
    """
    working, beating = asyncio.create_task(work), asyncio.create_task(_repeat(keepalive, seconds))
    try:
        await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await beating
        return await working
    finally:
        await cancel_and_wait(working, beating)


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until all have ended. Their results and errors are ignored.

    Some libraries lose a cancellation, and waiting for such a task would never end. So a task that is still running
    is cancelled again.
    """
    for task in tasks:
        task.cancel()
    left = set(tasks)
    while left:
        _, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN_SECONDS)
        for task in left:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _repeat(keepalive: Callable[[], Awaitable[object]], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await keepalive()
