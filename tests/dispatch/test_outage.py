"""An outage of the database longer than the retry time: jobs are neither lost nor done twice."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from support.postgres import Postgres
from support.running import Play, tools
from support.waiting import until_async

from remit.errors import EnvironmentBroken
from remit.store.database import open_database, rows

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
APPENDS = "echo once >> effects.log"


@pytest.fixture
def address(own_postgres: Postgres) -> str:
    return own_postgres.database()


async def _said(caplog: pytest.LogCaptureFixture, words: str) -> None:
    async def found() -> bool:
        return any(words in one.getMessage() for one in caplog.records)

    await until_async(found, f"a worker says {words!r}")


@pytest.mark.parametrize("gate", [0, 2], ids=["before its first step", "after a command"])
async def test_a_job_whose_worker_gave_up_continues_when_the_database_is_back(
    own_postgres: Postgres, play: Play, gate: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    turns: list[dict[str, Any]] = [
        tools(("Read", {"file_path": "a.py"})),
        tools(("Bash", {"command": APPENDS})),
        {"text": "done"},
    ]
    turns[gate] = {**turns[gate], "gate": "held"}
    async with play(*turns, takeover_seconds=3.0, shutdown_seconds=0.5) as fleet:
        number = await fleet.submit(allowed_tools=["Read", "Bash"])
        async with fleet.working(), fleet.working():
            await fleet.server.wait("held")
            monkeypatch.setattr("remit.store.database.RETRY_SECONDS", 0.5)
            await asyncio.to_thread(own_postgres.crash)
            fleet.server.open("held")  # the answer arrives while it cannot be stored
            await _said(caplog, f"job {number} is returned to the queue: the database does not answer")
            await asyncio.to_thread(own_postgres.start)
            monkeypatch.setattr("remit.store.database.RETRY_SECONDS", 60.0)
            done = await fleet.reached(number, "finished")

        assert (done.outcome, done.turns, done.tool_calls) == ("completed", 3, 2), done.error
        assert (fleet.project / "effects.log").read_text(encoding="utf-8") == "once\n"
        assert await fleet.rows("SELECT count(*) FROM remit.messages WHERE job = %s", number) == [(6,)]
        asked = [request.turn for request in fleet.requests]
        assert asked in ([0, 1, 2], sorted([0, 1, 2, gate])), "only the turn in flight may be requested again"
        assert (await fleet.kinds(number)).count("finished") == 1


async def test_an_operation_that_must_not_be_repeated_reports_the_outage(
    own_postgres: Postgres, address: str, tmp_path: Path
) -> None:
    async with open_database(address, tmp_path) as database:
        asked: list[int] = []

        async def work() -> None:
            asked.append(1)
            async with database.transaction() as connection:
                await rows(connection, "workers.clock")

        await database.without_retry(work)
        await asyncio.to_thread(own_postgres.crash)
        for step in (work, lambda: database.once("workers.clock")):
            with pytest.raises(EnvironmentBroken, match="the database does not answer: "):
                await database.without_retry(step)
        assert len(asked) == 2, "nothing was tried again"
