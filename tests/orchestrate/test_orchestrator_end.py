"""Questions of an orchestrator that ended without completing are closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plan_building import CUT
from support.running import Fleet, Play, tools
from test_orchestrator import ME, orchestrated, submitted

from remit.dispatch.finish import remove_orphans
from remit.errors import UsageError
from remit.orchestrate import delegating
from remit.orchestrate.answers import give_answer
from remit.orchestrate.orchestrator import build_orchestrator
from remit.registry.definition import ORCHESTRATOR
from remit.store import jobs, plans

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
ASK = tools(("Ask", {"question": "Which database?"}))
CRITICAL = {"agent": "code-explorer", "task": "task of the first try", "critical": True}
DELEGATE = tools(("Delegate", {"phase": "explore", "delegations": [CRITICAL]}))
#: Its open questions: one of the orchestrator and one of a subagent.
ASKED = {"its own": ASK, "a subagent's": DELEGATE}


def over(asking: dict[str, Any], *afterwards: dict[str, Any]) -> dict[str, Any]:
    return {ME: [asking, *afterwards], "task of the first try": [CUT]}


async def open_ones(fleet: Fleet) -> list[int]:
    return [one.id for one in await plans.escalations(fleet.database, is_open=True)]


@pytest.mark.parametrize("asking", ASKED)
async def test_a_question_of_a_failed_orchestrator_is_closed_with_a_hint(asking: str, play: Play) -> None:
    async with play(conversations=over(ASKED[asking], CUT)) as fleet:
        job = await orchestrated(fleet)
        assert job.outcome == "truncated"
        [question] = await plans.escalations(fleet.database)
        assert await open_ones(fleet) == []
        said = f"job {job.id} has ended \\(truncated\\), so its questions cannot be answered; continue it"
        with pytest.raises(UsageError, match=said):
            await give_answer(fleet.database, question.id, "skip", "not needed")


@pytest.mark.parametrize("asking", ASKED)
async def test_its_questions_are_reopened_when_it_is_retried(asking: str, play: Play) -> None:
    async with play(conversations=over(ASKED[asking], {"text": "I wait."})) as fleet:
        job = await orchestrated(fleet)
        asked = await open_ones(fleet)
        await fleet.rows("UPDATE remit.jobs SET outcome = 'error', error = 'hung' WHERE id = %s", job.id)
        assert (len(asked), await open_ones(fleet)) == (1, [])
        await jobs.retry(fleet.database, job.id)
        assert await open_ones(fleet) == asked


@pytest.mark.parametrize("asking", ASKED)
async def test_cancelling_an_orchestrator_closes_its_plans_and_questions_at_once(asking: str, play: Play) -> None:
    held = {"text": "x", "gate": "held"}
    async with play(conversations=over(ASKED[asking], held)) as fleet:
        number = await submitted(fleet)
        async with fleet.working(6, runners={ORCHESTRATOR: build_orchestrator()}):
            await fleet.server.wait("held")
            [question] = await open_ones(fleet)
            await fleet.cancel(number)
            assert await open_ones(fleet) == []
            assert (await fleet.reached(number, "finished")).outcome == "cancelled"
        assert await open_ones(fleet) == []
        assert await fleet.rows("SELECT DISTINCT state FROM remit.plans") == [("cancelled",)]
        [asked] = await plans.escalations(fleet.database)
        assert (asked.answer, asked.words, asked.is_applied) == ("cancel", "its orchestrator was cancelled", True)
        with pytest.raises(UsageError, match=f"job {number} has ended \\(cancelled\\)"):
            await give_answer(fleet.database, question, "text", "SQLite")


async def test_questions_of_a_running_orchestrator_are_closed_when_it_stops(play: Play) -> None:
    async with play(conversations=over(ASK, {"text": "I wait.", "gate": "held"})) as fleet:
        number = await submitted(fleet)
        async with fleet.working(6, runners={ORCHESTRATOR: build_orchestrator()}):
            await fleet.server.wait("held")
            [question] = await open_ones(fleet)
            with pytest.raises(UsageError, match=f"job {number} is not waiting for an answer yet"):
                await give_answer(fleet.database, question, "text", "SQLite")
            fleet.server.open("held")
            await fleet.reached(number, "finished")
        assert await open_ones(fleet) == [question]
        await give_answer(fleet.database, question, "text", "SQLite")
        with pytest.raises(UsageError, match=f"there is no open question {question}"):
            await give_answer(fleet.database, question, "text", "SQLite")


async def test_plans_and_questions_of_a_removed_orchestrator_are_removed(play: Play, tmp_path: Path) -> None:
    async with play(conversations=over(ASK, CUT)) as fleet:
        job = await orchestrated(fleet)
        [question] = await plans.escalations(fleet.database)
        await fleet.rows("DELETE FROM remit.jobs WHERE id = %s", job.id)
        assert await open_ones(fleet) == []
        with pytest.raises(UsageError, match=f"job {job.id} and its questions were removed"):
            await give_answer(fleet.database, question.id, "text", "SQLite")
        await remove_orphans(fleet.database, tmp_path, is_shared=True)
        assert await fleet.rows("SELECT id FROM remit.plans") == []


async def test_a_cancelled_plan_has_no_open_questions(play: Play) -> None:
    async with play() as fleet:
        await fleet.rows(
            "INSERT INTO remit.plans (name, digest, document, workspace, state)"
            " VALUES ('x', 'sha256:x', '{}', '/', 'cancelled')"
        )
        await plans.escalate(fleet.database, 1, 0, None, "why?")
        assert await open_ones(fleet) == []
        with pytest.raises(UsageError, match="there is no open question 1"):
            await give_answer(fleet.database, 1, "retry", "")


async def test_a_question_can_be_answered_but_not_resumed(play: Play) -> None:
    async with play(conversations=over(ASK, {"text": "I wait."})) as fleet:
        await orchestrated(fleet)
        [question] = await plans.escalations(fleet.database, is_open=True)
        with pytest.raises(
            UsageError, match=f"plan {question.plan} is a question of job 1: list it with `remit plan questions`"
        ):
            await delegating.drive_plan(fleet.database, fleet.settings, question.plan)
        assert await open_ones(fleet) == [question.id]
