"""How often workers talk to the database: the same number of times for every turn, and for every job."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from support.running import Fleet, Play, tools

from remit.dispatch import submit as submitting
from remit.dispatch.attempt import AttemptParts
from remit.dispatch.finish import RunEnd
from remit.dispatch.worker import Worker
from remit.registry.definition import JobRequest
from remit.store.database import Database, query

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
#: For a turn with one call of a read-only tool: before and after the request. The start of the call is stored with the
#: response, and what it returned with the next request.
MAX_PER_TURN = 2


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the connections that a job takes from the pool; what its worker does from time to time is left out."""
    counted: Counter[str] = Counter()
    real = Database.connection

    async def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(Worker, "_supervise", nothing)

    @asynccontextmanager
    async def connection(self: Database) -> AsyncIterator[Any]:
        counted["visits"] += 1
        async with real(self) as one:
            yield one

    monkeypatch.setattr(Database, "connection", connection)
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


async def test_a_turn_with_a_read_only_call_visits_the_database_twice(play: Play, visits: Counter[str]) -> None:
    few, many = [await conversation(play, visits, turns) for turns in (3, 33)]

    # Streamed text is also stored from time to time.
    assert (many - few) / 30 <= MAX_PER_TURN + 0.5


#: A job that only ends: its ticket, claim, brief, two events, limits, end.
MAX_PER_JOB = 9


async def _nothing(_: AttemptParts) -> RunEnd:
    return RunEnd("completed", "done")


@pytest.fixture
def all_visits(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the connections that are taken from any pool: also those of the queue."""
    counted: Counter[str] = Counter()
    real = AsyncConnectionPool.connection

    def connection(self: Any, *given: Any, **named: Any) -> Any:
        counted["visits"] += 1
        return real(self, *given, **named)

    monkeypatch.setattr(AsyncConnectionPool, "connection", connection)
    return counted


async def test_a_job_costs_the_same_number_of_visits_among_ten_times_as_many(
    play: Play, all_visits: Counter[str]
) -> None:
    needed = {}
    async with play({"text": "done"}) as fleet:
        brief = msgspec.structs.replace(await fleet.brief(await fleet.job(await fleet.submit())), runner="nothing")
        await fleet.work()
        for count in (5, 50):
            for number in range(count):
                request = JobRequest(prompt=f"task {number}", subagent_def="keeper")
                await submitting.insert(
                    fleet.database,
                    submitting.Submission(
                        request=request, brief=brief, workspace=str(fleet.project), project=fleet.settings.project
                    ),
                )
            all_visits.clear()
            await Worker(fleet.database, fleet.settings, runners={"nothing": _nothing}).run(until_idle=True)
            needed[count] = all_visits["visits"]
        [(finished,)] = await fleet.rows("SELECT count(*) FROM remit.jobs WHERE state = 'finished'")
    assert finished == 56
    assert (needed[50] - needed[5]) / 45 <= MAX_PER_JOB


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that are sent, in their order."""
    sent: list[str] = []
    real = psycopg.AsyncCursor.execute

    async def execute(self: Any, statement: Any, *given: Any, **named: Any) -> Any:
        sent.append(str(statement))
        return await real(self, statement, *given, **named)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", execute)
    return sent


async def test_a_job_takes_four_statements_besides_those_of_its_conversation(play: Play, statements: list[str]) -> None:
    async with play({"text": "done"}) as fleet:
        brief = msgspec.structs.replace(await fleet.brief(await fleet.job(await fleet.submit())), runner="nothing")
        await fleet.work()
        request = JobRequest(prompt="task", subagent_def="keeper")
        wanted = submitting.Submission(
            request=request, brief=brief, workspace=str(fleet.project), project=fleet.settings.project
        )
        statements.clear()
        await submitting.insert(fleet.database, wanted)
        assert statements == [query("jobs.submit")], "no BEGIN and COMMIT"
        await Worker(fleet.database, fleet.settings, runners={"nothing": _nothing}).run(until_idle=True)
        assert await fleet.rows("SELECT count(*) FROM procrastinate_jobs") == [(0,)]

    assert [statements.count(query(name)) for name in ("jobs.claim", "jobs.finish")] == [1, 1]
    assert "" not in statements, "no connection is checked by a round trip"
    assert not any("procrastinate_finish_job" in one for one in statements), "the end of a job removes its ticket"


#: Waiting jobs with their tickets.
_FILL = """
WITH made AS (
    INSERT INTO remit.jobs (agent, brief, request, prompt, workspace)
    SELECT agent, brief, request, prompt, workspace FROM remit.jobs, generate_series(1, {number}) WHERE id = 1
    RETURNING id)
INSERT INTO remit.procrastinate_jobs (queue_name, task_name, args)
SELECT 'default', 'remit.run', jsonb_build_object('job', id) FROM made
"""


async def test_a_claim_reads_as_many_pages_among_ten_times_as_many_waiting_jobs(play: Play) -> None:
    read = {}
    async with play({"text": "done"}) as fleet:
        await fleet.submit()
        for waiting in (300, 3_000):
            await fleet.rows(_FILL.format(number=waiting * 9 // 10))
            await fleet.rows("VACUUM ANALYZE")
            read[waiting] = await _pages_of_a_claim(fleet)
    assert read[3_000] <= 2 * read[300]


async def _pages_of_a_claim(fleet: Fleet) -> int:
    """Return how many pages the server looks at to take a ticket and claim its job."""
    explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
    worker = "00000000-0000-0000-0000-000000000001"
    pages = 0
    async with fleet.database.transaction() as connection:
        for statement, values in (
            ("SELECT * FROM procrastinate_fetch_job_v2(NULL, NULL)", {}),
            (query("jobs.claim"), {"job": 2, "worker": worker, "ticket": 2}),
        ):
            found = await connection.execute(explain + statement, values)  # type: ignore[arg-type]
            row = await found.fetchone()
            assert row is not None
            plan = row["QUERY PLAN"][0]["Plan"]
            pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return pages
