"""The cost of a plan: twenty concurrent agents compared with the longest of them, and the memory of a thousand."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Bench

from remit.dispatch.submit import Resolving
from remit.dispatch.worker_settings import load_settings
from remit.orchestrate import delegating
from remit.orchestrate.local_worker import ensure_worker
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
from remit.store.database import Database, open_database
from remit.testing import project, registry, result

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # where the scripted model is

_AGENTS = 20
#: Seconds; a real one takes longer, so this is a hard case for what the plan adds.
_LONGEST = 8.0
_MODEL = "anthropic:claude-sonnet-5"
_AGENT = "---\nname: release-helper\ntools: Read\n---\nYou prepare releases.\n"
#: Delegations of a small plan and of a large one, whose memory is compared.
_FEW, _MANY = 100, 1_000
_taken: dict[str, float] = {}


def _script() -> dict[str, Any]:
    """Two turns an agent: it reads, then it answers; together they take as long as the agent is to take."""
    reads = {"tools": [{"name": "Read", "input": {"file_path": f"app/{name}.py"}} for name in ("login", "session")]}
    turns = {}
    for number in range(1, _AGENTS + 1):
        seconds = _LONGEST * number / _AGENTS
        turns[f"task <{number}>"] = [{**reads, "delay": seconds / 2}, {"text": result("generic"), "delay": seconds / 2}]
    return {"conversations": turns}


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


async def _plan(database: Database, data: Path, numbers: list[int]) -> float:
    """Seconds from the plan to its merged end."""
    delegations = tuple(
        DelegationSpec(agent="release-helper", task=f"task <{number}>", model=_MODEL) for number in numbers
    )
    spec = Plan(name="bench", phases=(PhaseSpec(name="all", delegations=delegations, parallel=_AGENTS),))
    settings = load_settings()._replace(state=data, texts=data, database=None)
    async with ensure_worker(database, settings, concurrency=_AGENTS) as queue:
        begun = time.perf_counter()
        number = await delegating.begin_plan(database, spec, project(), is_new=True)
        await delegating.drive_plan(
            database, settings, number, queue=queue, resolving=Resolving(registry=registry(_AGENT))
        )
        taken = time.perf_counter() - begun
    found = await delegating.plan_result(database, number)
    if {one.state for one in found.delegations} != {"accepted"}:
        message = f"not every agent of the bench was accepted: {[one.error for one in found.delegations]}"
        raise RuntimeError(message)
    return taken


async def _measured(folder: Path) -> float:
    async with open_database(None, folder / "data") as database:
        await _plan(database, folder / "data", [1])  # imports, connections
        _taken["alone"] = await _plan(database, folder / "data", [_AGENTS])
        _taken["all"] = await _plan(database, folder / "data", list(range(1, _AGENTS + 1)))
    return _taken["all"] / _LONGEST


def _overhead() -> float:
    from support.model_process import model_process  # type: ignore[import-not-found,unused-ignore]

    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name, model_process(_script(), Path(name)) as server:
        keys = {"ANTHROPIC_API_KEY": "bench", "ANTHROPIC_BASE_URL": server.url}
        with _environment(keys):
            return asyncio.run(_measured(Path(name)))


async def _many(folder: Path, number: int) -> None:
    """A plan of many delegations, each done by a program that prints a result."""
    text = folder / "result.md"
    text.write_text(result("generic"), encoding="utf-8")
    one = DelegationSpec(agent="release-helper", task="look", runner="command", command="say")
    spec = Plan(name="many", phases=(PhaseSpec(name="all", delegations=(one,) * number, parallel=_AGENTS),))
    settings = load_settings()._replace(
        state=folder / "data", texts=folder / "data", database=None, runners={"say": f"cat {text}"}
    )
    async with (
        open_database(None, folder / "data") as database,
        ensure_worker(database, settings, concurrency=_AGENTS) as queue,
    ):
        plan = await delegating.begin_plan(database, spec, project(), is_new=True)
        await delegating.drive_plan(database, settings, plan, queue=queue)
        found = await delegating.plan_result(database, plan, whole=False)
    if {one.state for one in found.delegations} != {"accepted"}:
        message = f"not every delegation of the bench was accepted: {found.delegations[0].error}"
        raise RuntimeError(message)


def _peak(number: int) -> float:
    """Return the peak memory in megabytes of driver and worker of such a plan, in a separate process."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        words = [sys.executable, __file__, str(number), name]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _memory() -> float:
    for number in (_FEW, _MANY):
        begun = time.perf_counter()
        _taken[f"peak {number}"] = _peak(number)
        _taken[f"seconds {number}"] = time.perf_counter() - begun
    return _taken[f"peak {_MANY}"] / _taken[f"peak {_FEW}"]


def _explain_memory() -> list[str]:
    few, many = _taken[f"peak {_FEW}"], _taken[f"peak {_MANY}"]
    return [f"{_FEW} delegations: {few:.0f} MB; {_MANY:,}: {many:.0f} MB, in {_taken[f'seconds {_MANY}']:.0f} s"]


def _explain() -> list[str]:
    own = f"its longest agent is scripted to take {_LONGEST:g} s and took {_taken['alone']:.2f} s alone"
    return [f"a plan of {_AGENTS} agents took {_taken['all']:.2f} s; {own}"]


def benches() -> list[Bench]:
    """What is measured."""
    name = f"a plan of {_AGENTS} agents side by side, merged"
    many = f"peak memory of a plan of {_MANY:,} delegations"
    return [
        Bench(name, "the time its longest agent is scripted for", "×", 1.2, _overhead, _explain),
        Bench(many, f"that of one of {_FEW}", "×", 1.25, _memory, _explain_memory),
    ]


if __name__ == "__main__":
    asyncio.run(_many(Path(sys.argv[2]), int(sys.argv[1])))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
