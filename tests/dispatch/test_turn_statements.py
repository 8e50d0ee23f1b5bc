"""How often a conversation talks to the database: the same number of times for every turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.running import Play, tools

from remit.store.database import Database

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
#: For a turn with one tool call: before and after the request, before and after the call, the provider's state twice.
MAX_PER_TURN = 6


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the connections that are taken from the pool while the model is asked or a tool runs."""
    counted: Counter[str] = Counter()
    real = Database._connection

    @asynccontextmanager
    async def connection(self: Database) -> AsyncIterator[Any]:
        counted["visits"] += 1
        async with real(self) as one:
            yield one

    monkeypatch.setattr(Database, "_connection", connection)
    return counted


async def conversation(play: Play, visits: Counter[str], turns: int) -> int:
    """Return the visits of a job with this number of turns."""
    script = [tools(("Grep", {"pattern": f"leak {turn}"})) for turn in range(turns - 1)]
    async with play(*script, {"text": "done"}) as fleet:
        number = await fleet.submit(max_turns=turns + 1)
        visits.clear()
        await fleet.work()
        done = await fleet.job(number)
    assert (done.outcome, done.turns) == ("completed", turns)
    return visits["visits"]


async def test_a_turn_with_a_tool_call_visits_the_database_six_times(play: Play, visits: Counter[str]) -> None:
    few, many = [await conversation(play, visits, turns) for turns in (3, 33)]

    # The worker itself looks for work and beats while the conversation runs.
    assert (many - few) / 30 <= MAX_PER_TURN + 0.5
