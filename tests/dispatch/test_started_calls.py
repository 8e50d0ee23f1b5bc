"""Read-only calls whose start is stored together with the response that makes them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart
from support.running import Fleet, Play, tools

from remit.dispatch.event_writer import EventWriter
from remit.dispatch.tools.toolbox import Toolbox
from remit.dispatch.toolset import Calls, job_tools
from remit.store import jobs
from remit.store.jobs import Job
from remit.store.transcript import (
    ActualUsage,
    BegunCall,
    BudgetRequest,
    Reservation,
    StepRecord,
    StoredEvent,
    Transcript,
    reserve,
    settle,
)

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
READ: tuple[str, Any] = ("Read", {"file_path": "a.txt"})
CALLS = "SELECT call, state, output FROM remit.tool_calls ORDER BY call"


async def claimed(fleet: Fleet, number: int) -> Job:
    job = await jobs.claim(fleet.database, number, "00000000-0000-0000-0000-000000000001", None)
    assert isinstance(job, Job)
    return job


def calls_of(fleet: Fleet, job: Job) -> Calls:
    events = EventWriter(fleet.database, job.id, job.attempt)
    calls = Calls(Transcript(fleet.database, job.id, job.attempt), events, is_redacting=True)
    job_tools(Toolbox(fleet.project, ["Read", "Grep", "Write"], spill=fleet.project / "spill"), calls)
    return calls


def response(*parts: tuple[str, Any], ids: str = "abc") -> ModelResponse:
    made = [ToolCallPart(name, given, tool_call_id=key) for (name, given), key in zip(parts, ids, strict=False)]
    return ModelResponse(made)


async def test_only_responses_that_only_read_are_stored_with_their_calls(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        calls = calls_of(fleet, await claimed(fleet, await fleet.submit()))

        begun, events = await calls.begin(response(READ, ("Grep", '{"pattern": "x"}')), 3)
        assert begun == [BegunCall("3:a", 3, *READ), BegunCall("3:b", 3, "Grep", {"pattern": "x"})]
        assert [(event.kind, event.data["call"]) for event in events] == [("tool", "3:a"), ("tool", "3:b")]

        for other in (("Write", {"file_path": "a.txt"}), ("Unknown", {}), ("Read", "{"), ("Read", "[1]"), ("Read", "")):
            assert await calls.begin(response(READ, other), 3) == ([], []), other
        assert await calls.begin(response(READ, READ, ids="aa"), 3) == ([], []), "an id that is used twice"


async def test_a_response_that_is_stored_again_starts_no_call_again(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        job = await claimed(fleet, await fleet.submit())
        transcript = Transcript(fleet.database, job.id, job.attempt)
        held = await reserve(fleet.database, job.id, job.attempt, BudgetRequest(10, 10, 1))
        assert isinstance(held, Reservation)
        begun = BegunCall("1:a", 1, *READ)
        record = StepRecord(1, b"{}", events=[StoredEvent("tool", {})], begun=[begun])

        async def settled() -> frozenset[str]:
            return await settle(fleet.database, job.id, job.attempt, held, ActualUsage(10, 1), record)

        assert await settled() == {"1:a"}
        assert await settled() == frozenset(), "the answer to the first write was lost"
        assert await fleet.rows(CALLS) == [("1:a", "pending", None)]
        await transcript.finish_call("1:a", "found", None, is_failed=False)
        assert await settled() == frozenset()
        assert await fleet.rows(CALLS) == [("1:a", "done", "found")]


async def test_a_response_that_is_cut_off_starts_no_call(play: Play) -> None:
    async with play({**tools(("Grep", {"pattern": "x"})), "stop": "max_tokens"}) as fleet:
        number = await fleet.submit()
        await fleet.work()
        assert (await fleet.job(number)).outcome == "truncated"
        assert await fleet.rows(CALLS) == []
