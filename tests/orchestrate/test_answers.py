"""Questions to a person: when a plan waits, and the effect of each answer, once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from plan_building import CHAT, CUT, READ, begun, one, phase, plan, result, review, says, states
from support.running import Play
from support.waiting import until_async

from remit.errors import UsageError
from remit.orchestrate.answers import MAX_ROUNDS, MAX_TRIES, apply_answers
from remit.store import plans
from remit.store.plans import PlanLease

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
NEXT = {"task of next": says(result("next"))}
BAD = {"task of one": [CUT], "task of two": [CHAT, CHAT], "task of three": [{"fail": {"status": 400}}]}
TWO = plan(
    phase("look", *(one(name) for name in ("one", "two", "three")), on_review="ask"), phase("after", one("next"))
)


async def test_a_failure_does_not_cancel_the_siblings(play: Play) -> None:
    """The siblings are running when it fails."""
    held = {f"task of {name}": [{**READ, "gate": "held"}, {"text": result(name)}] for name in ("two", "three")}
    async with play(conversations={**BAD, **held, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            driving = asyncio.create_task(run.drive())
            await fleet.server.wait("held", waiting=2)
            await until_async(lambda: _has_failed(run), "the first has failed")
            fleet.server.open("held")
            found = await driving
        assert states(found) == [("one", "failed"), ("two", "accepted"), ("three", "accepted"), ("next", "accepted")]
        assert found.plan.state == "finished"


async def _has_failed(run: Any) -> bool:
    return bool((await run.result()).delegations[0].state == "failed")


async def test_a_phase_in_which_all_failed_waits_for_an_answer_if_the_plan_wants_to_ask(play: Play) -> None:
    async with play(conversations={**BAD, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            found = await run.drive()
            assert found.plan.state == "waiting"
            assert states(found)[-1] == ("next", "queued")
            [asked] = found.escalations
            assert asked.reason == "every delegation of look failed (round 1 of 3)"
            again = await run.drive()
        assert again.plan.state == "waiting", "driving it again without an answer changes nothing"
        assert again.escalations == found.escalations
        assert again.delegations == found.delegations
        assert not await run.told("task of next")


async def test_skipped_and_failed_delegations_are_not_a_success(play: Play) -> None:
    async with play(conversations={**BAD, **NEXT}) as fleet:
        look = phase("look", one("one", critical=True), one("two"), on_review="ask")
        async with begun(fleet, plan(look, phase("after", one("next")))) as run:
            found = await run.drive()
            await plans.answer_escalation(fleet.database, found.escalations[0].id, "skip", "not needed")
            found = await run.drive()
        assert states(found) == [("one", "skipped"), ("two", "rejected"), ("next", "queued")]
        assert found.plan.state == "waiting"
        assert found.escalations[-1].reason.startswith("every delegation of look failed")


async def answered(run: Any, verb: str, words: str = "") -> Any:
    found = await run.result()
    await plans.answer_escalation(run.fleet.database, found.escalations[-1].id, verb, words)
    return await run.drive()


async def test_retry_repeats_all_failed_delegations(play: Play) -> None:
    turns = {
        f"task of {name}": [{"fail": {"status": 400, "times": 1, "then": READ}}, {"text": result(name)}]
        for name in ("one", "two", "three")
    }
    async with play(conversations={**turns, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            assert (await run.drive()).plan.state == "waiting"
            found = await answered(run, "retry")
        assert found.plan.state == "finished"
        assert [(each.state, each.retries) for each in found.delegations] == [("accepted", 1)] * 3 + [("accepted", 0)]
        assert found.phases[0].round == 2


async def test_skip_continues_without_the_phase(play: Play) -> None:
    async with play(conversations={**BAD, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            await run.drive()
            found = await answered(run, "skip", "the module is going away")
        assert found.plan.state == "finished"
        assert [state for _, state in states(found)] == ["failed", "rejected", "failed", "accepted"]
        assert found.phases[0].decision == "retry", "the decision of the phase stays as it was"
        assert found.plan.outcome == "retry"


async def test_cancel_ends_the_plan(play: Play) -> None:
    async with play(conversations={**BAD, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            await run.drive()
            found = await answered(run, "cancel")
            again = await run.drive()
        assert (found.plan.state, again.plan.state) == ("cancelled", "cancelled")
        assert found.plan.finished is not None
        assert not await run.told("task of next")


async def test_the_text_of_an_answer_reaches_all_retried_delegations(play: Play) -> None:
    words = "look in legacy instead"
    turns = {f"task of {name}\n\nA person adds: {words}": says(result(name)) for name in ("one", "two", "three")}
    async with play(conversations={**BAD, **turns, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            await run.drive()
            found = await answered(run, "text", words)
            told = await run.told(f"A person adds: {words}")
        assert found.plan.state == "finished"
        assert {text.split("\n")[0] for text in told} == {f"task of {name}" for name in ("one", "two", "three")}


CRITICAL = plan(phase("look", one("one", critical=True), one("good")), phase("after", one("next")))
GOOD = {"task of good": says(result("good"))}


@pytest.mark.parametrize(
    ("verb", "words", "state", "plan_state"),
    [
        ("retry", "", "escalated", "waiting"),
        ("skip", "it is going away", "skipped", "finished"),
        ("cancel", "", "failed", "cancelled"),
        ("text", "look elsewhere", "accepted", "finished"),
    ],
)
async def test_an_answer_for_one_delegation_retries_only_that_one(
    play: Play, verb: str, words: str, state: str, plan_state: str
) -> None:
    turns = {"task of one": [CUT], "look elsewhere": says(result("one"))}
    async with play(conversations={**turns, **GOOD, **NEXT}) as fleet:
        async with begun(fleet, CRITICAL) as run:
            first = await run.drive()
            assert states(first) == [("one", "escalated"), ("good", "accepted"), ("next", "queued")]
            found = await answered(run, verb, words)
            steps = await run.steps(found.delegations[0])
        assert (found.delegations[0].state, found.plan.state) == (state, plan_state)
        assert found.delegations[1] == first.delegations[1], "its sibling is not run again"
        if verb == "skip":
            assert steps[-1] == ("skip", words)
        if verb == "retry":
            assert (found.delegations[0].retries, len(found.escalations)) == (2, 2), "it failed again and asks again"


async def test_a_question_can_be_answered_once(play: Play) -> None:
    async with play(conversations={**BAD, **GOOD, **NEXT}) as fleet, begun(fleet, CRITICAL) as run:
        [asked] = (await run.drive()).escalations
        await plans.answer_escalation(fleet.database, asked.id, "retry", "")
        with pytest.raises(UsageError, match=f"there is no open question {asked.id}"):
            await plans.answer_escalation(fleet.database, asked.id, "skip", "too late")


@pytest.mark.parametrize("question", ["phase", "delegation"])
async def test_an_answer_is_applied_once_even_if_the_driver_dies(
    play: Play, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies at each statement in turn; the next driver finds nothing or everything applied."""
    spec = TWO if question == "phase" else CRITICAL
    async with play(conversations={**BAD, **GOOD, **NEXT}) as fleet, begun(fleet, spec) as run:
        first = await run.drive()
        await plans.answer_escalation(fleet.database, first.escalations[0].id, "retry", "")
        hold = PlanLease(fleet.database, run.number, "11111111-1111-4111-8111-111111111111")
        assert await hold.acquire(1.0)
        real, dies, statements = plans.rows, 0, 0

        async def dying(connection: Any, name: str, /, **values: Any) -> Any:
            nonlocal statements
            statements += 1
            if statements == dies:
                raise KeyError(name)
            return await real(connection, name, **values)

        monkeypatch.setattr(plans, "rows", dying)
        while True:
            dies, statements = dies + 1, 0
            row = (await plans.phases_of(fleet.database, run.number))[0]
            try:
                await apply_answers(fleet.database, hold, run.number, row)
            except KeyError:
                now = await run.result()
                assert now.delegations == first.delegations
                assert now.phases == first.phases
                continue
            break
        monkeypatch.setattr(plans, "rows", real)
        assert dies > 3
        row = (await plans.phases_of(fleet.database, run.number))[0]
        await apply_answers(fleet.database, hold, run.number, row)
        found = await run.result()
        before = [each.retries for each in first.delegations if each.phase == 0 and each.state != "accepted"]
        after = [each.retries for each in found.delegations if each.phase == 0 and each.state != "accepted"]
        assert after == [number + 1 for number in before]
        assert found.phases[0].round == (2 if question == "phase" else 1)
        assert [name for name, _ in await run.steps(found.delegations[0])].count("retry") == (
            1 if question == "phase" else 2
        )


