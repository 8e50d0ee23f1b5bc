"""The cost and effect of durable jobs: a durable turn, a takeover, the memory of a waiting worker."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from dispatch import bare_commits, bare_table, brief_of_a_job, places, scratch, submission
from measure import Bench

from remit.dispatch.conversation import Conversation
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.model_client import ModelClient, build_model
from remit.dispatch.submit import Submission, insert
from remit.dispatch.tools.toolbox import Toolbox
from remit.dispatch.toolset import Calls, job_tools
from remit.dispatch.worker_settings import Settings
from remit.registry.definition import Brief
from remit.store import jobs
from remit.store.database import Database
from remit.store.transcript import Reservation, StepRecord, Transcript, UsageSums
from remit.testing import project

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # where the scripted model is

_MODEL = "anthropic:claude-sonnet-5"
_TURNS = 20
_TAKEOVER_SECONDS = 3.0
_WAITING = 500
_WORKER = [sys.executable, "-c", "from remit.surfaces.cli import main; main()", "worker"]
_notes: list[str] = []
_ROUNDS = 5
#: Address -> milliseconds of the bare transactions of a turn, measured with the turns.
_floors: dict[str | None, float] = {}


def _read(lines: int = 5) -> dict[str, Any]:
    """Return a turn that reads this number of lines; repeating the same call would end a conversation."""
    return {"tools": [{"name": "Read", "input": {"file_path": "app/login.py", "limit": lines}}]}


Start = Callable[..., subprocess.Popen[bytes]]


@contextmanager
def _model(turns: list[dict[str, Any]], folder: Path) -> Iterator[Any]:
    """The scripted model, and the variables that lead to it."""
    from support.model_process import model_process  # type: ignore[import-not-found,unused-ignore]

    with model_process({"conversations": {"": turns}}, folder) as server:
        os.environ.update({"ANTHROPIC_API_KEY": "bench", "ANTHROPIC_BASE_URL": server.url})
        build_model.cache_clear()  # it holds the address of an earlier one
        yield server


def _brief() -> Brief:
    return msgspec.structs.replace(brief_of_a_job(), model=_MODEL, max_turns=_TURNS + 5)


def _submission(number: int, queue: str = "default") -> Submission:
    return msgspec.structs.replace(submission(number, _brief(), queue), workspace=str(project()))


class _Forgetful(Transcript):
    """A transcript that stores nothing."""

    async def messages(self) -> list[Any]:
        return []

    async def broken(self) -> UsageSums:
        return UsageSums()

    async def _write(self, query: str, **values: Any) -> list[Any]:
        return [{"state": None}]


class _Silent(EventWriter):
    """An event writer that writes nothing."""

    async def emit(self, kind: str, data: dict[str, Any]) -> None:
        return None

    async def flush(self) -> None:
        self._take_text(is_end=True)

    async def flush_words(self) -> None:
        self._take_text(is_end=True)


class _Free(ModelClient):
    """Asks without a budget, a turn to wait for, or a circuit."""

    async def reserve(self, *_: Any, **__: Any) -> Reservation:
        return Reservation(0, 0, 0.0, 8_192)

    async def settle(self, reserved: Reservation, used: UsageSums, response: StepRecord | None) -> frozenset[str]:
        return frozenset(call.call for call in response.begun) if response is not None else frozenset()

    async def ask(self, request: Callable[[], Any]) -> Any:
        return await request()


async def _conversed(database: Database, job: jobs.Job, folder: Path, *, is_durable: bool) -> float:
    """Seconds for a turn of one conversation: a request, a streamed answer, a tool call."""
    made = (Transcript, EventWriter, ModelClient) if is_durable else (_Forgetful, _Silent, _Free)
    transcript, events = made[0](database, job.id, job.attempt), made[1](database, job.id, job.attempt)
    client = made[2](database, job.id, job.attempt, _MODEL, None)
    calls = Calls(transcript, events, is_redacting=True)
    tools = job_tools(Toolbox(project(), ["Read"], spill=folder / "spill"), calls)
    begun = time.perf_counter()
    ended = await Conversation(_brief(), "go", transcript, calls, [tools], client, events).run()
    taken = time.perf_counter() - begun
    if ended.outcome != "completed":
        raise RuntimeError(f"the conversation of the bench ended as {ended.outcome}: {ended.error}")
    return taken / (_TURNS + 1)


async def _turn_cost(address: str | None, where: str) -> float:
    """Milliseconds that durability adds to a turn."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name)
        with _model([*map(_read, range(1, _TURNS + 1)), {"text": "done"}], folder):
            async with scratch(address) as (database, _), bare_table(database):
                durable, plain, bare = [], [], []
                for _round in range(_ROUNDS):
                    number, _new = await insert(database, _submission(0))
                    job = await jobs.claim(database, number, "00000000-0000-0000-0000-000000000000", None)
                    if not isinstance(job, jobs.Job):
                        raise RuntimeError("the job could not be claimed")
                    plain.append(await _conversed(database, job, folder, is_durable=False))
                    durable.append(await _conversed(database, job, folder, is_durable=True))
                    # One for the request, which must be stored before it is sent, and one for the response, which must
                    # be stored before its calls run.
                    turns = [await bare_commits(database, 2) for _ in range(_TURNS + 1)]
                    bare.append(statistics.mean(turns))
    # The first round warms up.
    own, other, floor = (statistics.median(times[1:]) * 1000 for times in (durable, plain, bare))
    _floors[address] = floor
    _notes.append(
        f"a turn with one tool call{where}: {own:.1f} ms durable, {other:.1f} ms without;"
        f" two bare commits {floor:.1f} ms"
    )
    return own - other


