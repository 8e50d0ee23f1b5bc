"""Live updates: server-sent events from the notifications of the store, for pages and for the API."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from remit.errors import EnvironmentBroken, UsageError
from remit.operations.review_items import whole_number
from remit.store import jobs
from remit.store.database import Patience
from remit.store.events import Event, events_since
from remit.surfaces.server.site import Site, number_of, person_of, site_of

#: Streams of one server, and of one person.
MAX_STREAMS = 200
MAX_OWN_STREAMS = 20
#: A line without meaning is sent this often, so that proxies do not close the stream and a lost client is noticed.
KEEPALIVE_SECONDS = 15.0
_MAX_TOPICS = 20
_TOPIC = re.compile(r"(?:job|plan|item):\d{1,19}|jobs|plans|workers|review|ledger|sessions")
_TYPE = "text/event-stream"
#: The topic of the sessions that hooks record as files.
SESSIONS = "sessions"


class TooManyStreams(EnvironmentBroken):
    """All streams that a server or a person may have are open."""


class StreamCount:
    """The open streams, in total and of each person."""

    def __init__(self) -> None:
        self._open: Counter[int] = Counter()

    def add(self, token: int) -> None:
        """Count a stream. Raises TooManyStreams if it would be one too many."""
        if self._open.total() >= MAX_STREAMS or self._open[token] >= MAX_OWN_STREAMS:
            raise TooManyStreams("too many live streams are open; close other pages and load this one again")
        self._open[token] += 1

    def remove(self, token: int) -> None:
        """Uncount a stream that ended."""
        self._open[token] -= 1
        self._open += Counter()  # drop zeros


async def live(request: Request) -> Response:
    """Stream which topics of a page changed. The page then loads its live parts again."""
    topics = [topic for topic in request.query_params.get("topics", "").split(",") if topic]
    if not topics or len(topics) > _MAX_TOPICS or not all(map(_TOPIC.fullmatch, topics)):
        raise UsageError("topics must be a list such as job:12,jobs,workers")
    return _stream(request, _changes(site_of(request), topics))


async def job_events(request: Request) -> Response:
    """Stream the events of a job, stored and new, until the job ends. `Last-Event-ID` continues a stream."""
    site, number = site_of(request), number_of(request)
    await jobs.get(site.database, number)
    last = request.headers.get("last-event-id", request.query_params.get("after", "0"))
    return _stream(request, _events(site, number, whole_number(last) or 0))


def _stream(request: Request, content: AsyncIterator[bytes]) -> Response:
    count: StreamCount = request.app.state.streams
    token = person_of(request).token
    count.add(token)

    async def counted() -> AsyncIterator[bytes]:
        try:
            async for piece in content:
                yield piece
        finally:
            count.remove(token)

    return StreamingResponse(counted(), media_type=_TYPE, headers={"x-accel-buffering": "no"})


async def _changes(site: Site, topics: list[str]) -> AsyncIterator[bytes]:
    async with site.feed.subscribe(topics) as subscription:
        yield b"retry: 2000\nevent: open\ndata: \n\n"
        while not subscription.is_closed:
            data = ",".join(sorted(await subscription.next(KEEPALIVE_SECONDS)))
            yield f"event: changed\ndata: {data}\n\n".encode() if data else b": keepalive\n\n"


async def _events(site: Site, job: int, after: int) -> AsyncIterator[bytes]:
    database = site.database.within(Patience())  # a stream outlasts a restart of the database
    async with site.feed.subscribe([f"job:{job}"]) as subscription:
        yield b"retry: 2000\n\n"
        while not subscription.is_closed:
            # The state first: the events of a job that ended before are all stored.
            is_finished = (await jobs.get(database, job)).state == "finished"
            while events := await events_since(database, job, after):
                for event in events:
                    yield _encode(event)
                    after = event.id
            if is_finished:
                yield b"event: end\ndata: {}\n\n"
                return
            if not await subscription.next(KEEPALIVE_SECONDS) and not subscription.is_closed:
                yield b": keepalive\n\n"


def _encode(event: Event) -> bytes:
    data = msgspec.json.encode({"schema": "remit.event/1", **event._asdict()})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), data)