async def test_after_three_tries_of_a_phase_only_skip_and_cancel_are_accepted(play: Play) -> None:
    async with play(conversations={**BAD, **NEXT}) as fleet:
        async with begun(fleet, TWO) as run:
            await run.drive()
            for _ in range(MAX_ROUNDS - 1):
                found = await answered(run, "retry")
            asked = len(fleet.requests)
            assert found.escalations[-1].reason.endswith("(round 3 of 3; only skip or cancel is possible)")
            found = await answered(run, "retry")
            assert found.plan.state == "waiting"
            assert found.escalations[-1].answer is None, "it asks again instead of looping"
            assert len(fleet.requests) == asked
            found = await answered(run, "skip", "enough")
        assert found.plan.state == "finished"


async def test_after_five_tries_of_a_delegation_only_skip_and_cancel_are_accepted(play: Play) -> None:
    async with play(conversations={"task of one": [CUT], **GOOD, **NEXT}) as fleet:
        async with begun(fleet, CRITICAL) as run:
            await run.drive()
            for _ in range(MAX_TRIES):
                found = await answered(run, "retry")
            assert found.plan.state == "waiting"
            assert found.delegations[0].retries == MAX_TRIES - 1
            assert len(await run.told("task of one")) == MAX_TRIES
            assert found.escalations[-1].answer is None
            assert "it was tried 5 times of 5" in found.escalations[-1].reason
            found = await answered(run, "skip", "enough")
        assert found.plan.state == "finished"


