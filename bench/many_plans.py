"""Many plans at the same time, driven by one process: all end, and a plan costs as many statements as among few."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fleet import WorkerPlace, rows, server, start_worker
from measure import Bench

from remit.dispatch.submit import Resolving
from remit.dispatch.worker_settings import Settings, load_settings
from remit.orchestrate import delegating
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
from remit.store import workers
from remit.store.database import Database, open_database
from remit.testing import project, registry, result

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # where the scripted model is

FEW, SOME, MANY = 10, 100, 1_000
_WORKERS = 2
_CONCURRENCY = 20
_MODEL = "anthropic:claude-sonnet-5"
_AGENT = "---\nname: release-helper\ntools: Read\n---\nYou help with releases.\n"
_READS = {"tools": [{"name": "Read", "input": {"file_path": f"app/{name}.py"}} for name in ("login", "session")]}
_SCRIPT = {"conversations": {"": [_READS, {"text": result("generic")}]}}
_notes: list[str] = []
#: The largest number of connections in each run.
_seen: list[int] = []


class Run(NamedTuple):
    """What a number of plans cost."""

    plans: int
    seconds: float
    statements: float
    connections: int


class _CountingDatabase(Database):
    """Counts how often a connection is taken."""

    visits = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        self.visits += 1
        async with super().connection() as connection:
            yield connection


async def _run(place: WorkerPlace, number: int) -> Run:
    """Begin plans and drive all of them at once."""
    spec = Plan(
        name="bench",
        phases=(
            PhaseSpec(name="look", delegations=(DelegationSpec(agent="release-helper", task="look", model=_MODEL),)),
        ),
    )
    settings = load_settings()._replace(state=place.folder, texts=place.folder, database=place.address)
    async with open_database(place.address, place.folder) as opened:
        while not await workers.is_served(opened, "", "default", 30):  # noqa: ASYNC110 (another process starts)
            await asyncio.sleep(0.1)
        database = _CountingDatabase(opened.target, opened._pool)  # noqa: SLF001 (the same pool, counted)
        begun = time.perf_counter()
        numbers = [await delegating.begin_plan(database, spec, project(), is_new=True) for _ in range(number)]
        most = asyncio.create_task(_most_connections(place))
        states = await asyncio.gather(*(_drive(database, settings, plan) for plan in numbers))
        seconds = time.perf_counter() - begun
        most.cancel()
        accepted = rows(
            place.address,
            "SELECT count(*) AS n FROM remit.delegations WHERE plan = ANY (%s) AND state = 'accepted'",
            numbers,
        )[0]["n"]
        if set(states) != {"finished"} or accepted != number:
            errors = rows(place.address, "SELECT DISTINCT left(error, 300) AS error FROM remit.delegations")
            message = f"{number} plans ended as {set(states)}, {accepted} delegations were accepted: {errors}"
            raise RuntimeError(message)
        await asyncio.gather(most, return_exceptions=True)
    return Run(number, seconds, database.visits / number, _seen[-1])


async def _most_connections(place: WorkerPlace) -> None:
    """Note how many connections the server has, at most."""
    _seen.append(0)
    while True:
        found = await asyncio.to_thread(
            rows, place.address, "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )
        _seen[-1] = max(_seen[-1], found[0]["n"])
        await asyncio.sleep(0.5)


async def _drive(database: Database, settings: Settings, plan: int) -> str:
    return await delegating.drive_plan(database, settings, plan, resolving=Resolving(registry=registry(_AGENT)))


@cache
def _measured(number: int) -> Run:
    from support.model_process import model_process  # type: ignore[import-not-found,unused-ignore]

    with (
        tempfile.TemporaryDirectory(prefix="remit-bench-") as name,
        model_process(_SCRIPT, Path(name)) as model,
        server() as (address, folder),
    ):
        environment = {
            "XDG_STATE_HOME": str(folder / "state"),
            "ANTHROPIC_API_KEY": "bench",
            "ANTHROPIC_BASE_URL": model.url,
        }
        os.environ.update(environment)  # a job without a key for its model is not submitted
        place = WorkerPlace(address, folder, environment, concurrency=_CONCURRENCY, is_preloaded=True)
        processes = [start_worker(place) for _ in range(_WORKERS)]
        try:
            run = asyncio.run(_run(place, number))
        finally:
            for process in processes:
                process.kill()
    _notes.append(
        f"  {run.plans:,} plans at once: {run.seconds:.1f} s, {run.plans / run.seconds:.1f} plans/s,"
        f" {run.statements:.1f} statements of the driver a plan, {run.connections} connections at most"
    )
    return run


def _explained() -> list[str]:
    notes, _notes[:] = list(_notes), []
    return notes


def benches() -> list[Bench]:
    """Return the benches of this file."""
    return [
        Bench(
            f"statements of a plan, {many:,} plans at once",
            f"{FEW} plans at once",
            "x",
            1.5,
            lambda many=many: _measured(many).statements / _measured(FEW).statements,  # type: ignore[misc]
            _explained,
            is_long=many == MANY,
        )
        for many in (SOME, MANY)
    ]


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        _measured(number)
        print(*_explained(), sep="\n", flush=True)
