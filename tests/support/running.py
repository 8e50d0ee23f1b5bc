"""Run jobs in the process of a test, with a database for each test and a scripted model on loopback.

Tests load the fixtures with `pytest_plugins = ("support.running",)`. (PYTEST_DONT_REWRITE: tests import it, too.)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.commands import ANTHROPIC, KEYS
from support.model_server import ModelServer, Request
from support.waiting import PATIENCE, until_async

from remit.dispatch import model_client
from remit.dispatch.submit import Queueing, Resolving, submit
from remit.dispatch.worker import Worker
from remit.dispatch.worker_settings import Settings, load_settings
from remit.registry import resolution
from remit.registry.definition import Brief
from remit.registry.lookup import Registry
from remit.store import jobs
from remit.store.database import Database, open_database
from remit.store.events import Event, events_since
from remit.store.jobs import Job
from remit.testing import registry

OPENAI = "openai:gpt-5"
BODY = "You look after the house.\n\nReport every leak."
KEEPER = f"---\nname: keeper\ncontract: v2\nallowed_tools: [Read, Grep]\n---\n\n{BODY}\n"
TABLES = (
    *("remit.briefs", "remit.jobs", "remit.messages", "remit.tool_calls", "remit.receipts", "remit.results"),
    *("remit.events", "remit.workers", "remit.slots", "remit.circuits", "procrastinate_jobs", "procrastinate_events"),
)
Turn = Mapping[str, Any]

both_providers = pytest.mark.parametrize("model", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])


async def there(path: Path) -> None:
    """Wait for a file."""
    await until_async(lambda: asyncio.to_thread(path.exists), f"{path} is there")


def tools(*calls: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """Return a turn that calls tools, given as (name, arguments)."""
    return {"tools": [{"name": name, "input": given} for name, given in calls], **more}


class Fleet:
    """The store, the model and the workers of one test."""

    def __init__(self, database: Database, server: ModelServer, settings: Settings, project: Path) -> None:
        self.database = database
        self.server = server
        self.settings = settings
        self.project = project
        self.registry: Registry = registry(KEEPER)

    @property
    def requests(self) -> list[Request]:
        return self.server.requests

    async def submit(self, prompt: str = "go", *, queueing: Queueing | None = None, **request: Any) -> int:
        """Submit a job."""
        request.setdefault("model", ANTHROPIC)
        request.setdefault("subagent_def", "keeper")
        resolving = Resolving(registry=self.registry)
        asked = {"prompt": prompt, **request}
        made = await submit(
            self.database, asked, self.settings, self.project, queueing=queueing or Queueing(), resolving=resolving
        )
        return made.id

    async def run(self, prompt: str = "go", **request: Any) -> Job:
        """Submit a job and run a worker until the queue is empty."""
        number = await self.submit(prompt, **request)
        await self.work()
        return await self.job(number)

    async def work(self, concurrency: int = 5) -> None:
        async with asyncio.timeout(PATIENCE):
            await Worker(self.database, self.settings, concurrency=concurrency).run(until_idle=True)

    @contextlib.asynccontextmanager
    async def working(self, concurrency: int = 5, **options: Any) -> AsyncIterator[Worker]:
        """Run a worker until the block is left."""
        worker = Worker(self.database, self.settings, concurrency=concurrency, **options)
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            async with asyncio.timeout(PATIENCE):
                await task

    async def job(self, number: int) -> Job:
        return await jobs.get(self.database, number)

    async def brief(self, job: Job) -> Brief:
        return await jobs.brief_of(self.database, job)

    async def reached(self, number: int, state: str) -> Job:
        """Return the job when it has reached a state."""
        await until_async(lambda: self._is(number, state), f"job {number} is {state}")
        return await self.job(number)

    async def _is(self, number: int, state: str) -> bool:
        return (await self.job(number)).state == state

    async def cancel(self, number: int) -> None:
        """Cancel a job as `remit jobs cancel` does."""
        await jobs.cancel(self.database, number)

    async def events(self, number: int) -> list[Event]:
        return await events_since(self.database, number, 0)

    async def kinds(self, number: int) -> list[str]:
        return [event.kind for event in await self.events(number)]

    async def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        async with await psycopg.AsyncConnection.connect(self.database.address, autocommit=True) as connection:
            cursor = await connection.execute(sql, values)  # type: ignore[arg-type]
            return await cursor.fetchall() if cursor.description else []

    async def tables_with(self, text: str) -> list[str]:
        """Return the tables that contain a text in any column."""
        written = json.dumps(text)[1:-1]  # a row cast to text doubles each backslash of its JSON
        sql = "SELECT 1 FROM {} AS t WHERE position(%s in t::text) > 0 OR position(%s in {}) > 0 LIMIT 1"
        plain = r"replace(t::text, '\\', '\')"
        return [table for table in TABLES if await self.rows(sql.format(table, plain), text, written)]

    async def outputs(self, number: int) -> list[str]:
        """Return the stored tool outputs of a job."""
        found = await self.rows("SELECT output FROM remit.tool_calls WHERE job = %s ORDER BY turn, started", number)
        return [row[0] for row in found]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate a test: no configuration, registry or client from outside, short pauses, separate keys."""
    for name in list(os.environ):
        if name.startswith(("REMIT_", "GBRAIN_", "ANTHROPIC_", "OPENAI_")):
            monkeypatch.delenv(name)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(resolution, "_loaded", [])
    tiny = (0.001, 0.001, 0.001)
    monkeypatch.setattr("remit.dispatch.model_client.PAUSES", tiny)
    monkeypatch.setattr("remit.dispatch.conversation.PAUSES", tiny)
    model_client.build_model.cache_clear()
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.fixture
def short_circuit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an open circuit close at once instead of after half a minute."""
    monkeypatch.setattr("remit.store.workers.CIRCUIT_SECONDS", 0.0)
    monkeypatch.setattr("remit.dispatch.model_client.random.uniform", lambda low, _: low)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder that jobs work in."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def leak():\n    return 1\n", encoding="utf-8")
    (folder / "b.py").write_text("import a\n", encoding="utf-8")
    return folder


def settings_for(address: str | None, data: Path, **more: Any) -> Settings:
    """Return the default settings with changes."""
    usual = load_settings()._replace(database=address, state=data, texts=data, shutdown_seconds=5.0)
    usual = usual._replace(project_name="tests", project="tests")  # of jobs in any folder
    return usual._replace(**more)


class _Clients:
    """Close the model clients, which live as long as the process, with the event loop of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._built: dict[str, Any] = {}
        model_client.build_model.cache_clear()
        monkeypatch.setattr("remit.dispatch.conversation.build_model", self._build)
        monkeypatch.setattr("remit.dispatch.worker.build_model", str)  # jobs here name other models
        # Loopback is not encrypted, and loading all certificates for each client is slow.
        monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_, **__: None)

    def _build(self, name: str) -> Any:
        self._built[name] = model_client.build_model(name)
        return self._built[name]

    async def close(self) -> None:
        for model in self._built.values():
            await model.client.close()
        model_client.build_model.cache_clear()


Play = Callable[..., contextlib.AbstractAsyncContextManager[Fleet]]


@pytest.fixture
def play(quiet: None, address: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """`async with play(turn, turn, …) as fleet`, or `play({marker: [turn, …]}, setting=…)`."""

    @contextlib.asynccontextmanager
    async def playing(
        *turns: Turn, conversations: Mapping[str, Any] | None = None, **more: Any
    ) -> AsyncIterator[Fleet]:
        script = {"conversations": conversations or {"": list(turns)}}
        data = tmp_path / "data"
        async with ModelServer(script) as server, open_database(address, data, 12) as database:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            clients = _Clients(monkeypatch)
            try:
                yield Fleet(database, server, settings_for(address, data, **more), project)
            finally:
                await clients.close()

    return playing
