"""One call: where it works, what it may use up, and how its blocking parts are stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from remit.dispatch.tools.confined import Confined
from remit.dispatch.tools.model import ToolLimits, ToolRefused

_T = TypeVar("_T")
#: How long a cancelled call waits for its thread: a write that has begun ends before the caller goes on.
_SETTLE = 2.0


class ToolCall:
    """What a tool gets to work with."""

    def __init__(self, ground: Confined, limits: ToolLimits, patterns: tuple[str, ...] = ()) -> None:
        self.ground = ground
        self.limits = limits
        #: The command patterns that were granted; empty: every command.
        self.patterns = patterns
        self._ends = time.monotonic() + limits.seconds
        self._stopped = threading.Event()

    @property
    def seconds_left(self) -> float:
        """How long the call may still take."""
        return max(self._ends - time.monotonic(), 0.0)

    def check(self) -> None:
        """Stop a long piece of work here if its time is up or its call was cancelled."""
        if self._stopped.is_set() or not self.seconds_left:
            raise self.too_long()

    def too_long(self) -> ToolRefused:
        """What is said of a call that took too long."""
        return ToolRefused(f"The call took longer than {self.limits.seconds:g} seconds and was stopped. Ask for less.")

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Run blocking work outside the event loop, within the time of the call."""
        running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            async with asyncio.timeout(self.seconds_left + 0.1):
                return await asyncio.shield(running)
        except TimeoutError:
            self._stopped.set()
            running.add_done_callback(_forget)
            raise self.too_long() from None
        except asyncio.CancelledError:
            self._stopped.set()
            running.add_done_callback(_forget)
            await asyncio.wait([running], timeout=_SETTLE)
            raise


def _forget(done: asyncio.Future[_T]) -> None:
    """Take note of an outcome that nobody waits for any more."""
    if not done.cancelled():
        done.exception()
