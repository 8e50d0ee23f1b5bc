"""Events of jobs, stored in order and delivered at least once; and notices of what changed in the store.

Topics of changes: `job:12` and `plan:3` (one), `jobs`, `plans` and `workers` (any), and what this process
notices itself. A listener that is slow gets one notice for many changes, so it never has a backlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import psycopg
from psycopg.types.json import Jsonb

from remit.aio import cancel_and_wait
from remit.store.database import CONNECTION_ERRORS, ConnectionTarget, Database

_BATCH = 500
#: A notification can be lost with its connection, so listeners also poll at this interval.
_POLL_SECONDS = 2.0
#: How long a skipped event number may still be committed, and how many numbers of one gap are tracked.
_LATE_SECONDS = 30.0
_MAX_LATE = 500


class Event(NamedTuple):
    """An event of a job."""

    id: int
    job: int
    at: datetime
    kind: str
    data: dict[str, Any]


async def add_event(database: Database, job: int, kind: str, data: dict[str, Any], attempt: int | None = None) -> None:
    """Store an event. An event of an attempt that has been replaced is dropped."""
    await database.rows("events.add", job=job, kind=kind, data=Jsonb(data), attempt=attempt)


async def events_since(database: Database, job: int | None, after: int) -> list[Event]:
    """Return the next batch of events after an event number."""
    events = await database.rows("events.since", job=job, after=after, limit=_BATCH)
    return [Event(**row) for row in events]


async def unfinished_text(database: Database, job: int) -> str:
    """Return the streamed text of an answer that the model did not finish."""
    row = await database.row("events.unfinished_text", job=job)
    return str(row["text"]) if row else ""


async def follow(database: Database, job: int | None, after: int = 0) -> AsyncIterator[Event]:
    """Yield events as they are stored, starting after an event number. Reconnects as needed and never ends.

    The events of one job come in order, each once. With `job=None` (all jobs), an event may follow one with a higher
    number, because numbers are assigned before transactions commit.
    """
    late = _LateNumbers() if job is None else None
    while True:
        try:
            async with await database.target.connect(autocommit=True) as listener:
                await listener.execute("LISTEN remit_events")
                while True:
                    while batch := await _next(database, job, after, late):
                        for event in batch:
                            yield event
                            after = max(after, event.id)
                    async for _ in listener.notifies(timeout=_POLL_SECONDS, stop_after=1):
                        break
        except CONNECTION_ERRORS:
            await asyncio.sleep(_RECONNECT_SECONDS)


async def _next(database: Database, job: int | None, after: int, late: _LateNumbers | None) -> list[Event]:
    events = await events_since(database, job, after)
    if late is None:
        return events
    late.add_gaps(after, [event.id for event in events])
    # Queried after the others, so that a job's later event is never delivered before its earlier one.
    missed = await database.rows("events.of_numbers", numbers=late.numbers) if late.numbers else []
    for row in missed:
        late.remove(row["id"])
    return sorted([*events, *(Event(**row) for row in missed)], key=lambda event: event.id)


class _LateNumbers:
    """Skipped event numbers whose transactions may commit later, or never."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    @property
    def numbers(self) -> list[int]:
        """Return the numbers that may still be committed."""
        oldest = time.monotonic() - _LATE_SECONDS
        self._since = {number: since for number, since in self._since.items() if since > oldest}
        return list(self._since)

    def add_gaps(self, after: int, numbers: list[int]) -> None:
        """Track the gaps between event numbers; of a wide gap, such as one left by pruned jobs, only its end."""
        for before, number in pairwise([after, *numbers]):
            gap = range(max(before + 1, number - _MAX_LATE), number)
            self._since.update(dict.fromkeys(gap, time.monotonic()))

    def remove(self, number: int) -> None:
        """Stop tracking a number whose event has been delivered."""
        self._since.pop(number, None)


#: Channel of numbers -> the kind of thing that a number names. An event of a job is not a change of the list of jobs.
_NUMBERED = {"remit_events": "job", "remit_plans": "plan"}
_CHANGED = "remit_changed"
_TOPIC = re.compile(r"(?:job|plan):\d{1,19}|[a-z]{1,20}")