async def test_a_phase_that_needs_a_review_waits_and_continues_after_skip(play: Play) -> None:
    async with play(conversations=_conflict()) as fleet:
        async with begun(fleet, _asking()) as run:
            found = await run.drive()
            assert (found.plan.state, found.phases[0].state) == ("waiting", "running")
            assert found.escalations[0].reason.startswith("a person has to review the results of look: ")
            asked = len(fleet.requests)
            found = await answered(run, "skip", "both may stay")
        assert (found.plan.state, found.plan.outcome) == ("finished", "review")
        assert len(await run.told("task of one")) == 2
        assert len(fleet.requests) == asked + 2, "only the next phase"


async def test_a_review_that_is_answered_with_retry_is_repeated_and_asked_about_again(play: Play) -> None:
    async with play(conversations=_conflict()) as fleet:
        async with begun(fleet, _asking()) as run:
            await run.drive()
            found = await answered(run, "text", "one of you is wrong")
            told = await run.told("A person adds: one of you is wrong")
        assert found.plan.state == "waiting"
        assert found.phases[0].round == 2
        assert {text.split("\n")[0] for text in told} == {"task of one", "task of two"}


async def test_an_answer_for_a_delegation_does_not_answer_the_review(play: Play) -> None:
    turns = {**_conflict(), "task of three": [CUT], "try harder than before": says(result("three"))}
    async with play(conversations=turns) as fleet:
        spec = _asking(one("three", critical=True, kind="generic"))
        async with begun(fleet, spec) as run:
            await run.drive()
            found = await answered(run, "text", "try harder than before")
        assert states(found)[2] == ("three", "accepted")
        assert found.plan.state == "waiting"
        assert "a person has to review" in found.escalations[-1].reason


async def test_a_review_continues_without_a_question_by_default(play: Play) -> None:
    async with play(conversations=_conflict()) as fleet:
        async with begun(fleet, _asking(on_review="continue")) as run:
            found = await run.drive()
        assert (found.plan.state, found.plan.outcome, found.escalations) == ("finished", "review", [])


def _conflict() -> dict[str, Any]:
    """Return two results that disagree on a severity."""
    return {
        "task of one": says(review("one", "It leaks")),
        "task of two": says(review("two", "It leaks", severity="Minor")),
        **NEXT,
    }


def _asking(*more: Any, on_review: str = "ask") -> Any:
    both = (one("one", kind="review"), one("two", kind="review"), *more)
    return plan(phase("look", *both, on_review=on_review), phase("after", one("next")))
