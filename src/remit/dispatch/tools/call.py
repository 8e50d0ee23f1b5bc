"""One tool call: its workspace, its limits, and how its blocking work is stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from remit.dispatch.tools.confined import Confined
from remit.dispatch.tools.model import ToolLimits, ToolRefused

_T = TypeVar("_T")
#: How long a cancelled call waits for its thread, so that a write that has started can finish.
_CANCEL_SECONDS = 2.0


class ToolCall:
    """The context of one call of a tool."""

    def __init__(self, confined: Confined, limits: ToolLimits, patterns: tuple[str, ...] = ()) -> None:
        self.confined = confined
        self.limits = limits
        #: The command patterns that were granted; empty if every command is allowed.
        self.patterns = patterns
        self._deadline = time.monotonic() + limits.seconds
        self._stopped = threading.Event()

    @property
    def seconds_left(self) -> float:
        """Return how long the call may still take."""
        return max(self._deadline - time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise ToolRefused if the time of the call is up or the call was cancelled. Long work calls this often."""
        if self._stopped.is_set() or not self.seconds_left:
            raise self.too_long()

    def too_long(self) -> ToolRefused:
        """Return the refusal of a call that took too long."""
        return ToolRefused(f"The call took longer than {self.limits.seconds:g} seconds and was stopped. Ask for less.")

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Run blocking work in a thread, within the time of the call."""
        running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            async with asyncio.timeout(self.seconds_left + 0.1):
                return await asyncio.shield(running)
        except TimeoutError:
            self._stopped.set()
            running.add_done_callback(_ignore_outcome)
            raise self.too_long() from None
        except asyncio.CancelledError:
            self._stopped.set()
            running.add_done_callback(_ignore_outcome)
            await asyncio.wait([running], timeout=_CANCEL_SECONDS)
            raise


def _ignore_outcome(done: asyncio.Future[_T]) -> None:
    """Retrieve the outcome of abandoned work, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()
