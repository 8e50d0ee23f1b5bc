"""Throughput of 1 to 32 workers in processes on one PostgreSQL, and why it stops growing; what a thousand jobs cost."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

import msgspec
from dispatch import brief_of_a_job, submission
from fleet import WorkerPlace, nothing_brief, rows, server, start_worker
from measure import Bench

from remit.dispatch.submit import insert
from remit.registry.definition import Brief
from remit.store.database import open_database

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # where the scripted model is

WORKERS = (1, 2, 4, 8, 16, 32)
#: Jobs for each worker that takes part, at least and at most; a run should take some seconds.
_LEAST, _MOST = 400, 1_200
_TALKS = 60
_SAMPLE_SECONDS = 0.2
_PATIENCE_SECONDS = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")
_MODEL = "anthropic:claude-sonnet-5"
_SCRIPT = {"conversations": {"": [{"tools": [{"name": "Grep", "input": {"pattern": "needle"}}]}, {"text": "Done."}]}}
_notes: list[str] = []
#: Every job has its ticket; the workers are woken up once, at the commit.
_FILL = """
WITH made AS (
    INSERT INTO remit.jobs (agent, brief, request, prompt, workspace)
    SELECT 'agent', brief, '{{}}', 'task ' || n, '{workspace}' FROM generate_series(1, {number}) AS n,
        (SELECT brief FROM remit.jobs ORDER BY id LIMIT 1) AS briefs
    RETURNING id)
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args, status)
SELECT 'default', 'remit.run', 0, jsonb_build_object('job', id), 'todo' FROM made
"""
_DONE = "SELECT count(*) AS n FROM remit.jobs WHERE state = 'finished'"
_RATE = """
SELECT count(*) AS jobs, extract(epoch FROM max(finished) - min(started)) AS seconds FROM remit.jobs
WHERE id > %s
"""
_WAITS = """
SELECT coalesce(wait_event_type || ' ' || wait_event, 'running') AS state, count(*) AS n FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1
"""
_WRITTEN = """
SELECT xact_commit AS commits, pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes,
    pg_database_size(current_database()) AS size
