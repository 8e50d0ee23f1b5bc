"""A fleet for tests: workers as processes, a real PostgreSQL server and the scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.rows import dict_row
from support.commands import ForkServer, Process
from support.model_process import RemoteServer
from support.waiting import until

from remit.configuration import load
from remit.dispatch.submit import Queueing, Resolving, submit
from remit.dispatch.worker_settings import load_settings
from remit.registry.lookup import Registry
from remit.store.database import Database, open_database
from remit.store.server import binaries

T = TypeVar("T")
#: Variables that the processes of a fleet do not inherit from the environment of the tests.
_FOREIGN = ("REMIT_", "ANTHROPIC_", "OPENAI_", "GBRAIN_", "PG")
_OF_A_RUN = ("timestamp", "run_id", "conversation_id")


class Store:
    """Queries of tests; each uses a new connection, so the server can restart between them."""

    def __init__(self, address: str) -> None:
        self.address = address

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        with psycopg.connect(self.address, autocommit=True, row_factory=dict_row) as connection:
            cursor = connection.execute(statement, values)  # type: ignore[call-overload]
            return list(cursor.fetchall()) if cursor.description else []

    def row(self, statement: str, *values: object) -> dict[str, Any]:
        return self.rows(statement, *values)[0]

    def job(self, number: int) -> dict[str, Any]:
        return self.row("SELECT * FROM remit.jobs WHERE id = %s", number)

    def messages(self, number: int) -> list[Any]:
        """Return the transcript without the values that differ between runs."""
        found = self.rows("SELECT message FROM remit.messages WHERE job = %s ORDER BY number", number)
        return [_timeless(row["message"]) for row in found]

    def calls(self, number: int) -> list[dict[str, Any]]:
        return self.rows("SELECT * FROM remit.tool_calls WHERE job = %s ORDER BY call", number)

    def run(self, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
        """Do something with an open database."""

        async def opened() -> T:
            async with open_database(self.address, Path("/")) as database:
                return await work(database)

        return asyncio.run(opened())

    def is_finished(self, number: int) -> bool:
        return bool(self.job(number)["state"] == "finished")


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in _OF_A_RUN}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


class Fleet:
    """Workers and commands of remit on one database and one model server."""

    def __init__(self, source: ForkServer, folder: Path, address: str | None, model: RemoteServer | None) -> None:
        self._source = source
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.store = Store(address or "")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)},
            "REMIT_STATE": str(folder / "data"),
            "REMIT_PROJECT": "tests",
            "REMIT_TAKEOVER_SECONDS": "1.5",
            "REMIT_MODEL": "anthropic:claude-opus-5",
            "ANTHROPIC_API_KEY": "test-key",
            **({"REMIT_DATABASE_URL": address} if address else {}),
            **({"ANTHROPIC_BASE_URL": model.url} if model else {}),
        }
        self.processes: list[Process] = []

    def start(self, *arguments: str, **environment: str) -> Process:
        """Start a command of remit."""
        output = (self.folder / f"output-{len(self.processes) + 1}").open("w+b")
        with Path(os.devnull).open("rb") as nothing:
            streams = (nothing.fileno(), output.fileno(), output.fileno())
            process = self._source.start(arguments, {**self.environment, **environment}, self.project, streams)
        self.processes.append(process.keep(output, None))
        return process

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run a command to its end and return its exit code and output."""
        process = self.start(*arguments, **environment)
        return process.wait(), process.output

    def worker(self, *arguments: str, **environment: str) -> Process:
        """Start a worker and wait until it is ready."""
        process = self.start("worker", *arguments, **environment)
        self.until(lambda: "worker started" in process.output or not process.is_alive)
        assert process.is_alive, process.output
        return process

    def submit(self, task: str, *arguments: str, agent: str = "builder") -> int:
        """Submit a job on the command line and return its number."""
        code, said = self.run("run", "--detach", agent, task, "--format", "json", *arguments)
        assert code == 0, said
        shape, _ = json.JSONDecoder().raw_decode(said, said.index("{"))
        return int(shape["id"])

    def define(self, name: str, text: str, **fields: str) -> Path:
        """Write a definition to a plugin that every command of the fleet loads."""
        folder = self.folder / "plugins" / "team"
        (folder / "agents").mkdir(parents=True, exist_ok=True)
        path = folder / "agents" / f"{name}.md"
        head = "".join(f"{key}: {value}\n" for key, value in {"name": name, "description": name, **fields}.items())
        path.write_text(f"---\n{head}---\n{text}\n", encoding="utf-8")
        self.environment["REMIT_PLUGIN_PATH"] = str(folder)
        return path

    def until(self, condition: Callable[[], T]) -> T:
        """Wait for a condition; on failure show the output of all processes."""
        return until(condition, self._explain)

    def _explain(self) -> str:
        return "\n".join(
            f"{one.pid}, which {'lives' if one.is_alive else 'ended'}: {one.output[-3000:]}" for one in self.processes
        )

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.close()


@contextlib.contextmanager
def opened(source: ForkServer, folder: Path, address: str | None, model: RemoteServer | None = None) -> Iterator[Fleet]:
    fleet = Fleet(source, folder, address, model)
    try:
        yield fleet
    finally:
        fleet.close()


def requests_of(model: RemoteServer, text: str) -> list[dict[str, Any]]:
    """Return the requests of the conversation that starts with a text."""
    return [one for one in model.requests if text in json.dumps(one["body"]["messages"][0])]


def program(name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run a program of PostgreSQL and return its output."""
    command = [str(binaries() / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


async def submitted(
    address: str, registry: Registry, wanted: Iterable[tuple[str, Path, Queueing]], *, agent: str = "builder"
) -> list[int]:
    """Submit jobs, given as tasks and workspaces, and return their numbers."""
    settings = load_settings(load(Path("/"), {"REMIT_DATABASE_URL": address, "REMIT_PROJECT": "tests"}), Path("/"))
    resolving = Resolving(registry=registry)
    async with open_database(address, settings.state) as database:
        return [
            (
                await submit(
                    database,
                    {"prompt": task, "subagent_def": agent, "model": "anthropic:claude-opus-5"},
                    settings,
                    workspace,
                    queueing=queueing,
                    resolving=resolving,
                )
            ).id
            for task, workspace, queueing in wanted
        ]
