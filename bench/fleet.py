"""Workers as processes for the benches, on one embedded PostgreSQL; each notes its memory and its jobs."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import procrastinate
import psycopg
from dispatch import brief_of_a_job
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from remit.dispatch.attempt import AttemptParts
from remit.dispatch.finish import RunEnd
from remit.dispatch.worker import Worker
from remit.dispatch.worker_settings import load_settings
from remit.registry.definition import Brief
from remit.store.database import OPTIONS, open_database
from remit.store.jobs import Job
from remit.store.server import EmbeddedServer

#: The name of the runner whose jobs only end.
NOTHING = "nothing"
_SAMPLE_SECONDS = 1.0
_HERE = Path(__file__).resolve().parent
_PATH = [str(_HERE), str(_HERE.parent / "src")]
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
#: Each worker uses up to 15 connections; 32 of them need more than the embedded server allows.
_CONNECTIONS = 600
_FORKS = multiprocessing.get_context("forkserver")
#: Imported once, in the process that all workers are forked from, so that a killed worker is back at once.
_IMPORTS = ["fleet", "pydantic_ai.models.anthropic", "genai_prices"]


class WorkerPlace(NamedTuple):
    """What a worker process needs."""

    address: str
    folder: Path
    environment: Mapping[str, str] = {}
    concurrency: int = 5
    takeover_seconds: float = 30.0
    is_preloaded: bool = False


class Sample(NamedTuple):
    """What a worker had done at a time, and how much memory it had."""

    jobs: int
    kilobytes: int


def nothing_brief() -> Brief:
    """Return the brief of a job that only ends."""
    return msgspec.structs.replace(brief_of_a_job(), runner=NOTHING)


@contextmanager
def server() -> Iterator[tuple[str, Path]]:
    """Start a PostgreSQL server with tables and without jobs; yield its address and a folder."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        embedded = EmbeddedServer(folder / "postgres")
        embedded.open()
        embedded.close()
        with (folder / "postgres/data/postgresql.auto.conf").open("a", encoding="utf-8") as settings:
            settings.write(f"max_connections = {_CONNECTIONS}\n")  # no role that connects may set it
        address = embedded.open()
        try:
            asyncio.run(_migrate(address, folder))
            yield address, folder
        finally:
            embedded.close()


async def _migrate(address: str, folder: Path) -> None:
    async with open_database(address, folder):
        pass


def rows(address: str, statement: str, *values: object) -> list[dict[str, Any]]:
    """Return the rows of a statement."""
    located = make_conninfo(address, options=OPTIONS)
    with psycopg.connect(located, autocommit=True, row_factory=dict_row) as connection:
        cursor = connection.execute(statement.encode(), values)
        return list(cursor.fetchall()) if cursor.description else []


def start_worker(place: WorkerPlace) -> ForkServerProcess:
    """Start a worker process."""
    os.environ["PYTHONPATH"] = os.pathsep.join(_PATH)  # for the process that workers are forked from
    _FORKS.set_forkserver_preload(_IMPORTS)
    process = _FORKS.Process(target=_work, args=(place,), daemon=True)
    process.start()
    return process


def samples_of(place: WorkerPlace, pid: int) -> list[Sample]:
    """Return the samples of a worker, whose last line may be incomplete if it was killed."""
    file = place.folder / f"samples-{pid}"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Sample(*map(int, line.split()[:2])) for line in lines if line.endswith(".")]


def slope(samples: list[Sample]) -> float:
    """Return the growth of memory in kilobytes for each thousand jobs: the line of least squares."""
    jobs = sum(one.jobs for one in samples) / len(samples)
    kilobytes = sum(one.kilobytes for one in samples) / len(samples)
    spread = sum((one.jobs - jobs) ** 2 for one in samples)
    together = sum((one.jobs - jobs) * (one.kilobytes - kilobytes) for one in samples)
    return 1000 * together / spread if spread else 0.0


class _CountingWorker(Worker):
    """A worker that counts its jobs."""

    ended = 0

    async def _run(self, job: Job, context: procrastinate.JobContext) -> None:
        try:
            await super()._run(job, context)
        finally:
            self.ended += 1


async def _nothing(_: AttemptParts) -> RunEnd:
    return RunEnd("completed", "done")


def _work(place: WorkerPlace) -> None:
    os.environ.pop("PYTHONPATH", None)
    os.environ.update(place.environment)
    with (place.folder / f"worker-{os.getpid()}.log").open("wb", buffering=0) as log:
        os.dup2(log.fileno(), sys.stderr.fileno())
    asyncio.run(_serve(place))


async def _serve(place: WorkerPlace) -> None:
    settings = load_settings()._replace(
        state=place.folder, texts=place.folder, database=place.address, takeover_seconds=place.takeover_seconds
    )
    async with open_database(place.address, place.folder) as database:
        worker = _CountingWorker(
            database,
            settings,
            concurrency=place.concurrency,
            is_listed=place.is_preloaded,
            runners={NOTHING: _nothing},
        )
        threading.Thread(target=_keep_sampling, args=(worker, place), daemon=True).start()
        await worker.run()


def _keep_sampling(worker: _CountingWorker, place: WorkerPlace) -> None:
    with (place.folder / f"samples-{os.getpid()}").open("a", encoding="utf-8", buffering=1) as file:
        while os.getppid() != 1:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            file.write(f"{worker.ended} {pages * _PAGE_KB} .\n")
            time.sleep(_SAMPLE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)  # the bench was killed