FROM pg_stat_database WHERE datname = current_database()
"""


class Run(NamedTuple):
    """What a number of workers did, and what it cost per job."""

    workers: int
    jobs_per_second: float
    worker_ms: float
    postgres_ms: float
    commits: float
    wal_kilobytes: float
    disk_kilobytes: float
    #: The share of all processors that was used, by anything on this machine.
    busy: float
    #: What the connections that did something waited for, as shares of the samples.
    waits: dict[str, float]

    def line(self) -> str:
        """Return the run as a line of the table."""
        waits = ", ".join(f"{name} {100 * share:.0f} %" for name, share in self.waits.items())
        return (
            f"  {self.workers:>2} workers {self.jobs_per_second:>6.0f} jobs/s  CPU per job: worker"
            f" {self.worker_ms:.1f} ms, PostgreSQL {self.postgres_ms:.1f} ms; machine {100 * self.busy:.0f} % busy;"
            f" {self.commits:.1f} commits and {self.wal_kilobytes:.1f} KB of log a job; backends: {waits}"
        )


def _cpu_seconds(pids: list[int]) -> float:
    """Return the processor time of processes, with that of their children that have ended."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def _children(pid: int) -> list[int]:
    """Return a process and all that descend from it: a server and its backends."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text(encoding="ascii").split():
            found += _children(int(child))
    return found


def _machine() -> tuple[float, float]:
    """Return the time that all processors were busy, and all time."""
    fields = list(map(int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]))
    return sum(fields) - fields[3] - fields[4], sum(fields)


@contextmanager
def _workers(place: WorkerPlace, number: int) -> Iterator[list[ForkServerProcess]]:
    """Start workers and wait until all of them are registered."""
    rows(place.address, "DELETE FROM remit.workers")
    processes = [start_worker(place) for _ in range(number)]
    try:
        _until(place, "SELECT count(*) AS n FROM remit.workers WHERE looked IS NOT NULL", number)
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def _until(place: WorkerPlace, statement: str, number: int, waits: Counter[str] | None = None) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while rows(place.address, statement)[0]["n"] < number:
        if time.monotonic() > deadline:
            message = f"{number} was not reached: {statement}"
            raise RuntimeError(message)
        if waits is not None:
            waits.update({row["state"]: row["n"] for row in rows(place.address, _WAITS)})
        time.sleep(_SAMPLE_SECONDS)


def _measured(place: WorkerPlace, number: int, jobs: int) -> Run:
    """Let workers do jobs that are all there at once."""
    address = place.address
    server_pid = int((place.folder / "postgres/data/postmaster.pid").read_text(encoding="utf-8").split("\n")[0])
    with _workers(place, number) as processes:
        pids = [process.pid or 0 for process in processes]
        before = rows(address, "SELECT coalesce(max(id), 0) AS last FROM remit.jobs")[0]["last"]
        done = rows(address, _DONE)[0]["n"]
        written = rows(address, _WRITTEN)[0]
        own, servers, machine = _cpu_seconds(pids), _cpu_seconds(_children(server_pid)), _machine()
        waits: Counter[str] = Counter()
        rows(address, _FILL.format(workspace=place.folder / "project", number=jobs))
        _until(place, _DONE, done + jobs, waits)
        own, servers = _cpu_seconds(pids) - own, _cpu_seconds(_children(server_pid)) - servers
        busy, all_time = (after - first for after, first in zip(_machine(), machine, strict=True))
        now = rows(address, _WRITTEN)[0]
        rate = rows(address, _RATE, before)[0]
    seen = sum(waits.values()) or 1
    return Run(
        number,
        rate["jobs"] / float(rate["seconds"]),
        1000 * own / jobs,
        1000 * servers / jobs,
        (now["commits"] - written["commits"]) / jobs,
        float(now["bytes"] - written["bytes"]) / 1024 / jobs,
        (now["size"] - written["size"]) / 1024 / jobs,
        busy / all_time,
        {name: number / seen for name, number in waits.most_common(3)},
    )


async def _first(place: WorkerPlace, brief: Brief) -> None:
    """Submit the job whose brief all others get."""
    async with open_database(place.address, place.folder) as database:
        wanted = submission(0, brief, "default")
        await insert(database, msgspec.structs.replace(wanted, workspace=str(place.folder / "project")))


@contextmanager
def _place(brief: Brief, environment: dict[str, str] | None = None) -> Iterator[WorkerPlace]:
    with server() as (address, folder):
        (folder / "project").mkdir()
        state = {"XDG_STATE_HOME": str(folder / "state")}
        place = WorkerPlace(address, folder, {**state, **(environment or {})})
        asyncio.run(_first(place, brief))
        with _workers(place, 1):
            _until(place, _DONE, 1)
        yield place


@cache
def _runs() -> dict[int, Run]:
    with _place(nothing_brief()) as place:
        runs = {number: _measured(place, number, min(_MOST, _LEAST * number)) for number in WORKERS}
    _notes.extend(run.line() for run in runs.values())
    most = max(run.jobs_per_second for run in runs.values())
    enough = next(run for run in runs.values() if run.jobs_per_second >= 0.9 * most)
    cost = enough.worker_ms + enough.postgres_ms
    processors = os.cpu_count() or 1
    _notes.append(
        f"  {enough.workers} workers reach 90 % of the most; {cost:.1f} ms of CPU a job on {processors} processors"
        f" allow {1000 * processors / cost:.0f} jobs/s"
    )
    return runs


def _growth(number: int) -> float:
    return _runs()[number].jobs_per_second / _runs()[1].jobs_per_second


@cache
def _talk() -> Run:
    from support.model_process import model_process  # type: ignore[import-not-found,unused-ignore]

    brief = msgspec.structs.replace(brief_of_a_job(), tools=("Grep",), model=_MODEL, max_turns=5)
    with server_of_model(model_process) as environment, _place(brief, environment) as place:
        run = _measured(place, 2, _TALKS)
    _notes.append("  conversations of two turns with a tool call:\n" + run.line())
    return run


@contextmanager
def server_of_model(model_process: object) -> Iterator[dict[str, str]]:
    """Serve the scripted model and yield the variables that lead to it."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name, model_process(_SCRIPT, Path(name)) as model:  # type: ignore[operator]
        yield {"ANTHROPIC_API_KEY": "bench", "ANTHROPIC_BASE_URL": model.url}


def benches() -> list[Bench]:
    """Return the benches of this file."""
    return [
        *(
            Bench(
                f"no-op jobs a second with {number} workers",
                "1 worker",
                "x",
                None,
                lambda number=number: _growth(number),  # type: ignore[misc]
                (lambda: _notes) if number == WORKERS[-1] else None,
                is_long=True,
            )
            for number in WORKERS
        ),
        Bench("CPU of 1,000 no-op jobs", "worker and PostgreSQL", "s", None, lambda: _cost(_runs()[4]), is_long=True),
        Bench(
            "CPU of 1,000 conversations of two turns",
            "worker and PostgreSQL",
            "s",
            None,
            lambda: _cost(_talk()),
            is_long=True,
        ),
    ]


def _cost(run: Run) -> float:
    return run.worker_ms + run.postgres_ms
