"""Ending a task that runs beside others."""

from __future__ import annotations

import asyncio
from typing import Any

#: A task that has not ended after so long is told again.
_AGAIN_SECONDS = 5.0


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they have ended; how they ended is not told.

    A cancel can get lost on its way, in a library that forgets it. Whoever waited for such a task would wait for ever,
    so it is cancelled again.
    """
    for task in tasks:
        task.cancel()
    left = set(tasks)
    while left:
        _, left = await asyncio.wait(left, timeout=_AGAIN_SECONDS)
        for task in left:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
