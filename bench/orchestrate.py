"""What a plan costs: twenty scripted agents side by side against the longest of them."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Bench

from remit.dispatch.settings import load_settings
from remit.dispatch.submitting import Resolving
from remit.orchestrate import api
from remit.orchestrate.model import DelegationSpec, PhaseSpec, Plan
from remit.orchestrate.serving import served
from remit.store.database import Database, open_database
from remit.testing import project, registry, result

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # where the scripted model is

_AGENTS = 20
#: Seconds; a real one takes longer, so this is a hard case for what the plan adds.
_LONGEST = 8.0
_MODEL = "anthropic:claude-sonnet-5"
_AGENT = "---\nname: scout\ntools: Read\n---\nYou scout.\n"
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
    delegations = tuple(DelegationSpec(agent="scout", task=f"task <{number}>", model=_MODEL) for number in numbers)
    spec = Plan(name="bench", phases=(PhaseSpec(name="all", delegations=delegations, parallel=_AGENTS),))
    settings = load_settings()._replace(data=data, database=None)
    async with served(database, settings, concurrency=_AGENTS) as queue:
        begun = time.perf_counter()
        number = await api.begin(database, spec, project(), is_new=True)
        await api.drive(database, settings, number, queue=queue, resolving=Resolving(registry=registry(_AGENT)))
        taken = time.perf_counter() - begun
    found = await api.result_of(database, number)
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


def _explain() -> list[str]:
    own = f"its longest agent is scripted to take {_LONGEST:g} s and took {_taken['alone']:.2f} s alone"
    return [f"a plan of {_AGENTS} agents took {_taken['all']:.2f} s; {own}"]


def benches() -> list[Bench]:
    """What is measured."""
    name = f"a plan of {_AGENTS} agents side by side, merged"
    return [Bench(name, "the time its longest agent is scripted for", "×", 1.2, _overhead, _explain)]
