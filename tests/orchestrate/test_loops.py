"""Loops end: after five identical errors, and after three rounds that change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from plan_building import CHAT, READ, begun, one, phase, plan, result, says, states
from support.running import Play, tools
from test_orchestrator import EXPLORER, ME, answers, delegate, lookup, orchestrated

from remit.dispatch.finish import RunStopped
from remit.dispatch.toolset import MAX_SAME_ERRORS, MAX_SAME_ROUNDS, LoopGuard
from remit.orchestrate.orchestrator import MAX_SAME
from remit.store import jobs

pytest_plugins = ("support.running",)
MANY = 12


def failing(turn: int, text: str = "no such file", **arguments: Any) -> tuple[int, str, dict[str, Any], str]:
    return turn, "Read", arguments, text


def test_five_identical_errors_in_a_row_end_the_job() -> None:
    repeats = LoopGuard()
    for number in range(MAX_SAME_ERRORS - 1):
        repeats.add(*failing(1, file_path="x"), failed=True)
        assert number < MAX_SAME_ERRORS
    with pytest.raises(RunStopped, match="Read failed 5 times in the same way: no such file"):
        repeats.add(*failing(1, file_path="x"), failed=True)


def test_different_or_interrupted_errors_do_not_count_as_identical() -> None:
    repeats = LoopGuard()
    for number in range(MANY):
        repeats.add(*failing(number, file_path=f"x{number}"), failed=True)
    for number in range(MANY):
        repeats.add(*failing(MANY + number, file_path="x"), failed=True)
        repeats.add(MANY + number, "Read", {"file_path": "y"}, f"found {number}", failed=False)


def test_three_rounds_without_change_end_the_job_and_a_change_resets_the_count() -> None:
    repeats = LoopGuard()
    for turn in range(1, MAX_SAME_ROUNDS + 1):
        repeats.add(turn, "Read", {"file_path": "x"}, "text", failed=False)
    repeats.add(4, "Read", {"file_path": "x"}, "another text", failed=False)
    for turn in range(5, 5 + MAX_SAME_ROUNDS):
        repeats.add(turn, "Read", {"file_path": "x"}, "text", failed=False)
    with pytest.raises(RunStopped, match="3 rounds of the same calls, Read among them, changed nothing"):
        repeats.add(5 + MAX_SAME_ROUNDS, "Read", {"file_path": "x"}, "text", failed=False)


@pytest.mark.anyio
async def test_an_orchestrator_with_five_identical_refusals_is_ended(play: Play) -> None:
    """Each turn also has a different harmless call, so it counts as a change."""
    turns = [
        tools(lookup("gone.py"), ("Progress", {"position": f"step {number}", "next_action": "again"}))
        for number in range(MANY)
    ]
    same = [tools(("Results", {"phase": "never"}), ("Results", {"phase": "never"})) for _ in range(MANY)]
    async with play(conversations={ME: [*turns[:1], *same]}) as fleet:
        job = await orchestrated(fleet)
    assert (job.outcome, job.error) == ("error", "Results failed 5 times in the same way: there is no phase 'never'")
    assert job.turns == 4


@pytest.mark.anyio
async def test_an_orchestrator_whose_rounds_change_nothing_is_ended(play: Play) -> None:
    same = [tools(lookup("a.py", offset=1, limit=1)) for _ in range(MANY)]
    async with play(conversations={ME: same}) as fleet:
        job = await orchestrated(fleet)
    assert job.outcome == "error"
    assert job.error is not None
    assert "changed nothing" in job.error
    assert job.turns == MAX_SAME_ROUNDS + 1


@pytest.mark.anyio
async def test_a_looping_subagent_is_ended_and_the_plan_continues(play: Play) -> None:
    turns = {"task of scout": [READ] * MANY, "task of helper": says(result("helper"))}
    async with play(conversations=turns) as fleet:
        async with begun(fleet, plan(phase("look", one("scout"), one("helper")))) as run:
            found = await run.drive()
        assert states(found) == [("scout", "failed"), ("helper", "accepted")]
        assert found.delegations[0].job is not None
        job = await jobs.get(fleet.database, found.delegations[0].job)
    assert (job.outcome, job.turns) == ("error", MAX_SAME_ROUNDS + 1)


@pytest.mark.anyio
async def test_a_delegation_that_failed_three_times_is_refused_and_another_task_is_not(play: Play) -> None:
    other = ("Delegate", {"phase": "other", "delegations": [{"agent": "code-explorer", "task": "something else"}]})
    turns = {
        ME: [*(tools(delegate("code-explorer", phase=f"try {number}")) for number in range(4)), tools(other), CHAT],
        EXPLORER: [CHAT, CHAT],
    }
    async with play(conversations=turns) as fleet:
        await orchestrated(fleet)
        told = answers(fleet)
        begun_jobs = await fleet.rows("SELECT count(*) FROM remit.jobs WHERE agent = 'code-explorer'")
    assert all("code-explorer: rejected" in one for one in told[:MAX_SAME])
    assert told[3].startswith("these agents have failed at these tasks 3 times: do not delegate them again")
    assert "code-explorer: rejected" in told[4]
    assert begun_jobs == [(MAX_SAME + 1,)]
