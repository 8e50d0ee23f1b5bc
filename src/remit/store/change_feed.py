"""What changed in the store, for many listeners in one process: one connection listens, and each listener has topics.

Topics: `job:12` and `plan:3` (one of them), `jobs`, `plans`, `workers`, `review` and `ledger` (any), and what this
process notices itself. A listener that is slow gets one notice for many changes, so it never has a backlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from typing import Self

from remit.aio import cancel_and_wait
from remit.store.database import CONNECTION_ERRORS, Database

#: Channel of numbers -> the kind of thing that a number names. An event of a job is not a change of the list of jobs.
_NUMBERED = {"remit_events": "job", "remit_plans": "plan", "remit_review": "item"}
_CHANGED = "remit_changed"
_TOPIC = re.compile(r"(?:job|plan):\d{1,19}|[a-z]{1,20}")
_RECONNECT_SECONDS = 0.5


class Subscription:
    """The changes of some topics, as they are noticed."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self._changed: set[str] = set()
        self._noticed = asyncio.Event()
        self.is_closed = False

    def notice(self, topics: Iterable[str]) -> None:
        """Add changes; those of other topics are ignored."""
        if found := self.topics.intersection(topics):
            self._changed |= found
            self._noticed.set()

    def close(self) -> None:
        """End the iteration."""
        self.is_closed = True
        self._noticed.set()

    async def next(self, seconds: float) -> set[str]:
        """Return the topics that changed since the last call; after `seconds` without a change, an empty set."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._noticed.wait()
        self._noticed.clear()
        changed, self._changed = self._changed, set()
        return changed


class ChangeFeed:
    """Listens to the store once for all subscriptions of a process."""

    def __init__(self, database: Database) -> None:
        self._target = database.target
        self._subscriptions: set[Subscription] = set()
        self._listening: asyncio.Task[None] | None = None
        self.is_ready = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
        if self._listening is not None:
            await cancel_and_wait(self._listening)

    def __len__(self) -> int:
        return len(self._subscriptions)

    def notice(self, topic: str) -> None:
        """Tell the subscriptions of this process about a change that is not in the store."""
        self._notice((topic,))

    def close(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions:
            subscription.close()

    @contextlib.asynccontextmanager
    async def subscribe(self, topics: Iterable[str]) -> AsyncIterator[Subscription]:
        """Subscribe to topics until the block ends."""
        subscription = Subscription(topics)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._target.connect(autocommit=True) as connection:
                    for channel in (_CHANGED, *_NUMBERED):
                        await connection.execute(f"LISTEN {channel}".encode())
                    self.is_ready.set()
                    for subscription in self._subscriptions:  # a change may have been missed
                        subscription.notice(subscription.topics)
                    async for notice in connection.notifies():
                        self._notice(topics_of(notice.channel, notice.payload))
            except CONNECTION_ERRORS:
                await asyncio.sleep(_RECONNECT_SECONDS)

    def _notice(self, topics: Iterable[str]) -> None:
        for subscription in self._subscriptions:
            subscription.notice(topics)


def topics_of(channel: str, payload: str) -> tuple[str, ...]:
    """Return the topics of a notification. An event of a job is about this job only, a change of its state about all.

    Anybody who may use the database can send notifications, so an unknown payload is ignored.
    """
    if channel in _NUMBERED:
        payload = f"{_NUMBERED[channel]}:{payload}" if payload.isdecimal() else ""
        if payload.startswith("item:"):
            return (payload, "review")
    if not _TOPIC.fullmatch(payload):
        return ()
    kind, colon, _ = payload.partition(":")
    return (payload, f"{kind}s") if colon and channel != "remit_events" else (payload,)
