"""Violations are sent back into the same conversation, once."""

from __future__ import annotations

from typing import Any

import pytest
from plan_building import CHAT, CUT, READ, begun, one, phase, plan, result, says
from support.running import Play

from remit.rules.catalog import NAMES
from remit.store import jobs

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
LOOK = plan(phase("look", one("scout")))
GOOD, VAGUE = result("scout"), result("scout", reason="")
#: It violates several rules.
BROKEN = result("scout", status="DONE", reason="").replace("a.py:1", "nothing.py:7").replace("[x]", "[ ]")


def words_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def plain(value: Any) -> Any:
    """Return a message without the cache marks, which move with the conversation."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key != "cache_control"}
    return [plain(each) for each in value] if isinstance(value, list) else value


async def test_violations_are_sent_in_the_same_conversation_with_a_request_for_the_complete_result(play: Play) -> None:
    async with play(READ, {"text": BROKEN}, {"text": GOOD}) as fleet:
        async with begun(fleet, LOOK) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
        done = found.delegations[0]
        assert [name for name, _ in steps] == ["submit", "correct", "accept"]
        assert (done.state, done.corrections, done.retries, done.warnings) == ("accepted", 1, 0, [])
        assert done.result == GOOD.strip()
        *_, before, after = fleet.requests
        sent = after.body["messages"]
        earlier = plain(before.body["messages"])
        assert plain(sent[: len(earlier)]) == earlier, "the same messages come first"
        assert words_of(sent[-2]).strip() == BROKEN.strip(), "then the model's own answer"
        assert sent[-1]["role"] == "user"
        correction = words_of(sent[-1])
        assert "resend the COMPLETE result" in correction
        rows = await fleet.rows("SELECT report->'violations' FROM remit.results ORDER BY submission")
        broken = [each for each in rows[0][0] if each["level"] != "L3"]
        assert len(broken) > 3
        for each in broken:
            assert f"- {each['rule']} (line {each['line']}): {each['message']}" in correction
            assert each["help"]
            assert each["help"] in correction
            assert each["rule"] in NAMES
        assert plain(after.body["system"]) == plain(before.body["system"])
        job = await jobs.get(fleet.database, done.job or 0)
        assert (job.outcome, job.verdict) == ("completed", "accept")
        assert len(fleet.requests) == 3


async def test_an_unchanged_invalid_result_is_rejected_after_one_correction(play: Play) -> None:
    async with play(*[CHAT] * 9) as fleet:
        async with begun(fleet, LOOK) as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
        assert [name for name, _ in steps] == ["submit", "correct", "gap"]
        assert (found.delegations[0].state, found.delegations[0].verdict) == ("rejected", "reject")
        assert found.delegations[0].result == CHAT["text"]
        assert len(fleet.requests) == 2
        assert await fleet.rows("SELECT submission, verdict FROM remit.results") == [(1, "revise"), (2, "reject")]
        assert (found.plan.state, found.plan.outcome) == ("finished", "retry"), "it is not critical: no person is asked"


async def test_a_second_submission_with_only_l2_violations_is_accepted_with_warnings(play: Play) -> None:
    async with play(READ, {"text": VAGUE}, {"text": VAGUE}) as fleet:
        async with begun(fleet, LOOK) as run:
            found = await run.drive()
        assert (found.delegations[0].state, found.delegations[0].verdict) == ("accepted", "accept")
        rows = await fleet.rows("SELECT verdict, report->'violations' FROM remit.results ORDER BY submission")
        assert [(verdict, [each["rule"] for each in listed]) for verdict, listed in rows] == [
            ("revise", ["confidence-reason"]),
            ("accept", ["confidence-reason"]),
        ]
        assert found.plan.outcome == "continue"


async def test_a_result_that_the_correction_makes_worse_is_rejected(play: Play) -> None:
    async with play(READ, {"text": VAGUE}, CHAT) as fleet:
        async with begun(fleet, LOOK) as run:
            found = await run.drive()
        assert (found.delegations[0].state, found.delegations[0].result) == ("rejected", CHAT["text"])


async def test_a_truncated_correction_keeps_the_partial_result(play: Play) -> None:
    async with play(READ, {"text": VAGUE}, CUT) as fleet:
        async with begun(fleet, LOOK) as run:
            found = await run.drive()
        assert (found.delegations[0].state, found.delegations[0].result) == ("failed", CUT["text"])
        assert "truncated" in str(found.delegations[0].error)


async def test_the_correction_gets_an_extra_turn(play: Play) -> None:
    """The first submission uses all turns; the correction does not count as one."""
    async with play(READ, CHAT, {"text": GOOD}) as fleet:
        async with begun(fleet, plan(phase("look", one("scout", max_turns=2)))) as run:
            found = await run.drive()
        assert found.delegations[0].state == "accepted"


async def test_a_long_list_of_violations_is_truncated_and_counted(play: Play) -> None:
    broken = result("scout").replace(
        "| leak | `a.py:1` | the fault |", "\n".join(f"| x | `no{n}.py:1` | y |" for n in range(60))
    )
    async with play(READ, {"text": broken}, {"text": GOOD}) as fleet:
        async with begun(fleet, LOOK) as run:
            await run.drive()
        correction = words_of(fleet.requests[-1].body["messages"][-1])
        assert correction.count("\n- ") == 31
        assert correction.endswith("- and 31 more violations"), "60 places and the missing citations"


async def test_a_program_is_not_asked_to_correct_itself(play: Play) -> None:
    async with play(CHAT, runners={"echoing": "echo hello"}) as fleet:
        asked = one("echo", runner="command", command="echoing")
        async with begun(fleet, plan(phase("look", asked)), "scout") as run:
            found = await run.drive()
            steps = await run.steps(found.delegations[0])
        assert [name for name, _ in steps] == ["submit", "gap"]
        assert (found.delegations[0].state, found.delegations[0].result) == ("rejected", "hello")
        assert fleet.requests == []


async def test_the_next_driver_does_not_repeat_a_correction(play: Play) -> None:
    """The driver died after it had reopened the job and before it recorded that."""
    async with play(READ, CHAT, {"text": GOOD, "gate": "second"}) as fleet:
        async with begun(fleet, LOOK) as run:
            import asyncio

            driving = asyncio.create_task(run.drive())
            await fleet.server.wait("second")
            driving.cancel()
            await asyncio.gather(driving, return_exceptions=True)
            await fleet.rows("UPDATE remit.delegations SET corrections = 0")
            fleet.server.open("second")
            found = await run.drive()
        assert found.delegations[0].state == "accepted"
        assert len(fleet.requests) == 3


async def test_sibling_conversations_are_corrected_separately(play: Play) -> None:
    turns = {f"task of {name}": [READ, CHAT, {"text": result(name)}] for name in ("one", "two", "three")}
    async with play(conversations=turns) as fleet:
        async with begun(fleet, plan(phase("look", *(one(name) for name in ("one", "two", "three"))))) as run:
            found = await run.drive()
        assert [(each.state, each.result) for each in found.delegations] == [
            ("accepted", says(result(name))[-1]["text"].strip()) for name in ("one", "two", "three")
        ]