class Subscription:
    """The changes of some topics, as they are noticed."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self._changed: set[str] = set()
        self._noticed = asyncio.Event()
        self.is_closed = False

    def notice(self, topics: Iterable[str]) -> None:
        """Add changes; those of other topics are ignored."""
        if changed := self.topics.intersection(topics):
            self._changed |= changed
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


class _Listener:
    """Listens to channels of the database, on one connection that is opened again when it is lost."""

    def __init__(self, target: ConnectionTarget, channels: Iterable[str]) -> None:
        self._target = target
        self._channels = tuple(channels)
        self._listening: asyncio.Task[None] | None = None
        self.is_listening = False

    def start(self) -> None:
        """Begin to listen."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        """Close the connection."""
        listening, self._listening = self._listening, None
        if listening is not None:
            await cancel_and_wait(listening)

    def opened(self) -> None:
        """Note that the connection is open. A notification may have been missed before."""

    def received(self, notice: psycopg.Notify) -> None:
        """Handle a notification."""

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._target.connect(autocommit=True) as connection:
                    for channel in self._channels:
                        await connection.execute(f"LISTEN {channel}".encode())
                    self.is_listening = True
                    self.opened()
                    async for notice in connection.notifies():
                        self.received(notice)
            except CONNECTION_ERRORS:
                self.is_listening = False
                await asyncio.sleep(_RECONNECT_SECONDS)
            finally:
                self.is_listening = False


class ChangeFeed(_Listener):
    """Listens to the store once for all subscriptions of a process."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.target, (_CHANGED, *_NUMBERED))
        self._subscriptions: set[Subscription] = set()
        self.is_ready = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
        await self.stop()

    def __len__(self) -> int:
        return len(self._subscriptions)

    def notice(self, *topics: str) -> None:
        """Tell the subscriptions of this process about changes."""
        for subscription in self._subscriptions:
            subscription.notice(topics)

    def opened(self) -> None:
        """Tell all subscriptions: a change may have been missed."""
        self.is_ready.set()
        for subscription in self._subscriptions:
            subscription.notice(subscription.topics)

    def received(self, notice: psycopg.Notify) -> None:
        """Tell the subscriptions about a change in the store."""
        self.notice(*topics_of(notice.channel, notice.payload))

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


def topics_of(channel: str, payload: str) -> tuple[str, ...]:
    """Return the topics of a notification. An event of a job is about this job only, a change of its state about all.

    Anybody who may use the database can send notifications, so an unknown payload is ignored.
    """
    if channel in _NUMBERED:
        payload = f"{_NUMBERED[channel]}:{payload}" if payload.isdecimal() else ""
    if not _TOPIC.fullmatch(payload):
        return ()
    kind, colon, _ = payload.partition(":")
    return (payload, f"{kind}s") if colon and channel != "remit_events" else (payload,)


_RECONNECT_SECONDS = 0.5


class JobEndListener:
    """Listens for the ends of some jobs. A notification can be lost with the connection, so poll from time to time."""

    def __init__(self, database: Database) -> None:
        self._feed = _feeds.setdefault(database, _JobEnds(database.target))
        self._expected: frozenset[int] = frozenset()
        self._ended = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._feed.add(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.expect(())
        await self._feed.remove(self)

    @property
    def is_listening(self) -> bool:
        """Return whether ends are noticed at once; if not, poll more often."""
        return self._feed.is_listening

    def expect(self, jobs: Collection[int]) -> None:
        """Set the jobs to wait for. Call this before you query their states, so that no end is missed."""
        before, self._expected = self._expected, frozenset(jobs)
        self._feed.expect(self, added=self._expected - before, removed=before - self._expected)
        self._ended.clear()

    def notice(self) -> None:
        """End the wait."""
        self._ended.set()

    async def wait(self, seconds: float) -> None:
        """Wait until an expected job ends, for at most `seconds`."""
        # Not `wait_for`: before Python 3.12 it loses a cancellation that arrives together with the result.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()


class _JobEnds(_Listener):
    """The connection of all listeners on one database. It is open as long as there is a listener."""

    def __init__(self, target: ConnectionTarget) -> None:
        super().__init__(target, ["remit_ended"])
        self._listeners: set[JobEndListener] = set()
        #: Job -> who waits for its end, so that a notification costs the same with any number of listeners.
        self._waiting: defaultdict[int, set[JobEndListener]] = defaultdict(set)

    def add(self, listener: JobEndListener) -> None:
        self._listeners.add(listener)
        self.start()
        if self.is_listening:
            listener.notice()

    async def remove(self, listener: JobEndListener) -> None:
        self._listeners.discard(listener)
        if not self._listeners:
            await self.stop()

    def expect(self, listener: JobEndListener, *, added: Collection[int], removed: Collection[int]) -> None:
        for job in added:
            self._waiting[job].add(listener)
        for job in removed:
            self._waiting[job].discard(listener)
            if not self._waiting[job]:
                del self._waiting[job]

    def opened(self) -> None:
        """Wake all listeners: jobs that ended before sent no notification here."""
        for listener in self._listeners:
            listener.notice()

    def received(self, notice: psycopg.Notify) -> None:
        """Wake the listeners that wait for a job."""
        job = int(notice.payload) if notice.payload.isdecimal() and len(notice.payload) < 20 else -1
        for listener in self._waiting.get(job, ()):
            listener.notice()


_feeds: WeakKeyDictionary[Database, _JobEnds] = WeakKeyDictionary()
