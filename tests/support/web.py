"""The server of `remit serve` in a thread, on its own database, with rows whose every text is hostile."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx2 as httpx
import psycopg
from psycopg.types.json import Jsonb
from support.waiting import PATIENCE

from remit.aio import cancel_and_wait
from remit.dispatch.worker_settings import load_settings
from remit.store.database import Database, open_database
from remit.store.events import ChangeFeed
from remit.surfaces.server.running import ServeOptions, address_of, bind, build_server
from remit.surfaces.server.sign_in import SignIns
from remit.surfaces.server.site import Site
from remit.surfaces.server.streams import watch_sessions

T = TypeVar("T")
TOKEN = "the token of programs"
#: A text that would run a script, close an attribute or a comment, or change the order of what is shown.
HOSTILE = '<img src=x onerror="window.hacked=1">\'"`--></textarea></script><script>window.hacked=1</script>\u202e'


class RunningSite:
    """A server that runs until the block is left."""

    def __init__(self, address: str, folder: Path) -> None:
        self.database_address = address
        self.folder = folder
        self.url = ""
        self.sign_ins = SignIns(TOKEN)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._database: Database | None = None
        self._stop: Callable[[], None] = lambda: None
        self._clients = contextlib.ExitStack()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="server")

    @contextlib.contextmanager
    def running(self) -> Iterator[RunningSite]:
        self._thread.start()
        assert self._started.wait(30)
        try:
            yield self
        finally:
            self._clients.close()
            assert self._loop
            self._loop.call_soon_threadsafe(self._stop)
            self._thread.join(20)
            assert not self._thread.is_alive()

    async def _run(self) -> None:
        settings = load_settings(start=self.folder)._replace(
            database=self.database_address, state=self.folder / "data", texts=self.folder / "data"
        )
        listener = bind("127.0.0.1", 0)
        async with open_database(self.database_address, self.folder) as database, ChangeFeed(database) as feed:
            address = address_of(ServeOptions(), listener.getsockname()[1])
            site = Site(database, settings, feed, address, self.sign_ins, self.folder)
            server = build_server(site, ServeOptions())
            await feed.is_ready.wait()
            self._loop, self._database, self._stop, self.url = (
                asyncio.get_running_loop(),
                database,
                server.stop,
                address.url,
            )
            self._started.set()
            watching = asyncio.create_task(watch_sessions(self.folder, feed))
            await server.serve(sockets=[listener])
            await cancel_and_wait(watching)

    def call(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Run a coroutine with the server's database."""
        assert self._loop
        assert self._database
        database = self._database

        async def run() -> T:
            return await work(database)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement on another connection."""
        with psycopg.connect(self.database_address, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return list(cursor.fetchall()) if cursor.description else []

    def client(self) -> httpx.Client:
        """Return a client that is signed in as a browser is."""
        client = self.visitor()
        assert client.get("/login", params={"token": self.sign_ins.add_link()}).status_code == 200
        return client

    def visitor(self) -> httpx.Client:
        """Return a client that is not signed in."""
        return self._opened({"origin": self.url})

    def bearer(self) -> httpx.Client:
        """Return a client with the token, as a program is."""
        return self._opened({"authorization": f"Bearer {TOKEN}"})

    @functools.cached_property
    def anonymous(self) -> httpx.Client:
        """A client without a session, for many requests: making one takes longer than a request."""
        return self._opened({})

    def _opened(self, headers: dict[str, str]) -> httpx.Client:
        return self._clients.enter_context(httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE))


def add_job(site: RunningSite, **columns: Any) -> int:
    """Insert a job and return its number."""
    site.rows("INSERT INTO remit.briefs (digest, brief) VALUES ('b', %s) ON CONFLICT DO NOTHING", Jsonb(brief()))
    values = {
        "agent": "code-explorer",
        "brief": "b",
        "request": Jsonb({}),
        "prompt": "trace the login flow",
        "workspace": "/project",
        **columns,
    }
    names = ", ".join(values)
    marks = ", ".join(["%s"] * len(values))
    return int(site.rows(f"INSERT INTO remit.jobs ({names}) VALUES ({marks}) RETURNING id", *values.values())[0][0])


def brief(text: str = "You look after the house.") -> dict[str, Any]:
    """Return a brief whose texts are all `text`."""
    return {
        "system": text,
        "system_from": "definition",
        "contract": text,
        "tools": [text],
        "tools_from": "job",
        "withheld": [text],
        "model": text,
        "model_from": "default",
        "max_turns": 30,
        "max_turns_from": "default",
        "limits": {"tokens": None, "cost": 2.5, "seconds": None},
        "definition": {"name": text, "plugin": text, "digest": "0" * 32},
    }


def add_hostile_job(site: RunningSite) -> int:
    """Insert a finished job with a tree, a transcript and a report whose every text is hostile; return its number."""
    site.rows("INSERT INTO remit.briefs (digest, brief) VALUES ('h', %s) ON CONFLICT DO NOTHING", Jsonb(brief(HOSTILE)))
    common = {"agent": HOSTILE, "prompt": HOSTILE, "brief": "h", "queue": HOSTILE, "error": HOSTILE}
    ended = {"state": "finished", "outcome": "completed", "verdict": "revise", "started": "now", "finished": "now"}
    job = add_job(site, **common, **ended, result=HOSTILE, diff=HOSTILE, turns=2, cost=0.5, input_tokens=1200)
    add_job(site, **common, state="queued", parent=job, root=job, depth=1)
    messages = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": HOSTILE}]},
        {"kind": "response", "parts": [
            {"part_kind": "text", "content": HOSTILE},
            {"part_kind": "tool-call", "tool_name": HOSTILE, "args": "{}", "tool_call_id": "c1"},
        ]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": HOSTILE}]},
    ]  # fmt: skip
    for number, message in enumerate(messages):
        site.rows("INSERT INTO remit.messages VALUES (%s, %s, 1, %s)", job, number, Jsonb(message))
    site.rows(
        "INSERT INTO remit.tool_calls (job, call, turn, name, arguments, state, attempt, output, is_failed, finished) "
        "VALUES (%s, 'c1', 1, %s, %s, 'done', 1, %s, true, now())",
        *(job, HOSTILE, Jsonb({HOSTILE: HOSTILE}), HOSTILE),
    )
    receipt = Jsonb({"tool": HOSTILE, "arguments": {"file_path": HOSTILE}})
    site.rows("INSERT INTO remit.receipts (job, call, receipt) VALUES (%s, 'c1', %s)", job, receipt)
    violation = {"rule": HOSTILE, "code": HOSTILE, "level": "L1", "line": 1, "message": HOSTILE, "help": HOSTILE}
    reference = {
        "text": HOSTILE,
        "path": HOSTILE,
        "line": 3,
        "end_line": 4,
        "outcome": "mismatch",
        "at": 1,
        "why": HOSTILE,
        "found": {"path": HOSTILE, "line": 3},
        "code": {"start": 1, "text": "\n".join([HOSTILE] * 5)},
    }
    report = {"verdict": "revise", "violations": [violation], "references": [reference]}
    for submission in (1, 2):
        site.rows(
            "INSERT INTO remit.results (job, submission, document, verdict, report) VALUES (%s, %s, %s, 'revise', %s)",
            *(job, submission, f"{HOSTILE}\nsecond line", Jsonb(report)),
        )
    for kind, data in (("tool", {"name": HOSTILE, "arguments": [["a", HOSTILE]]}), ("told", {"text": HOSTILE})):
        site.rows("INSERT INTO remit.events (job, kind, data) VALUES (%s, %s, %s)", job, kind, Jsonb(data))
    return job
