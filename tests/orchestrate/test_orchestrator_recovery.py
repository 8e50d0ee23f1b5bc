"""An orchestrator that repeats a call, or whose worker died: nothing counts twice or stays open."""

from __future__ import annotations

from typing import Any

import pytest
from plan_building import CHAT, CUT, result, says
from support.running import Fleet, Play, tools
from test_orchestrator import AUDITOR, EXPLORER, ME, answers, delegate, lookup, orchestrated, submitted

from remit.dispatch.attempt import AttemptParts
from remit.errors import EnvironmentBroken
from remit.gate.delegations import open_delegations
from remit.gate.session_store import open_session
from remit.orchestrate.answers import give_answer
from remit.orchestrate.orchestrator import MAX_SAME, GateSession, Orchestrator, build_orchestrator
from remit.registry.definition import ORCHESTRATOR
from remit.store import plans
from remit.store.transcript import Transcript

pytest_plugins = ("support.running",)
WAITING = {"agent": "security-auditor", "task": "task of the auditor", "critical": True}
EXPLORING = {"agent": "code-explorer", "task": "task of the explorer", "kind": "generic"}


def one_waits(*afterwards: Any) -> dict[str, Any]:
    """Run an orchestrator with one accepted delegation and one that waits for the user."""
    both = ("Delegate", {"phase": "explore", "delegations": [EXPLORING, WAITING]})
    accepted = says(result("code-explorer"), result("code-explorer"))
    return {ME: [tools(both), *afterwards], EXPLORER: accepted, "task of the auditor": [CUT]}


@pytest.mark.anyio
async def test_reading_results_again_does_not_allow_more_files(play: Play) -> None:
    results = ("Results", {"phase": "explore"})
    looks = [tools(lookup(f"{name}.txt")) for name in ("one", "two", "three")]
    async with play(conversations=one_waits(*looks, tools(results), tools(lookup("four.txt")), CHAT)) as fleet:
        for name in ("one", "two", "three", "four"):
            (fleet.project / f"{name}.txt").write_text(f"port {name}\n", encoding="utf-8")
        await orchestrated(fleet)
        told = answers(fleet)
    assert [one.startswith("refused") for one in told[1:4]] == [False] * 3
    assert "code-explorer: accepted" in told[4]
    assert told[5].startswith("refused (lookup-files): four.txt")


def left_open(fleet: Fleet, job: int) -> list[str]:
    """Return the delegations that the gate considers open."""
    with open_session(str(fleet.settings.texts / "gate"), f"job-{job}") as state:
        return open_delegations(state)


