"""Budgets of trees, cost limits without a price, and the reservation of a first call."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest
from support.commands import ANTHROPIC
from support.running import Fleet, Play, tools

from remit.contract.tokens import estimate_tokens
from remit.dispatch.submit import Queueing
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.store import jobs, transcript, workers
from remit.store.transcript import FinishedCall, StepRecord, StoredEvent, Transcript, UsageSums, ended_call

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
READ = tools(("Read", {"file_path": "a.py"}))
UNPRICED = "openai:a-model-of-our-own"
TURNS = "SELECT tree_turns, tree_reserved_turns FROM remit.jobs WHERE id = %s"
WANTED = transcript.BudgetRequest(100, 1_000, 64)


async def claimed(fleet: Fleet, number: int) -> jobs.Job:
    """Claim a job as a worker that does nothing."""
    worker = str(uuid.uuid4())
    await workers.register(fleet.database, worker, None, [], 1, is_listed=False)
    job = await jobs.claim(fleet.database, number, worker, None)
    assert isinstance(job, jobs.Job)
    return job


async def reserved(fleet: Fleet, job: jobs.Job) -> transcript.Reservation:
    held = await transcript.reserve(fleet.database, job.id, job.attempt, WANTED)
    assert isinstance(held, transcript.Reservation), held
    return held


async def test_a_tree_stops_when_its_jobs_have_used_all_turns(play: Play) -> None:
    async with play(READ, {"text": "done"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_turns=3))
        await fleet.work()
        child = await fleet.submit("child", queueing=Queueing(parent=top))
        await fleet.work()
        first, second = await fleet.job(top), await fleet.job(child)
        assert (first.outcome, first.turns) == ("completed", 2)
        assert (second.outcome, second.turns) == ("budget", 1)
        assert second.error == "the tree's turn budget is used up"
        assert len(fleet.requests) == 3
        assert await fleet.rows(TURNS, top) == [(3, 0)]


async def test_a_call_before_the_end_of_the_budget_is_reported_once(play: Play) -> None:
    async with play(READ, {"text": "never"}) as fleet:
        job = await fleet.submit("top", queueing=Queueing(tree_max_turns=1))
        await fleet.work()
        assert (await fleet.job(job)).outcome == "budget"
        kinds = [kind for (kind,) in await fleet.rows("SELECT kind FROM remit.events WHERE job = %s ORDER BY id", job)]
        assert kinds.count("tool-done") == 1, kinds


async def test_two_parallel_children_cannot_both_take_the_last_turn(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(queue="elsewhere", tree_max_turns=1))
        one, two = [await claimed(fleet, await fleet.submit("c", queueing=Queueing(parent=top))) for _ in range(2)]
        held = await reserved(fleet, one)
        assert await fleet.rows(TURNS, top) == [(0, 1)]
        refused = await transcript.reserve(fleet.database, two.id, two.attempt, WANTED)
        assert refused == transcript.BudgetExhausted("the tree's turn budget is used up")
        await transcript.settle_broken(fleet.database, one.id, one.attempt, held, transcript.ActualUsage(10, 1))
        assert await fleet.rows(TURNS, top) == [(0, 0)], "an interrupted call is not a turn"
        await transcript.settle(
            fleet.database, two.id, two.attempt, await reserved(fleet, two), transcript.ActualUsage(10, 1)
        )
        assert await fleet.rows(TURNS, top) == [(1, 0)]


async def test_children_that_reserve_at_the_same_time_lose_nothing_of_the_tree(play: Play) -> None:
    children, rounds, allowed = 6, 5, 20
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(queue="elsewhere", tree_max_turns=allowed))
        jobs_of_tree = [
            await claimed(fleet, await fleet.submit("c", queueing=Queueing(parent=top))) for _ in range(children)
        ]

        async def work(job: jobs.Job) -> int:
            turns = 0
            for _ in range(rounds):
                held = await transcript.reserve(fleet.database, job.id, job.attempt, WANTED)
                if isinstance(held, transcript.Reservation):
                    await transcript.settle(
                        fleet.database, job.id, job.attempt, held, transcript.ActualUsage(10, 1, 0.5)
                    )
                    turns += 1
            return turns

        turns = sum(await asyncio.gather(*map(work, jobs_of_tree)))
        assert turns == allowed
        used = "SELECT tree_turns, tree_tokens, tree_cost, tree_reserved_turns, tree_reserved_tokens FROM remit.jobs"
        assert await fleet.rows(used + " WHERE id = %s", top) == [(allowed, 11 * allowed, allowed / 2, 0, 0)]


async def test_a_request_stores_its_calls_once_although_their_starts_are_lost_or_their_ids_equal(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        job = await claimed(fleet, await fleet.submit())
        await Transcript(fleet.database, job.id, job.attempt).begin_call("1:b", 1, "Read", {}, is_read_only=True)
        receipt = Receipt(tool="Read")
        calls = [
            ended_call(FinishedCall(1, "Read", {}, text, False), number, receipt, [StoredEvent("tool-done", {})], 0.5)
            for number, text in (("1:a", "first"), ("1:b", "other"), ("1:a", "second"))
        ]
        for _ in range(2):  # as if the answer to the first write was lost
            await transcript.reserve(fleet.database, job.id, job.attempt, WANTED, StepRecord(0, b"{}"), calls)
        stored = "SELECT call, output, state, finished >= started FROM remit.tool_calls ORDER BY call"
        assert await fleet.rows(stored) == [("1:a", "first", "done", True), ("1:b", "other", "done", True)]
        assert await fleet.rows("SELECT call FROM remit.receipts ORDER BY number") == [("1:a",), ("1:b",)]
        assert (await fleet.job(job.id)).tool_calls == 2


async def test_a_repeated_call_reserves_one_turn(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        job = await claimed(fleet, await fleet.submit(queueing=Queueing(tree_max_turns=2)))
        for _ in range(3):
            await reserved(fleet, job)
        assert await fleet.rows(TURNS, job.id) == [(0, 1)]


async def test_the_statements_of_a_turn_are_prepared_once_for_numbers_of_any_size(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        job = await claimed(fleet, await fleet.submit())
        await fleet.rows("UPDATE remit.jobs SET max_tokens = NULL, tree_max_tokens = NULL")
        for tokens in (1, 40_000, 3_000_000_000):
            wanted = WANTED._replace(input=tokens)
            held = await transcript.reserve(fleet.database, job.id, job.attempt, wanted)
            assert isinstance(held, transcript.Reservation), held
            await transcript.settle(fleet.database, job.id, job.attempt, held, transcript.ActualUsage(tokens, 1))
        async with fleet.database.connection() as connection:
            cursor = await connection.execute(
                "SELECT count(*) AS prepared, sum(generic_plans + custom_plans)::integer AS used"
                " FROM pg_prepared_statements WHERE statement LIKE '%tree_reserved_turns%'"
            )
            found = await cursor.fetchone()
        # The pool may give each of the two statements another connection.
        assert found is not None
        assert found["used"] == 3 * found["prepared"] > 0
        assert await fleet.rows("SELECT tree_tokens FROM remit.jobs") == [(3_000_040_004,)]


async def test_an_interrupted_request_without_a_price_makes_the_cost_unknown(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        job = await claimed(fleet, await fleet.submit())
        for is_priced in (True, False, True):
            held, used = await reserved(fleet, job), transcript.ActualUsage(10, 1, 0.0, is_priced)
            await transcript.settle_broken(fleet.database, job.id, job.attempt, held, used)
        assert not (await fleet.job(job.id)).is_priced
        # A later response, whose attempt does not know of that request, does not make it known again.
        held, record = await reserved(fleet, job), StepRecord(sums=UsageSums(1, 5, 5, cost=0.1))
        await transcript.settle(fleet.database, job.id, job.attempt, held, transcript.ActualUsage(5, 5, 0.1), record)
        assert not (await fleet.job(job.id)).is_priced


@pytest.mark.parametrize(
    ("own", "tree", "expected"),
    [
        (None, None, (None, False)),
        (60.0, None, (50.0, False)),
        (None, 300.0, (200.0, True)),
        (60.0, 300.0, (50.0, False)),
        (600.0, 300.0, (200.0, True)),
        (600.0, 40.0, (-60.0, True)),
    ],
)
async def test_the_time_left_is_the_smaller_of_job_and_tree(
    play: Play, own: float | None, tree: float | None, expected: tuple[float | None, bool]
) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_seconds=tree))
        child = await fleet.submit("child", queueing=Queueing(parent=top), limits={"seconds": own} if own else None)
        await fleet.rows("UPDATE remit.jobs SET started = now() - interval '100 seconds' WHERE id = %s", top)
        await fleet.rows("UPDATE remit.jobs SET started = now() - interval '10 seconds' WHERE id = %s", child)
        left = await fleet.database.row("transcript.seconds_left", job=child)
        assert left is not None
        seconds, is_tree = expected
        assert left["is_tree"] is is_tree
        assert left["seconds"] == (None if seconds is None else pytest.approx(seconds, abs=5))
        assert left["seconds"] is None or isinstance(left["seconds"], float)


async def test_a_tree_that_has_not_started_has_all_its_time(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_seconds=300))
        assert await fleet.database.row("transcript.seconds_left", job=top) == {"seconds": 300.0, "is_tree": True}


@pytest.mark.parametrize("runner", ["model", "orchestrator"])
async def test_a_cost_limit_needs_a_price(play: Play, runner: str) -> None:
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError, match=r"is unknown.*limit its tokens"):
            await fleet.submit(model=UNPRICED, runner=runner, limits={"cost": 1.0})


@pytest.mark.parametrize("belongs", ["parent", "tree"])
async def test_a_tree_with_a_cost_limit_refuses_models_without_a_price(play: Play, belongs: str) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_cost=1.0))
        below = await fleet.submit("child", queueing=Queueing(parent=top))
        for member in (top, below):
            with pytest.raises(UsageError, match=r"is unknown.*limit its tokens"):
                await fleet.submit(model=UNPRICED, queueing=Queueing(**{belongs: member}))
        free = await fleet.submit("top", queueing=Queueing(tree_max_tokens=100_000))
        assert await fleet.submit(model=UNPRICED, queueing=Queueing(**{belongs: free})), "without one it may"


@pytest.mark.parametrize("whose", ["job", "tree"])
async def test_a_job_without_a_price_sends_no_request_under_a_cost_limit(play: Play, whose: str) -> None:
    async with play({"text": "never"}) as fleet:
        number = await fleet.submit(model=UNPRICED)
        await fleet.rows(f"UPDATE remit.jobs SET {'tree_' if whose == 'tree' else ''}max_cost = 1")
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, fleet.requests) == ("budget", [])
        assert done.error == f"the {whose}'s cost budget cannot be enforced: the price of the model is unknown"


async def test_the_first_call_reserves_tokens_for_the_tools(play: Play) -> None:
    async with play({"text": "done", "gate": "held"}) as fleet:
        few = await _set_aside(fleet, ["Read"])
    async with play({"text": "done", "gate": "held"}) as fleet:
        many = await _set_aside(fleet, ["Read", "Grep", "Glob", "LS", "Write", "Edit", "Bash(git log:*)", "GitLog"])
        body = fleet.requests[0].body
        sent: dict[str, Any] = {name: body[name] for name in ("system", "messages", "tools")}
        told = estimate_tokens(json.dumps(sent["tools"]))
        assert many - few > told / 2, "most of these tools"
        assert many == pytest.approx(estimate_tokens(json.dumps(sent)), rel=0.15)


async def _set_aside(fleet: Fleet, allowed: list[str]) -> int:
    """Return the tokens reserved for the input of a first call."""
    number = await fleet.submit(model=ANTHROPIC, allowed_tools=allowed)
    async with fleet.working():
        await fleet.server.wait("held")
        [(tokens,)] = await fleet.rows("SELECT reserved_tokens FROM remit.jobs WHERE id = %s", number)
        fleet.server.open("held")
        await fleet.reached(number, "finished")
    return int(tokens) - int(fleet.requests[0].body["max_tokens"])
