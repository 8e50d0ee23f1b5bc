"""The queue: order, limits, refusals and keys."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any

import psycopg
import pytest
from support.commands import ANTHROPIC
from support.running import OPENAI, Fleet, Play, tools
from support.waiting import until_async

from remit.dispatch import submit as submitting
from remit.dispatch.submit import MAX_DEPTH, Queueing
from remit.errors import UsageError
from remit.store import jobs

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DONE = {"text": "done"}
WAITS = {"text": "done", "gate": "answers"}


def prompts(fleet: Fleet) -> list[str]:
    """Return the tasks in the order of the requests."""
    found = []
    for request in fleet.requests:
        content = request.body["messages"][0]["content"]
        found.append(content if isinstance(content, str) else content[0]["text"])
    return found


async def test_higher_priorities_run_first_and_equal_ones_in_order(play: Play) -> None:
    async with play(DONE) as fleet:
        for name, priority in (("low", -5), ("first", 0), ("second", 0), ("high", 7)):
            await fleet.submit(name, queueing=Queueing(priority=priority))
        await fleet.work(concurrency=1)
        assert prompts(fleet) == ["high", "first", "second", "low"]


async def test_a_delayed_job_waits(play: Play) -> None:
    async with play(DONE) as fleet:
        late = await fleet.submit("late", queueing=Queueing(delay=3600))
        soon = await fleet.submit("soon")
        await fleet.work()
        assert (await fleet.job(late)).state == "queued"
        assert (await fleet.job(soon)).outcome == "completed"
        await fleet.rows("UPDATE procrastinate_jobs SET scheduled_at = now()")
        await fleet.work()
        assert (await fleet.job(late)).outcome == "completed"


async def test_one_key_is_one_job(play: Play) -> None:
    async with play(DONE) as fleet:
        first = await fleet.submit(queueing=Queueing(key="k"))
        assert await fleet.submit(queueing=Queueing(key="k")) == first, "while it waits"
        await fleet.work()
        assert await fleet.submit(queueing=Queueing(key="k")) == first, "and when it is completed"
        assert await fleet.submit(queueing=Queueing(key="other")) != first
        await fleet.work()
        assert len(fleet.requests) == 2


async def test_a_failed_or_cancelled_job_frees_its_key(play: Play) -> None:
    async with play({"text": "done", "fail": {"status": 400}}) as fleet:
        failed = await fleet.submit(queueing=Queueing(key="k"))
        await fleet.work()
        assert (await fleet.job(failed)).outcome == "error"
        second = await fleet.submit(queueing=Queueing(key="k"))
        assert second != failed
        await fleet.cancel(second)
        third = await fleet.submit(queueing=Queueing(key="k"))
        assert third not in (failed, second)


async def test_two_parallel_submissions_with_one_key_create_one_job(play: Play) -> None:
    async with play(DONE) as fleet:
        found = await asyncio.gather(*(fleet.submit(queueing=Queueing(key="k")) for _ in range(8)))
        assert len(set(found)) == 1
        assert await fleet.rows("SELECT count(*) FROM remit.jobs") == [(1,)]
        assert await fleet.rows("SELECT count(*) FROM procrastinate_jobs") == [(1,)]


async def test_a_retry_of_a_job_whose_key_is_in_use_is_refused(play: Play) -> None:
    async with play(DONE) as fleet:
        first = await fleet.submit(queueing=Queueing(key="k"))
        await fleet.cancel(first)
        await fleet.submit(queueing=Queueing(key="k"))
        with pytest.raises(UsageError, match="key"):
            await jobs.retry(fleet.database, first)


async def test_the_limit_of_a_queue_applies_across_two_workers(play: Play) -> None:
    async with play(WAITS, queue_limits={"narrow": 2}) as fleet:
        narrow = [await fleet.submit(f"narrow {n}", queueing=Queueing(queue="narrow")) for n in range(4)]
        wide = [await fleet.submit(f"wide {n}") for n in range(2)]
        async with fleet.working(), fleet.working():
            await fleet.server.wait("answers", waiting=4)
            running = await jobs.list_jobs(fleet.database, state="running", agent=None, limit=10)
            assert sorted(job.queue for job in running) == ["default", "default", "narrow", "narrow"]
            fleet.server.open("answers")
            done = [await fleet.reached(number, "finished") for number in (*narrow, *wide)]
        assert {job.outcome for job in done} == {"completed"}
        assert await _most_at_once(fleet, narrow) == 2


async def _most_at_once(fleet: Fleet, numbers: list[int]) -> int:
    """Return the largest number of jobs that ran at the same time."""
    found = await fleet.rows("SELECT started, finished FROM remit.jobs WHERE id = ANY(%s)", numbers)
    return max(sum(began <= at < ended for began, ended in found) for at, _ in found)


async def test_a_delayed_job_does_not_start_early_when_its_queue_has_a_free_slot(play: Play) -> None:
    async with play(DONE, queue_limits={"few": 1}) as fleet:
        late = await fleet.submit("late", queueing=Queueing(queue="few", delay=600, priority=9))
        first = await fleet.submit("first", queueing=Queueing(queue="few"))
        async with fleet.working(queues=["few"]):
            await fleet.reached(first, "finished")
            second = await fleet.submit("second", queueing=Queueing(queue="few"))
            await fleet.reached(second, "finished")
        assert (await fleet.job(late)).state == "queued"


async def test_the_limit_of_a_provider_applies_across_two_workers(play: Play) -> None:
    async with play(WAITS, provider_limits={"anthropic": 2}) as fleet:
        kept = [await fleet.submit(f"kept {n}", model=ANTHROPIC) for n in range(4)]
        free = [await fleet.submit(f"free {n}", model=OPENAI) for n in range(2)]
        async with fleet.working(), fleet.working():
            await fleet.server.wait("answers", waiting=4)

            async def all_running() -> bool:
                found = await fleet.rows("SELECT count(*) FROM remit.events WHERE kind = 'turn'")
                return bool(found[0][0] == 6)

            await until_async(all_running, "every job got as far as its first turn")
            asked = [request.path for request in fleet.requests]
            assert sorted(asked) == ["/v1/messages"] * 2 + ["/v1/responses"] * 2
            assert await fleet.rows("SELECT count(*) FROM remit.slots") == [(2,)]
            fleet.server.open("answers")
            done = [await fleet.reached(number, "finished") for number in (*kept, *free)]
        assert {job.outcome for job in done} == {"completed"}
        assert await fleet.rows("SELECT count(*) FROM remit.slots") == [(0,)]


async def test_a_slot_is_freed_when_its_call_fails_or_is_cancelled(play: Play, short_circuit: None) -> None:
    async with play({"text": "x", "stall": True}, provider_limits={"anthropic": 1}) as fleet:
        number = await fleet.submit()
        async with fleet.working():
            await fleet.server.wait("release")
            assert await fleet.rows("SELECT count(*) FROM remit.slots") == [(1,)]
            await fleet.cancel(number)
            await fleet.reached(number, "finished")
        assert await fleet.rows("SELECT count(*) FROM remit.slots") == [(0,)]


async def test_a_worker_takes_only_its_queues(play: Play) -> None:
    async with play(DONE) as fleet:
        ours = await fleet.submit("ours", queueing=Queueing(queue="ours"))
        theirs = await fleet.submit("theirs", queueing=Queueing(queue="theirs"))
        async with fleet.working(queues=["ours"]):
            await fleet.reached(ours, "finished")
        assert (await fleet.job(theirs)).state == "queued"


async def test_the_depth_of_jobs_is_limited(play: Play) -> None:
    async with play(DONE) as fleet:
        number = await fleet.submit()
        top = number
        for _ in range(MAX_DEPTH):
            number = await fleet.submit(queueing=Queueing(parent=number))
        deepest = await fleet.job(number)
        assert (deepest.depth, deepest.root) == (MAX_DEPTH, top)
        with pytest.raises(UsageError, match=f"the maximum depth is {MAX_DEPTH}"):
            await fleet.submit(queueing=Queueing(parent=number))


async def test_the_number_of_children_is_limited(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitting, "MAX_CHILDREN", 3)
    async with play(DONE) as fleet:
        top = await fleet.submit()
        tries = (fleet.submit(queueing=Queueing(parent=top)) for _ in range(6))
        found = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(one, int) for one in found) == 3, "also when they come at once"
        assert all("the maximum is 3" in str(one) for one in found if not isinstance(one, int))


async def test_children_of_a_cancelled_job_are_cancelled(play: Play) -> None:
    async with play({"text": "x", "stall": True}) as fleet:
        top, other = await fleet.submit(), await fleet.submit(queueing=Queueing(delay=600))
        child = await fleet.submit(queueing=Queueing(parent=top, delay=600))
        grandchild = await fleet.submit(queueing=Queueing(parent=child, delay=600))
        async with fleet.working():
            await fleet.server.wait("release")
            await fleet.cancel(top)
            for number in (top, child, grandchild):
                assert (await fleet.reached(number, "finished")).outcome == "cancelled"
        assert (await fleet.job(other)).state == "queued"


async def test_cancelling_is_atomic(play: Play) -> None:
    async with play(DONE) as fleet:
        top = await fleet.submit()
        child = await fleet.submit(queueing=Queueing(parent=top))
        await fleet.rows("CREATE FUNCTION broken() RETURNS trigger AS $$ BEGIN RAISE 'no'; END $$ LANGUAGE plpgsql")
        await fleet.rows(
            "CREATE TRIGGER broken BEFORE UPDATE ON remit.jobs FOR EACH ROW WHEN (OLD.parent IS NOT NULL)"
            " EXECUTE FUNCTION broken()"
        )
        with pytest.raises(psycopg.errors.RaiseException):
            await fleet.cancel(top)
        assert [(await fleet.job(number)).state for number in (top, child)] == ["queued", "queued"]


async def test_a_cancellation_reaches_the_job_although_the_caller_has_gone(play: Play) -> None:
    """The request and its notification are one transaction."""
    async with play({"text": "x", "stall": True}) as fleet:
        number = await fleet.submit()
        async with fleet.working():
            await fleet.server.wait("release")
            await fleet.database.once("jobs.cancel", job=number)
            assert (await fleet.reached(number, "finished")).outcome == "cancelled"


async def test_a_missing_parent_is_refused(play: Play) -> None:
    async with play(DONE) as fleet:
        with pytest.raises(UsageError, match="the parent job 99 does not exist"):
            await fleet.submit(queueing=Queueing(parent=99))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no provider": ({"model": "my-model"}, "has no provider: write provider:model"),
    "unknown provider": ({"model": "antropic:claude-opus-5"}, "there is no provider 'antropic'"),
    "no tools": ({"model": "snowflake:llama3.1-8b"}, "cannot call tools: choose another"),
    "no prompt": ({"prompt": "  "}, "the prompt of the job is empty"),
    "unknown command": ({"runner": "command", "command": "lintr"}, "there is no command 'lintr'"),
    "no command": ({"runner": "command"}, "needs a command: one of"),
    "no git": ({"isolation": "worktree"}, "is not a git checkout"),
    "money without a price": ({"model": "openai:my-own-model", "limits": {"cost": 1.0}}, "price"),
}


@pytest.mark.parametrize(("request_", "words"), REFUSED.values(), ids=REFUSED)
async def test_invalid_submissions_are_refused_with_a_hint(play: Play, request_: dict[str, Any], words: str) -> None:
    async with play(DONE, runners={"linter": "ruff check"}) as fleet:
        with pytest.raises(UsageError) as refused:
            await fleet.submit(**{"prompt": "go", **request_})
        assert words in str(refused.value)
        assert await fleet.rows("SELECT count(*) FROM remit.jobs") == [(0,)]


async def test_a_similar_command_is_suggested(play: Play) -> None:
    async with play(DONE, runners={"linter": "ruff check"}) as fleet:
        with pytest.raises(UsageError, match="did you mean 'linter'"):
            await fleet.submit(runner="command", command="lintr")


async def test_a_model_without_tools_is_accepted_for_a_job_without_tools(play: Play) -> None:
    async with play(DONE) as fleet:
        assert await fleet.submit(model=OPENAI, allowed_tools=[])


async def test_many_jobs_are_each_run_once_by_two_workers(play: Play) -> None:
    async with play(tools(("Read", {"file_path": "a.py"})), DONE) as fleet:
        numbers = [await fleet.submit(f"job {n}") for n in range(20)]
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(fleet.working())
            done = [await fleet.reached(number, "finished") for number in numbers]
        assert {(job.outcome, job.attempt, job.turns, job.tool_calls) for job in done} == {("completed", 1, 2, 1)}
        assert len(fleet.requests) == 40


async def test_a_ticket_that_is_gone_when_its_job_ends_is_not_an_error(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    """Another worker removes it if it took the job for one of a dead worker."""
    async with play({"text": "done", "gate": "asked"}) as fleet, fleet.working():
        number = await fleet.submit()
        await fleet.server.wait("asked")
        await fleet.rows("DELETE FROM remit.procrastinate_jobs")
        fleet.server.open("asked")
        await fleet.reached(number, "finished")
    gc.collect()

    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_worker_until_idle_waits_for_jobs_of_limited_queues(play: Play) -> None:
    async with play(DONE, queue_limits={"narrow": 1}) as fleet:
        numbers = [await fleet.submit(f"job {n}", queueing=Queueing(queue="narrow")) for n in range(3)]
        await fleet.work()
        assert [(await fleet.job(number)).outcome for number in numbers] == ["completed"] * 3


async def test_a_list_of_jobs_has_no_long_texts_by_default(play: Play) -> None:
    async with play({"text": "x" * 1000}) as fleet:
        number = await fleet.submit("y" * 3000)
        await fleet.work()

        [lean] = await jobs.list_jobs(fleet.database, state=None, agent=None, limit=10)
        [whole] = await jobs.list_jobs(fleet.database, state=None, agent=None, limit=10, is_whole=True)

        assert (lean.id, lean.outcome, lean.prompt, lean.result, lean.request) == (
            *(number, "completed"),
            *("y" * 1000, None, {}),
        )
        assert whole == await fleet.job(number)
        assert (whole.prompt, whole.result) == ("y" * 3000, "x" * 1000)
