"""Live updates: server-sent events from the notifications of the store, for pages and for the API."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from remit.clients.hooks.recorded_project import current_project
from remit.errors import EnvironmentBroken, UsageError
from remit.gate.record_store import store_path
from remit.operations.jobs import whole_number
from remit.store import jobs
from remit.store.database import Patience
from remit.store.events import ChangeFeed, Event, events_since
from remit.surfaces.server.site import Site, number_of, site_of

#: Open streams of one server.
MAX_STREAMS = 50
#: A line without meaning is sent this often, so that proxies do not close the stream and a lost client is noticed.
KEEPALIVE_SECONDS = 15.0
_MAX_TOPICS = 20
_TOPIC = re.compile(r"(?:job|plan):\d{1,19}|jobs|plans|workers|sessions")
_TYPE = "text/event-stream"
#: The topic of the sessions that hooks record, and how often their files are looked at.
_SESSIONS = "sessions"
_LOOK_SECONDS = 1.0


class TooManyStreams(EnvironmentBroken):
    """All streams that a server may have are open."""


class StreamCount:
    """The number of open streams."""

    def __init__(self) -> None:
        self._open = 0

    def add(self) -> None:
        """Count a stream. Raises TooManyStreams if it would be one too many."""
        if self._open >= MAX_STREAMS:
            raise TooManyStreams("too many live streams are open; close other pages and load this one again")
        self._open += 1

    def remove(self) -> None:
        """Uncount a stream that ended."""
        self._open -= 1


async def watch_sessions(folder: Path, feed: ChangeFeed) -> None:
    """Tell open pages, until cancelled, when the stored sessions of the project change."""
    folders = current_project(str(folder)).folders
    seen = await asyncio.to_thread(_newest, folders)
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if (newest := await asyncio.to_thread(_newest, folders)) != seen:
            seen = newest
            feed.notice(_SESSIONS)


def _newest(folders: list[str]) -> int:
    """Return the newest time of the files in which the sessions of some folders are stored."""
    newest = 0
    for folder, ending in product(folders, ("", "-wal")):
        with suppress(OSError):  # nothing is stored yet, or all of the log is in the file
            newest = max(newest, Path(store_path(folder) + ending).stat().st_mtime_ns)
    return newest


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
    count.add()

    async def counted() -> AsyncIterator[bytes]:
        try:
            async for piece in content:
                yield piece
        finally:
            count.remove()

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
