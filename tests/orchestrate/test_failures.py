"""The failure policy of the contract, from the wire to the progress file."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from plan_building import (
    CHAT,
    CUT,
    READ,
    begun,
    one,
    phase,
    plan,
    progress_file,
    result,
    says,
    states,
)
from support.running import Play

from remit.orchestrate.plan import DelegationSpec
from remit.store import jobs, plans

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
AGAIN = "An earlier attempt failed"
GOOD = says(result("scout"))
SCOUT = "task of scout"


def script(**conversations: Any) -> dict[str, Any]:
    return {
        "conversations": {{"again": AGAIN}.get(key, f"task of {key}"): value for key, value in conversations.items()}
    }


async def test_partial_output_is_kept(play: Play) -> None:
    async with play(**script(scout=[CUT], helper=says(result("helper")))) as fleet:
        async with begun(fleet, plan(phase("look", one("scout"), one("helper")))) as run:
            found = await run.drive()
        assert states(found) == [("scout", "failed"), ("helper", "accepted")]
        assert found.delegations[0].result == CUT["text"]
        assert found.delegations[0].error == "it ended with truncated: the answer was cut off at its maximum length"
        assert found.phases[0].merge is not None
        reports = {each["agent"]: each["status"] for each in found.phases[0].merge["agents"]}
        assert reports == {"scout": "FAILED", "helper": "SUCCESS"}


async def test_a_critical_failure_is_retried_once_with_a_recorded_smaller_scope(play: Play) -> None:
    async with play(**script(scout=[CUT], again=GOOD)) as fleet:
        wanted = one("scout", critical=True, scope=("a.py", "b.py", "c.py"))
        async with begun(fleet, plan(phase("look", wanted))) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
        done = found.delegations[0]
        assert [name for name, _ in steps] == ["submit", "retry", "submit", "accept"]
        assert (done.state, done.retries, done.scope) == ("accepted", 1, "only a.py, b.py; not c.py")
        first, second = _conversations(await run.told(SCOUT))
        assert "Scope: a.py, b.py, c.py" in first
        assert f"{AGAIN} (it ended with truncated" in second
        assert "This time: only a.py, b.py; not c.py." in second
        assert "Scope: a.py, b.py, c.py" not in second
        [(scope,)] = await fleet.rows("SELECT request->'scope' FROM remit.jobs ORDER BY id DESC LIMIT 1")
        assert scope == ["a.py", "b.py"]


def _conversations(told: list[str]) -> list[str]:
    """Return each first message once, in order of arrival."""
    return list(dict.fromkeys(told))


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ((), "only the most important part: at most three files, and state what was left out"),
        (("src",), "only the most important part in src: at most three files, and state what was left out"),
        (("a", "b"), "only a; not b"),
    ],
)
async def test_a_scope_that_cannot_be_halved_is_reduced_by_an_instruction(
    play: Play, scope: tuple[str, ...], words: str
) -> None:
    async with play(**script(scout=[CUT], again=GOOD)) as fleet:  # noqa: SIM117 (one line would be too long)
        async with begun(fleet, plan(phase("look", one("scout", critical=True, scope=scope)))) as run:
            found = await run.drive()
            assert found.delegations[0].scope == words
            assert f"This time: {words}." in (await run.told(AGAIN))[0]


async def test_a_failure_that_is_not_critical_is_recorded_and_not_retried(play: Play) -> None:
    async with play(**script(scout=[CUT], helper=says(result("helper")), next=says(result("next")))) as fleet:
        spec = plan(phase("look", one("scout"), one("helper")), phase("write", one("next"), inputs=("look",)))
        async with begun(fleet, spec) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
            told = (await run.told("task of next"))[0]
        assert [name for name, _ in steps] == ["submit", "gap"]
        assert steps[-1][1].endswith("it is not critical, so the work goes on without it")
        assert found.plan.state == "finished"
        assert found.plan.outcome == "retry", "a phase with a failure is not a success"
        assert "Agent scout failed, results may be incomplete." in told


async def test_a_failed_context_loader_is_replaced_by_a_fallback_read(play: Play) -> None:
    conversations = script(scout=[CUT], again=[CUT], helper=says(result("helper")), next=says(result("next")))
    async with play(**conversations) as fleet:
        folder = fleet.project / "src"
        folder.mkdir()
        for name in ("one", "two", "three", "four"):
            (folder / f"{name}.py").write_text("".join(f"{name} = {n}\n" for n in range(1000)), encoding="utf-8")
        spec = plan(
            phase("look", one("scout", loads_context=True, scope=("src",)), one("helper")),
            phase("write", one("next"), inputs=("look",)),
        )
        async with begun(fleet, spec) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
            told = (await run.told("task of next"))[0]
        assert [name for name, _ in steps] == ["submit", "retry", "submit", "fall-back", "gap"]
        read = found.delegations[0].fallback
        assert read is not None
        assert [(each["path"], each["lines"], each["of"]) for each in read["files"]] == [
            ("src/four.py", 200, 1000),
            ("src/one.py", 200, 1000),
            ("src/three.py", 200, 1000),
        ]
        assert "three = 199\n" in told, "the text reaches the delegations that need it"
        assert "three = 200" not in told
        assert "two = 0" not in told
        assert '<file path="src/three.py" lines="1-200" of="1000">' in told, "the path keeps its slashes"
        assert "read in place of scout" in told


async def test_a_context_loader_without_a_scope_reads_nothing(play: Play) -> None:
    async with play(**script(scout=[CUT], again=[CUT], helper=says(result("helper")))) as fleet:
        async with begun(fleet, plan(phase("look", one("scout", loads_context=True), one("helper")))) as run:
            found = await run.drive()
        assert found.delegations[0].fallback == {"files": []}
        assert found.delegations[0].state == "failed"


async def test_a_fallback_read_does_not_leave_the_project(play: Play) -> None:
    async with play(**script(scout=[CUT], again=[CUT], helper=says(result("helper")))) as fleet:
        (fleet.project.parent / "secret.txt").write_text("secret\n", encoding="utf-8")
        (fleet.project / "link.txt").symlink_to("../secret.txt")
        scope = ("../secret.txt", "link.txt", str(fleet.project.parent / "secret.txt"))
        async with begun(
            fleet, plan(phase("look", one("scout", loads_context=True, scope=scope), one("helper")))
        ) as run:
            found = await run.drive()
        assert found.delegations[0].fallback == {"files": []}


@pytest.mark.parametrize("loads_context", [False, True])
async def test_a_critical_agent_that_fails_twice_escalates_unless_it_loads_context(
    play: Play, *, loads_context: bool
) -> None:
    async with play(**script(scout=[CUT], again=[CHAT, CHAT], helper=says(result("helper")))) as fleet:
        wanted = one("scout", critical=True, loads_context=loads_context, scope=("a.py",))
        async with begun(fleet, plan(phase("look", wanted, one("helper")), phase("next", one("helper")))) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
        last = ["fall-back", "gap"] if loads_context else ["escalate"]
        assert [name for name, _ in steps] == ["submit", "retry", "submit", "correct", *last]
        assert (found.delegations[0].fallback is not None) == loads_context
        assert found.delegations[0].result == CHAT["text"], "its partial output is kept"
        if loads_context:
            assert (found.plan.state, found.escalations) == ("finished", [])
            assert states(found)[0] == ("scout", "rejected")
            return
        assert found.plan.state == "waiting"
        assert states(found) == [("scout", "escalated"), ("helper", "accepted"), ("helper", "queued")]
        [asked] = found.escalations
        assert asked.reason == ("scout: its result was not accepted (reject); it is critical and has failed 2 times")
        assert (asked.agent, asked.answer) == ("scout", None)


async def test_every_failure_adds_its_warning_to_the_progress_file(play: Play) -> None:
    async with play(**script(scout=[CUT], again=[CUT], helper=[CHAT, CHAT], third=says(result("third")))) as fleet:
        async with begun(fleet, plan(phase("look", one("scout", critical=True), one("helper"), one("third")))) as run:
            found = await run.drive()
        progress = json.loads(progress_file(fleet).read_text(encoding="utf-8"))
        cut = "it ended with truncated: the answer was cut off at its maximum length"
        where = f"plan {found.plan.id}, look"
        assert sorted(progress["warnings"]) == [
            (
                f"Agent helper failed, results may be incomplete ({where}, helper): its result was not accepted "
                "(reject); it is not critical, so the work goes on without it"
            ),
            (
                f"Agent scout failed, results may be incomplete ({where}, scout): {cut}; it is critical and has "
                "failed 2 times"
            ),
        ]
        assert [each.warnings for each in found.delegations] == [
            ["Agent scout failed, results may be incomplete"],
            ["Agent helper failed, results may be incomplete"],
            [],
        ]
        assert progress["status"] == "blocked"
        assert progress["resumptionContext"]["nextAction"].startswith("Answer the questions of plan")


async def test_the_warning_of_a_failure_that_a_retry_fixed_is_marked_as_resolved(play: Play) -> None:
    async with play(**script(scout=[CUT], again=GOOD)) as fleet:
        async with begun(fleet, plan(phase("look", one("scout", critical=True)))) as run:
            found = await run.drive()
        assert found.plan.outcome == "continue"
        where = f"plan {found.plan.id}, look, scout"
        assert json.loads(progress_file(fleet).read_text("utf-8"))["warnings"] == [
            f"Agent scout failed, resolved by a retry ({where}): job {found.delegations[0].job} was accepted"
        ]
        assert found.delegations[0].warnings == ["Agent scout failed, resolved by a retry"]


async def test_an_agent_that_cannot_be_dispatched_fails_without_failing_the_plan(play: Play) -> None:
    """Its model does not exist."""
    async with play(**script(helper=says(result("helper")))) as fleet:
        lost = DelegationSpec(agent="scout", task="go", model="nobody:nothing")
        sure = DelegationSpec(agent="scout", task="go", model="nobody:nothing", critical=True, name="sure")
        async with begun(fleet, plan(phase("look", lost, sure, one("helper")))) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[1])
        assert states(found) == [("scout", "failed"), ("sure", "escalated"), ("helper", "accepted")]
        assert [name for name, _ in steps] == ["retry", "escalate"]
        assert "it could not be dispatched: " in found.escalations[0].reason
        assert found.delegations[0].warnings == ["Agent scout failed, results may be incomplete"]


@pytest.mark.parametrize("limits", [{"max_turns": 1}, {"timeout": 0.05}, {"max_tokens": 1}])
async def test_a_limit_of_a_delegation_ends_it(play: Play, limits: dict[str, Any]) -> None:
    outcome = {"max_turns": "max-turns", "timeout": "timeout", "max_tokens": "budget"}[next(iter(limits))]
    slow = [{**READ, "stall": True} if "timeout" in limits else READ, READ, READ]
    async with play(**script(scout=slow, helper=says(result("helper")))) as fleet:
        async with begun(fleet, plan(phase("look", one("scout", **limits), one("helper")))) as run:
            found = await run.drive()
        assert found.delegations[0].job is not None
        assert (await jobs.get(fleet.database, found.delegations[0].job)).outcome == outcome
        assert states(found) == [("scout", "failed"), ("helper", "accepted")]


async def test_driving_a_finished_plan_again_changes_nothing(play: Play) -> None:
    """Its rows stay the same."""
    async with play(**script(scout=[CUT], helper=says(result("helper")))) as fleet:
        async with begun(fleet, plan(phase("look", one("scout"), one("helper")))) as run:
            first = await run.drive()
            steps, asked = await run.steps(), len(fleet.requests)
            second = await run.drive()
        assert (second.phases, second.delegations, second.plan.outcome) == (
            first.phases,
            first.delegations,
            first.plan.outcome,
        )
        assert (await run.steps(), len(fleet.requests)) == (steps, asked)


@pytest.mark.parametrize(("own", "ends"), [(None, "escalated"), (False, "failed")])
async def test_a_delegation_inherits_criticality_and_timeout_of_its_phase(
    play: Play, own: bool | None, ends: str
) -> None:
    async with play(**script(scout=[{**READ, "stall": True}], helper=says(result("helper")))) as fleet:
        asked = phase("look", one("scout", critical=own), one("helper", timeout=15), critical=True, timeout=0.05)
        async with begun(fleet, plan(asked)) as run:
            found = await run.drive()
        assert states(found) == [("scout", ends), ("helper", "accepted")]
        assert found.delegations[0].error == "it ended with timeout: the limit of 0.05 seconds is used up"


async def test_a_plans_budget_is_shared_by_all_its_delegations_and_their_retries(play: Play) -> None:
    """The first uses most of it; the second and its retry get no answer, and a person is asked."""
    heavy = [READ, {"text": result("scout"), "usage": {"input": 300, "output": 99_000}}]
    async with play(**script(scout=heavy, helper=says(result("helper")))) as fleet:
        spec = plan(phase("first", one("scout")), phase("then", one("helper", critical=True)))
        spec = msgspec.structs.replace(spec, max_tokens=100_000)
        async with begun(fleet, spec) as run:
            found = await run.drive()
            rows = await fleet.rows("SELECT id, root, outcome, tree_tokens FROM remit.jobs ORDER BY id")
        assert states(found) == [("scout", "accepted"), ("helper", "escalated")]
        assert found.delegations[1].error is not None
        assert "the tree's token budget is used up" in found.delegations[1].error
        first = rows[0][0]
        assert [row[1:3] for row in rows] == [(None, "completed"), (first, "budget"), (first, "budget")]
        assert rows[0][3] > 99_000


async def test_a_resumed_plan_still_shares_its_budget(play: Play) -> None:
    heavy = [{"text": "The first half", "stop": "max_tokens", "usage": {"input": 300, "output": 99_000}}]
    async with play(**script(scout=heavy)) as fleet:
        spec = msgspec.structs.replace(plan(phase("look", one("scout", critical=True))), max_tokens=100_000)
        async with begun(fleet, spec) as run:
            first = await run.drive()
            await plans.answer_escalation(fleet.database, first.escalations[0].id, "retry", "")
            await run.drive()
            rows = await fleet.rows("SELECT root, outcome FROM remit.jobs ORDER BY id")
        assert [outcome for _, outcome in rows] == ["truncated", "budget", "budget"]
        assert len({root for root, _ in rows[1:]}) == 1
        assert rows[1][0] is not None
