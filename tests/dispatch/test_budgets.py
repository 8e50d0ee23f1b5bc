"""Budgets of whole trees, of money where the price is not known, and what a first call sets aside."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from support.commands import ANTHROPIC
from support.running import Fleet, Play, tools

from remit.contract.tokens import estimate_tokens
from remit.dispatch.submit import Queueing
from remit.errors import UsageError
from remit.store import budgets, jobs, workers

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
READ = tools(("Read", {"file_path": "a.py"}))
UNPRICED = "openai:a-model-of-our-own"
TURNS = "SELECT tree_turns, tree_reserved_turns FROM remit.jobs WHERE id = %s"
WANTED = budgets.BudgetRequest(100, 1_000, 64)


async def claimed(fleet: Fleet, number: int) -> jobs.Job:
    """A job in the hands of a worker that does nothing."""
    worker = str(uuid.uuid4())
    await workers.register(fleet.database, worker, [], 1, is_listed=False)
    job = await jobs.claim(fleet.database, number, worker, None)
    assert isinstance(job, jobs.Job)
    return job


async def reserved(fleet: Fleet, job: jobs.Job) -> budgets.Reservation:
    held = await budgets.reserve(fleet.database, job.id, job.attempt, WANTED)
    assert isinstance(held, budgets.Reservation), held
    return held


async def test_a_tree_stops_when_its_turns_are_used_up_whoever_took_them(play: Play) -> None:
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


async def test_two_children_at_once_cannot_take_the_trees_last_turn_both(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(queue="elsewhere", tree_max_turns=1))
        one, two = [await claimed(fleet, await fleet.submit("c", queueing=Queueing(parent=top))) for _ in range(2)]
        held = await reserved(fleet, one)
        assert await fleet.rows(TURNS, top) == [(0, 1)]
        refused = await budgets.reserve(fleet.database, two.id, two.attempt, WANTED)
        assert refused == budgets.BudgetExhausted("the tree's turn budget is used up")
        await budgets.settle(fleet.database, one.id, one.attempt, held, budgets.ActualUsage(10, 1), is_broken=True)
        assert await fleet.rows(TURNS, top) == [(0, 0)], "a call that broke off is no turn"
        await budgets.settle(
            fleet.database, two.id, two.attempt, await reserved(fleet, two), budgets.ActualUsage(10, 1)
        )
        assert await fleet.rows(TURNS, top) == [(1, 0)]


async def test_a_call_that_is_asked_for_again_sets_one_turn_aside(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        job = await claimed(fleet, await fleet.submit(queueing=Queueing(tree_max_turns=2)))
        for _ in range(3):
            await reserved(fleet, job)
        assert await fleet.rows(TURNS, job.id) == [(0, 1)]


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
async def test_the_time_left_is_the_jobs_own_or_its_trees_whichever_ends_first(
    play: Play, own: float | None, tree: float | None, expected: tuple[float | None, bool]
) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_seconds=tree))
        child = await fleet.submit("child", queueing=Queueing(parent=top), limits={"seconds": own} if own else None)
        await fleet.rows("UPDATE remit.jobs SET started = now() - interval '100 seconds' WHERE id = %s", top)
        await fleet.rows("UPDATE remit.jobs SET started = now() - interval '10 seconds' WHERE id = %s", child)
        left = await fleet.database.row("budgets.seconds_left", job=child)
        assert left is not None
        seconds, is_tree = expected
        assert left["is_tree"] is is_tree
        assert left["seconds"] == (None if seconds is None else pytest.approx(seconds, abs=5))
        assert left["seconds"] is None or isinstance(left["seconds"], float)


async def test_before_a_tree_begins_all_its_time_is_left(play: Play) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_seconds=300))
        assert await fleet.database.row("budgets.seconds_left", job=top) == {"seconds": 300.0, "is_tree": True}


@pytest.mark.parametrize("runner", ["model", "orchestrator"])
async def test_a_limit_of_money_needs_a_price_whoever_runs_the_job(play: Play, runner: str) -> None:
    async with play({"text": "never"}) as fleet:
        with pytest.raises(UsageError, match=r"is unknown.*limit its tokens"):
            await fleet.submit(model=UNPRICED, runner=runner, limits={"cost": 1.0})


@pytest.mark.parametrize("belongs", ["parent", "tree"])
async def test_a_trees_limit_of_money_lets_nobody_in_whose_price_is_not_known(play: Play, belongs: str) -> None:
    async with play({"text": "never"}) as fleet:
        top = await fleet.submit("top", queueing=Queueing(tree_max_cost=1.0))
        below = await fleet.submit("child", queueing=Queueing(parent=top))
        for member in (top, below):
            with pytest.raises(UsageError, match=r"is unknown.*limit its tokens"):
                await fleet.submit(model=UNPRICED, queueing=Queueing(**{belongs: member}))
        free = await fleet.submit("top", queueing=Queueing(tree_max_tokens=100_000))
        assert await fleet.submit(model=UNPRICED, queueing=Queueing(**{belongs: free})), "without one it may"


@pytest.mark.parametrize("whose", ["job", "tree"])
async def test_a_job_that_got_past_it_asks_nothing_while_its_price_is_not_known(play: Play, whose: str) -> None:
    async with play({"text": "never"}) as fleet:
        number = await fleet.submit(model=UNPRICED)
        await fleet.rows(f"UPDATE remit.jobs SET {'tree_' if whose == 'tree' else ''}max_cost = 1")
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, fleet.requests) == ("budget", [])
        assert done.error == f"the {whose}'s cost budget cannot be enforced: the price of the model is unknown"


async def test_the_first_call_sets_the_tools_aside_too(play: Play) -> None:
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
    """Tokens set aside for what a first call sends."""
    number = await fleet.submit(model=ANTHROPIC, allowed_tools=allowed)
    async with fleet.working():
        await fleet.server.wait("held")
        [(tokens,)] = await fleet.rows("SELECT reserved_tokens FROM remit.jobs WHERE id = %s", number)
        fleet.server.open("held")
        await fleet.reached(number, "finished")
    return int(tokens) - int(fleet.requests[0].body["max_tokens"])