async def _turn_floor(address: str | None, where: str) -> float:
    """Milliseconds of the transactions of a turn if each stores one number: client, server and disk alone."""
    if address not in _floors:
        await _turn_cost(address, where)
        _notes.clear()
    return _floors[address]


@asynccontextmanager
async def _workers(database: Database, settings: Settings) -> AsyncIterator[Start]:
    """Starts workers as processes; all of them are ended afterwards."""
    started: list[subprocess.Popen[bytes]] = []
    environment = {
        **os.environ,
        "REMIT_DATABASE_URL": database.address,
        "REMIT_STATE": str(settings.state),
        "REMIT_TAKEOVER_SECONDS": f"{_TAKEOVER_SECONDS:g}",
    }

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([*_WORKER, *arguments], env=environment, stderr=subprocess.DEVNULL))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            await asyncio.to_thread(process.wait)


async def _takeover(address: str | None, where: str) -> float:
    """How much of the configured time passes from a worker's death until another asks the model in its place."""
    taken = [await _taken_over(address) for _ in range(2)]
    for what, times in zip(("started by another", "the model asked again"), zip(*taken, strict=True), strict=True):
        _notes.append(f"a killed worker's job{where}, {what}: {', '.join(f'{one:.2f}' for one in sorted(times))} s")
    return statistics.median(asked for _, asked in taken) / _TAKEOVER_SECONDS


async def _taken_over(address: str | None) -> tuple[float, float]:
    """Seconds from the death until the job has been started again, and until the model has been asked."""
    async with _loaded(address) as (server, database, start):
        job, _new = await insert(database, _submission(0))
        first = start()
        await asyncio.to_thread(server.wait, "held", timeout=60)
        start()
        await _alive(database, 2)
        first.send_signal(signal.SIGKILL)
        begun = time.perf_counter()
        while (await database.rows("jobs.get", job=job))[0]["attempt"] < 2:  # noqa: ASYNC110 (it is another process)
            await asyncio.sleep(0.02)
        started = time.perf_counter() - begun
        await asyncio.to_thread(server.wait, "held", arrived=2, timeout=60)
        return started, time.perf_counter() - begun


async def _memory(address: str | None, where: str) -> float:
    """Megabytes of a worker in which conversations wait for the model."""
    async with _loaded(address) as (server, database, start):
        worker = start("--concurrency", str(_WAITING))
        await _alive(database, 1)
        idle = _megabytes(worker.pid)
        for number in range(_WAITING):
            await insert(database, _submission(number))
        await asyncio.to_thread(server.wait, "held", waiting=_WAITING, timeout=300)
        full = _megabytes(worker.pid)
    _notes.append(f"a worker{where}: {idle:.0f} MB idle, {full:.0f} MB with {_WAITING} conversations")
    return full


@asynccontextmanager
async def _loaded(address: str | None) -> AsyncIterator[tuple[Any, Database, Start]]:
    """A model that holds its second answer back, a database, and what starts a worker there."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        turns = [_read(), {"text": "done", "gate": "held"}]
        with _model(turns, Path(name)) as server:
            async with scratch(address) as (database, settings), _workers(database, settings) as start:
                yield server, database, start


async def _alive(database: Database, count: int) -> None:
    """Wait until this number of workers is alive."""
    while len(await database.rows("workers.alive", timeout=10, listed=True)) < count:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(0.05)


def _megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _explained() -> list[str]:
    notes, _notes[:] = list(_notes), []
    return notes


def benches() -> list[Bench]:
    """What is measured here."""
    measured: tuple[tuple[str, str, str, float | None, Callable[..., Any]], ...] = (
        ("what durability adds to a turn with one tool call", "the same turn without", "ms", 5, _turn_cost),
        (
            "what durability adds to a turn, its floor: two bare commits",
            "client, server and disk",
            "ms",
            None,
            _turn_floor,
        ),
        (
            "a killed worker's job, until another asks the model",
            f"the configured {_TAKEOVER_SECONDS:g} s",
            "x",
            1,
            _takeover,
        ),
        (f"a worker with {_WAITING} waiting conversations", "nothing: all its memory", "MB", 500, _memory),
    )
    return [
        Bench(name + where, against, unit, goal, _run(measure, address, where), _explained)
        for where, address in places().items()
        for name, against, unit, goal, measure in measured
    ]


def _run(measure: Callable[..., Any], address: str | None, where: str) -> Callable[[], float]:
    return lambda: float(asyncio.run(measure(address, where)))