@pytest.mark.anyio
async def test_reading_results_closes_a_delegation_that_the_gate_missed(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = GateSession.close_delegation
    failures = [EnvironmentBroken("the gate's folder is full")]

    async def close(self: GateSession, *arguments: Any) -> None:
        if failures:
            raise failures.pop()
        await closing(self, *arguments)

    monkeypatch.setattr(GateSession, "close_delegation", close)
    turns = {
        ME: [
            tools(("Delegate", {"phase": "explore", "delegations": [EXPLORING]})),
            tools(("Results", {"phase": "explore"})),
            CHAT,
        ],
        EXPLORER: says(result("code-explorer"), result("code-explorer")),
    }
    async with play(conversations=turns) as fleet:
        job = await orchestrated(fleet)
        told = answers(fleet)
        assert left_open(fleet, job.id) == []
    assert "the gate's folder is full" in told[0]
    assert "code-explorer: accepted" in told[1]


@pytest.mark.anyio
async def test_a_call_repeated_after_a_crash_returns_its_own_results(play: Play) -> None:
    """Its plan does not count as a round without progress."""
    async with play(conversations={AUDITOR: [CHAT, CHAT] * (MAX_SAME + 1)}) as fleet:
        job = await fleet.job(await fleet.submit(runner=ORCHESTRATOR, allowed_tools=[]))
        unused: Any = None
        brief, transcript = await fleet.brief(job), Transcript(fleet.database, job.id, job.attempt)
        parts = AttemptParts(
            fleet.database, fleet.settings, job, brief, fleet.project, transcript, unused, unused, unused
        )
        _, arguments = delegate("security-auditor")
        async with fleet.working(2, queues=["default"], runners={ORCHESTRATOR: _never}):
            said = [
                (await Orchestrator(parts, None).answer("Delegate", arguments, key)).text
                for key in ["1", "2", "3", "3", "4"]
            ]
    assert all("security-auditor: rejected" in one for one in said[:4])
    assert said[3] == said[2]
    assert "do not delegate them again" in said[4]


async def _never(_: AttemptParts) -> Any:
    raise AssertionError("only its subagents are run here")


@pytest.mark.anyio
async def test_the_subagents_of_a_cancelled_orchestrator_are_cancelled_with_it(play: Play) -> None:
    waiting = {"agent": "code-explorer", "task": "task of the auditor", "kind": "generic"}
    both = tools(("Delegate", {"phase": "explore", "delegations": [EXPLORING, waiting]}))
    held = {"text": "x", "stall": True}
    async with play(conversations={ME: [both, CHAT], EXPLORER: [held], "task of the auditor": [held]}) as fleet:
        number = await submitted(fleet)
        async with fleet.working(6, runners={ORCHESTRATOR: build_orchestrator()}):
            await fleet.server.wait("release", waiting=2)
            await fleet.cancel(number)
            for job in (number, number + 1, number + 2):
                assert (await fleet.reached(job, "finished")).outcome == "cancelled"
        assert await fleet.rows("SELECT state FROM remit.plans") == [("cancelled",)]
        assert await fleet.rows("SELECT DISTINCT state, error FROM remit.delegations") == [
            ("failed", "its orchestrator was cancelled")
        ]


BREAK = {
    "escalations": "CREATE TRIGGER broken BEFORE UPDATE ON remit.escalations FOR EACH ROW EXECUTE FUNCTION broken()",
    "messages": "CREATE TRIGGER broken BEFORE INSERT ON remit.messages FOR EACH ROW EXECUTE FUNCTION broken()",
}


@pytest.mark.anyio
@pytest.mark.parametrize("table", BREAK)
async def test_an_answer_is_sent_and_stored_together(table: str, play: Play) -> None:
    """The orchestrator may read it as soon as it continues."""
    async with play(conversations=one_waits({"text": "I wait."})) as fleet:
        job = await orchestrated(fleet)
        [question] = await plans.escalations(fleet.database, is_open=True)
        await fleet.rows(
            "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$"
        )
        await fleet.rows(BREAK[table])
        with pytest.raises(Exception, match="no room"):
            await give_answer(fleet.database, question.id, "skip", "not needed")
        assert (await fleet.job(job.id)).state == "finished"
        assert [one.id for one in await plans.escalations(fleet.database, is_open=True)] == [question.id]
        await fleet.rows(f"DROP TRIGGER broken ON remit.{table}")
        await give_answer(fleet.database, question.id, "skip", "not needed")
        assert (await fleet.job(job.id)).state == "queued"


@pytest.mark.anyio
async def test_waiting_for_a_person_does_not_count_as_time_of_the_job(play: Play) -> None:
    turns = {ME: [tools(("Ask", {"question": "Which?"})), {"text": "I wait."}, {"text": "That one."}]}
    async with play(conversations=turns) as fleet:
        job = await orchestrated(fleet)
        await fleet.rows("UPDATE remit.jobs SET max_seconds = 600, started = started - interval '2 days'")
        [question] = await plans.escalations(fleet.database, is_open=True)
        await give_answer(fleet.database, question.id, "text", "the second")
        async with fleet.working(1, runners={ORCHESTRATOR: build_orchestrator()}):
            after = await fleet.reached(job.id, "finished")
    assert (after.outcome, after.result) == ("completed", "That one.")
