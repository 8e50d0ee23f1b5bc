"""The eight outcomes of a job; each keeps the partial output."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from support.commands import ANTHROPIC
from support.running import OPENAI, Play, both_providers, there, tools
from support.waiting import fastest

from remit.dispatch.submit import Queueing
from remit.store import jobs
from remit.testing import project as sample_project
from remit.testing import result

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
READ = tools(("Read", {"file_path": "a.py"}), text="Let me look.")


@both_providers
async def test_completed_and_accepted(play: Play, model: str) -> None:
    """The result cites files, so the agent must have read them."""
    document = result("generic").replace("Release Helper", "Keeper")
    reads = [("Read", {"file_path": str(path.relative_to(sample_project()))}) for path in _files()]
    used = {"usage": {"input": 20_000, "output": 4_000}}
    async with play(tools(*reads, ("Bash", {"command": "true"})) | used, {"text": document} | used) as fleet:
        fleet.project = sample_project()
        done = await fleet.run(model=model, allowed_tools=["Read", "Bash"])
        assert (done.outcome, done.error, done.verdict) == ("completed", None, "accept")
        assert done.result == document.strip()
        assert (done.turns, done.tool_calls, done.attempt) == (2, len(reads) + 1, 1)
        assert (done.input_tokens, done.output_tokens) == (40_000, 8_000)
        assert done.is_priced
        assert done.cost > 0
        assert await fleet.rows("SELECT submission, verdict FROM remit.results") == [(1, "accept")]


def _files() -> list[Any]:
    return sorted(path for path in sample_project().rglob("*.py"))


@both_providers
async def test_a_completed_job_can_have_a_result_that_is_not_accepted(play: Play, model: str) -> None:
    async with play({"text": "It all looks fine to me."}) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.verdict) == ("completed", "revise")
        [(report,)] = await fleet.rows("SELECT report FROM remit.results")
        assert "title-missing" in [one["rule"] for one in report["violations"]]


@both_providers
async def test_max_turns(play: Play, model: str) -> None:
    async with play(READ, READ | {"text": "Once more."}, {"text": "never asked for"}) as fleet:
        done = await fleet.run(model=model, max_turns=2)
        assert (done.outcome, done.turns, done.result) == ("max-turns", 2, "Once more.")
        assert "2 turns are used up" in str(done.error)
        assert len(fleet.requests) == 2
        assert done.verdict is None


@both_providers
async def test_truncated(play: Play, model: str) -> None:
    async with play({"text": "The first half of", "stop": "max_tokens"}) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.result) == ("truncated", "The first half of")
        assert "cut off" in str(done.error)


@both_providers
async def test_a_truncated_tool_call_is_never_run(play: Play, model: str) -> None:
    cut = {"name": "Write", "raw": '{"file_path": "new.py", "content": "half'}
    async with play({"text": "Writing.", "tools": [cut], "stop": "max_tokens"}) as fleet:
        done = await fleet.run(model=model, allowed_tools=["Write"])
        assert (done.outcome, done.result) == ("truncated", "Writing.")
        assert not (fleet.project / "new.py").exists()
        assert done.tool_calls == 0


@both_providers
async def test_refused(play: Play, model: str) -> None:
    async with play(READ, {"text": "I will not do that.", "stop": "refusal"}) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "refused"
        assert done.result, "its earlier text is kept"
        assert done.turns >= 1
        assert len(fleet.requests) == 2, "a refusal is not retried"


@both_providers
async def test_refused_by_the_content_filter(play: Play, model: str) -> None:
    stop = "refusal" if model == ANTHROPIC else "content_filter"
    async with play({"text": "As for", "stop": stop}) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "refused"
        assert len(fleet.requests) == 1


@both_providers
async def test_budget_of_tokens(play: Play, model: str) -> None:
    turn = READ | {"usage": {"input": 9_000, "output": 800}}
    async with play(turn, turn, turn) as fleet:
        done = await fleet.run(model=model, limits={"tokens": 12_000})
        assert (done.outcome, done.turns, done.result) == ("budget", 1, "Let me look.")
        assert "the job's token budget is used up" in str(done.error)
        assert done.input_tokens + done.output_tokens <= 12_000


@pytest.mark.parametrize("tokens", [0, 1])
async def test_a_provider_that_reports_too_few_tokens_does_not_lift_a_budget(play: Play, tokens: int) -> None:
    used = {"usage": {"input": tokens, "output": tokens}}
    turns = [tools(("Read", {"file_path": "a.py", "limit": limit}), text="I look.") | used for limit in range(1, 13)]
    async with play(*turns) as fleet:
        done = await fleet.run(limits={"tokens": 12_000})
        assert done.outcome == "budget", done.error
        assert 0 < done.turns < 12
        assert done.input_tokens > 0


@both_providers
async def test_the_budget_limits_the_length_of_the_last_answer(play: Play, model: str) -> None:
    async with play({"text": "short"}) as fleet:
        await fleet.run(model=model, limits={"tokens": 6_000})
        asked = fleet.requests[0].body.get("max_tokens") or fleet.requests[0].body["max_output_tokens"]
        assert 64 <= asked < 6_000


@both_providers
async def test_budget_of_money(play: Play, model: str) -> None:
    turn = READ | {"usage": {"input": 20_000, "output": 2_000}}
    async with play(turn, turn, turn) as fleet:
        done = await fleet.run(model=model, limits={"cost": 0.065})
        assert (done.outcome, done.result) == ("budget", "Let me look.")
        assert "the job's cost budget is used up" in str(done.error)
        assert 0 < done.cost <= 0.065


async def test_a_budget_that_is_too_small_sends_no_request(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        done = await fleet.run(limits={"tokens": 100})
        assert (done.outcome, fleet.requests) == ("budget", [])


@pytest.mark.parametrize("limit", [{"tree_max_tokens": 8_000}, {"tree_max_cost": 0.05}], ids=["tokens", "money"])
async def test_two_parallel_children_cannot_exceed_the_budget_of_the_tree(play: Play, limit: dict[str, Any]) -> None:
    """Each alone would fit. While the first waits for its answer, the whole budget is reserved."""
    answer = {"text": "done", "gate": "answers", "usage": {"input": 1_000, "output": 4_000}}
    async with play(answer) as fleet:
        top = await fleet.submit(queueing=Queueing(queue="elsewhere", **limit))
        children = [await fleet.submit(f"child {n}", queueing=Queueing(parent=top)) for n in range(2)]
        async with fleet.working(queues=["default"]):
            await fleet.server.wait("answers")
            first = await _first_finished(fleet, children)
            assert len(fleet.requests) == 1
            fleet.server.open("answers")
            done = [await fleet.reached(number, "finished") for number in children]
        assert first.outcome == "budget"
        unit = "token" if "tree_max_tokens" in limit else "cost"
        assert f"the tree's {unit} budget is used up" in str(first.error)
        assert sorted(str(one.outcome) for one in done) == ["budget", "completed"]
        [(tokens, cost, reserved)] = await fleet.rows(
            "SELECT tree_tokens, tree_cost, tree_reserved_tokens FROM remit.jobs WHERE id = %s", top
        )
        assert tokens == 5_000
        assert float(cost) <= limit.get("tree_max_cost", 1)
        assert reserved == 0, "the reservation is released"


async def _first_finished(fleet: Any, numbers: list[int]) -> jobs.Job:
    tasks = [asyncio.create_task(fleet.reached(number, "finished")) for number in numbers]
    finished, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    return next(iter(finished)).result()


async def test_the_answers_of_two_children_fit_into_the_budget_of_the_tree(play: Play) -> None:
    async with play({"text": "done", "gate": "answers"}) as fleet:
        top = await fleet.submit(queueing=Queueing(queue="elsewhere", tree_max_tokens=14_000))
        for number in range(2):
            await fleet.submit(f"child {number}", queueing=Queueing(parent=top))
        async with fleet.working(queues=["default"]):
            await fleet.server.wait("answers", waiting=2)
            asked = [request.body["max_tokens"] for request in fleet.requests]
            [(reserved,)] = await fleet.rows("SELECT tree_reserved_tokens FROM remit.jobs WHERE id = %s", top)
            fleet.server.open("answers")
        assert sum(asked) < reserved <= 14_000
        assert min(asked) < max(asked), "the second may only use what is left"


async def test_children_within_the_budget_of_the_tree_run_in_parallel(play: Play) -> None:
    async with play({"text": "done", "gate": "answers"}) as fleet:
        top = await fleet.submit(queueing=Queueing(queue="elsewhere", tree_max_tokens=100_000))
        children = [await fleet.submit(f"child {n}", queueing=Queueing(parent=top)) for n in range(2)]
        async with fleet.working(queues=["default"]):
            await fleet.server.wait("answers", waiting=2)
            fleet.server.open("answers")
            assert [(await fleet.reached(number, "finished")).outcome for number in children] == ["completed"] * 2


@both_providers
async def test_a_timeout_keeps_the_partial_text(play: Play, model: str) -> None:
    # The number of events after which the first words were sent.
    after = 4 if model == ANTHROPIC else 6
    turn = {"text": "I have begun and will never end", "chunks": 4, "stall": True, "after": after}
    async with play(turn) as fleet:
        done = await fleet.run(model=model, limits={"seconds": 1.0})
        assert done.outcome == "timeout"
        assert done.error == "the limit of 1 seconds is used up"
        assert str(done.result).startswith("I have")
        assert await fleet.rows("SELECT reserved_tokens, tree_reserved_tokens FROM remit.jobs") == [(0, 0)]


@both_providers
async def test_a_running_job_is_cancelled_within_a_second(play: Play, model: str) -> None:
    after = 4 if model == ANTHROPIC else 6
    turn = {"text": "I have begun and will never end", "chunks": 4, "stall": True, "after": after}
    async with play(turn) as fleet, fleet.working():

        async def cancelled() -> float:
            number = await fleet.submit(model=model)
            await fleet.server.wait("release")
            began = time.monotonic()
            await fleet.cancel(number)
            done = await fleet.reached(number, "finished")
            took = time.monotonic() - began
            assert (done.outcome, done.error) == ("cancelled", "cancelled while it ran")
            assert str(done.result).startswith("I have")
            assert (await fleet.kinds(number))[-1] == "finished"
            return took

        assert await fastest(cancelled, 1.0) < 1.0


async def test_a_job_that_runs_a_tool_is_cancelled_with_it(play: Play) -> None:
    command = "echo $$ > pid; touch begun; sleep 1000"
    async with play(tools(("Bash", {"command": command}), text="Running it.")) as fleet, fleet.working():

        async def cancelled() -> float:
            number = await fleet.submit(allowed_tools=["Bash"])
            await there(fleet.project / "begun")
            (fleet.project / "begun").unlink()
            began = time.monotonic()
            await fleet.cancel(number)
            done = await fleet.reached(number, "finished")
            assert (done.outcome, done.result) == ("cancelled", "Running it.")
            return time.monotonic() - began

        assert await fastest(cancelled, 2.0) < 2.0


async def test_a_queued_job_is_cancelled_at_once_and_never_starts(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        number = await fleet.submit()
        await fleet.cancel(number)
        done = await fleet.job(number)
        assert (done.state, done.outcome, done.error) == ("finished", "cancelled", "cancelled before it began")
        await fleet.work()
        assert fleet.requests == []
        assert (await fleet.job(number)).attempt == 0


@both_providers
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_an_error_of_the_request_ends_the_job_without_a_retry(play: Play, model: str, status: int) -> None:
    failing = {"fail": {"status": status, "message": "that will not do"}}
    async with play(READ, failing) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.result) == ("error", "Let me look.")
        assert "that will not do" in str(done.error)
        assert len(fleet.requests) == 2
        assert await fleet.rows("SELECT failures FROM remit.circuits") == [], "it is not a failure of the provider"


@both_providers
@pytest.mark.parametrize("malformed", ["shape", "html", "json"])
async def test_an_unusable_answer_ends_the_job_with_a_message(
    play: Play, model: str, malformed: str, short_circuit: None
) -> None:
    async with play(READ, {"malformed": malformed, "text": "x"}) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.result) == ("error", "Let me look.")
        assert done.error
        assert "Traceback" not in done.error
        assert len(fleet.requests) <= 1 + 4


@both_providers
async def test_a_context_overflow_is_a_truncation(play: Play, model: str) -> None:
    fail = {"status": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}
    if model == OPENAI:
        fail = {"status": 400, "message": "Your input exceeds the context window", "code": "context_length_exceeded"}
    async with play(READ, {"fail": fail}) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.result) == ("truncated", "Let me look.")


@both_providers
async def test_an_empty_answer_is_not_a_success(play: Play, model: str) -> None:
    async with play({"text": ""}) as fleet:
        done = await fleet.run(model=model)
        assert (done.outcome, done.verdict) != ("completed", "accept")


async def test_a_missing_key_is_reported_with_its_variable(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play({"text": "never"}) as fleet:
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        done = await fleet.run()
        monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
        assert done.outcome == "error"
        assert "ANTHROPIC_API_KEY" in str(done.error)
