"""A provider that is unreachable or fails: three retries, then an open circuit."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from pydantic_ai import exceptions
from support.commands import ANTHROPIC
from support.running import OPENAI, Fleet, Play, both_providers, tools
from support.waiting import fastest, until_async

from remit.dispatch import model_client
from remit.dispatch.finish import RunStopped
from remit.store import jobs, transcript, workers
from remit.store.database import Database, open_database

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
READ = tools(("Read", {"file_path": "a.py"}), text="Let me look.")
FAILURES: dict[str, dict[str, Any]] = {
    "529": {"fail": {"status": 529}},
    "500": {"fail": {"status": 500}},
    "503": {"fail": {"status": 503}},
    "429 with Retry-After": {"fail": {"status": 429, "retry_after": 0.01}},
    "an error inside the stream": {"fail": {"status": 529, "type": "overloaded_error", "after": 3}},
    "a cut connection": {"text": "some words", "chunks": 4, "truncate": 3},
    "a clean early end": {"text": "some words", "chunks": 4, "truncate": 3, "clean": True},
    "cut before anything": {"text": "some words", "truncate": 0},
}


@both_providers
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
async def test_a_transport_failure_is_an_error_after_three_retries(
    play: Play, model: str, failure: dict[str, Any], short_circuit: None
) -> None:
    async with play(READ, failure) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        assert "the provider failed 4 times" in str(done.error)
        assert [request.turn for request in fleet.requests] == [0, 1, 1, 1, 1]
        assert done.result
        assert (await fleet.kinds(done.id)).count("waiting") == 3
        assert done.turns == 1
        assert await fleet.rows("SELECT reserved_tokens FROM remit.jobs") == [(0,)]


@both_providers
async def test_a_stall_is_a_transport_failure(
    play: Play, model: str, short_circuit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.dispatch.model_client.REQUEST_SECONDS", 0.3)
    async with play(READ, {"text": "some words", "stall": True, "until": "never"}) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        assert "the provider failed 4 times" in str(done.error)


@both_providers
async def test_a_stall_inside_an_answer_is_a_transport_failure(
    play: Play, model: str, short_circuit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.dispatch.model_client.REQUEST_SECONDS", 0.3)
    async with play({"text": "some words here", "chunks": 3, "stall": True, "until": "never", "after": 4}) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        assert "the provider failed 4 times" in str(done.error)


@both_providers
async def test_a_missing_server_is_a_transport_failure(
    play: Play, model: str, short_circuit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with play({"text": "never"}) as fleet:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        assert "the provider failed 4 times" in str(done.error)


@both_providers
async def test_a_success_resets_the_count_of_failures(play: Play, model: str, short_circuit: None) -> None:
    def failing(turn: dict[str, Any]) -> dict[str, Any]:
        return {**turn, "fail": {"status": 529, "times": 2}}

    async with play(failing(READ), failing(READ), failing({"text": "done"})) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.result, done.turns) == ("completed", "done", 3)
        assert [request.turn for request in fleet.requests] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
        assert await fleet.rows("SELECT failures, open_until FROM remit.circuits") == [(0, None)]


@both_providers
async def test_text_of_an_interrupted_answer_is_not_part_of_the_next(
    play: Play, model: str, short_circuit: None
) -> None:
    """The final answer is complete; the text of the interrupted one stays in the events."""
    turn = {"text": "whole", "fail": {"status": 529, "after": 5}}
    async with play(turn) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.result) == ("completed", "whole")


@both_providers
async def test_a_longer_pause_requested_by_the_provider_is_used(
    play: Play, model: str, short_circuit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    original = asyncio.sleep

    async def sleep(seconds: float, *rest: Any) -> None:
        waited.append(seconds)
        await original(0, *rest)

    async with play({"text": "done", "fail": {"status": 429, "retry_after": 7}}) as fleet:
        number = await fleet.submit(model=model)
        monkeypatch.setattr("remit.dispatch.conversation.asyncio.sleep", sleep)
        await fleet.work()
        monkeypatch.setattr("remit.dispatch.conversation.asyncio.sleep", original)
        assert (await fleet.job(number)).outcome == "completed"
        assert 7.0 in waited
        [told] = [event.data for event in await fleet.events(number) if event.kind == "waiting"]
        assert told["seconds"] == 7.0


def test_pauses_are_two_four_and_eight_seconds_with_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_client, "PAUSES", (2.0, 4.0, 8.0))
    for number, usual in enumerate((2.0, 4.0, 8.0)):
        found = [model_client.retry_delay(number, None) for _ in range(200)]
        assert usual * 0.75 <= min(found) < max(found) <= usual * 1.25
        assert len(set(found)) > 1
        assert model_client.retry_delay(number, 60.0) == 60.0
        assert model_client.retry_delay(number, 300.0) == 300.0
        assert model_client.retry_delay(number, 9_999.0) == model_client.MAX_PAUSE == 600.0


async def test_a_long_wait_keeps_the_job_from_counting_as_hung(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    touched: list[tuple[int, int]] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def touch(_: Any, job: int, attempt: int) -> None:
        touched.append((job, attempt))

    async with play({"text": "done"}) as fleet:
        client = model_client.ModelClient(fleet.database, 7, 2, ANTHROPIC, None)
        with monkeypatch.context() as patched:
            patched.setattr("remit.dispatch.model_client.asyncio.sleep", sleep)
            patched.setattr("remit.dispatch.model_client.jobs.touch", touch)
            await client.pause(35.0)
    assert waited == [10.0, 10.0, 10.0, 5.0]
    assert touched == [(7, 2)] * 3


async def test_the_circuit_opens_after_three_failures_for_half_a_minute_for_every_worker(play: Play) -> None:
    """The state is in the database, so other processes see it."""
    async with play({"text": "done"}) as fleet:
        for _ in range(2):
            assert not await workers.provider_failed(fleet.database, "anthropic")
        job, attempt = await claimed(fleet)
        assert (await reserved(fleet.database, job, attempt, "anthropic")).wait == 0
        assert await workers.provider_failed(fleet.database, "anthropic")
        async with open_database(fleet.database.address, fleet.settings.state) as other:
            assert (await reserved(other, job, attempt, "openai")).wait == 0
            held = await reserved(other, job, attempt, "anthropic")
            assert 28 < held.wait <= 30
            await transcript.settle(other, job, attempt, held, transcript.ActualUsage(), answered="openai")
            assert (await reserved(other, job, attempt, "anthropic")).wait > 28
            await transcript.settle(other, job, attempt, held, transcript.ActualUsage(), answered="anthropic")
        assert (await reserved(fleet.database, job, attempt, "anthropic")).wait == 0


async def claimed(fleet: Fleet) -> tuple[int, int]:
    job = await jobs.claim(fleet.database, await fleet.submit(), "00000000-0000-0000-0000-000000000000", None)
    assert isinstance(job, jobs.Job)
    return job.id, job.attempt


async def reserved(database: Database, job: int, attempt: int, provider: str) -> transcript.Reservation:
    held = await transcript.reserve(database, job, attempt, transcript.BudgetRequest(100, 1_000, 64, provider=provider))
    assert isinstance(held, transcript.Reservation)
    return held


async def test_an_open_circuit_delays_only_its_provider(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play({"text": "done"}) as fleet:
        monkeypatch.setattr(workers, "CIRCUIT_SECONDS", 600.0)
        for _ in range(3):
            await workers.provider_failed(fleet.database, "anthropic")

        async def cancelled() -> float:
            kept = await fleet.submit("kept", model=ANTHROPIC)
            await until_async(lambda: _is_asking(fleet, kept), "the job has reached its turn")
            assert len(fleet.requests) == 1
            began = time.monotonic()
            await fleet.cancel(kept)
            assert (await fleet.reached(kept, "finished")).outcome == "cancelled"
            return time.monotonic() - began

        free = await fleet.submit("free", model=OPENAI)
        async with fleet.working():
            assert (await fleet.reached(free, "finished")).outcome == "completed"
            assert await fastest(cancelled, 1.0) < 1.0


async def _is_asking(fleet: Any, number: int) -> bool:
    return "turn" in await fleet.kinds(number)


async def test_failures_of_several_jobs_open_the_circuit_together(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CIRCUIT_SECONDS", 600.0)
    async with play({"fail": {"status": 529}}) as fleet:
        for number in range(3):
            await fleet.submit(f"job {number}")
        async with fleet.working():

            async def is_open() -> bool:
                return bool(await fleet.rows("SELECT 1 FROM remit.circuits WHERE open_until > now()"))

            await until_async(is_open, "the circuit is open")
            for number in range(1, 4):
                await fleet.cancel(number)
                await fleet.reached(number, "finished")
        assert len(fleet.requests) <= 5


def test_a_refusal_is_reported_with_the_message_of_the_provider() -> None:
    body = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
    found = model_client.classify_error(exceptions.ModelHTTPError(401, "claude-sonnet-5", body))
    assert isinstance(found, RunStopped)
    assert (found.outcome, found.error) == ("error", "the provider refused: invalid x-api-key (401)")


@pytest.mark.parametrize("body", [None, "", {}, {"error": None}, {"error": {"message": 7}}, ["a"]])
def test_a_refusal_in_an_unknown_form_is_reported_unchanged(body: object) -> None:
    found = model_client.classify_error(exceptions.ModelHTTPError(418, "claude-sonnet-5", body))
    assert isinstance(found, RunStopped)
    assert found.error.startswith("the provider refused: ")
    assert "418" in found.error
