"""A driver with many delegations keeps only a few results in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from plan_building import CHAT, agents, one, plan, result
from plan_building import phase as phase_of
from support.running import Play

from remit.dispatch.submit import Resolving
from remit.orchestrate import delegating
from remit.orchestrate.phase import MAX_INPUTS
from remit.store import plans

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
MANY = 60
#: Jobs that end when they are submitted, so that only the driver works.
_OVER = """
CREATE FUNCTION over() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.state := 'finished'; NEW.outcome := 'completed'; NEW.verdict := 'accept'; NEW.finished := now();
    NEW.result := '{result}';
    RETURN NEW;
END $$
"""
_TRIGGER = "CREATE TRIGGER over BEFORE INSERT ON remit.jobs FOR EACH ROW EXECUTE FUNCTION over()"


async def test_a_driver_never_holds_the_results_of_a_whole_phase(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    whole, all_of = plans.whole_delegations, plans.delegations_of

    async def counted(database: Any, numbers: Any) -> Any:
        held.append(len(numbers))
        return await whole(database, numbers)

    async def told(*given: Any, **how: Any) -> Any:
        found = await all_of(*given, **how)
        held.append(sum(each.result is not None for each in found))
        return found

    every = [one("scout") for _ in range(MANY)]
    spec = plan(
        phase_of("find", *every, parallel=20), phase_of("judge", one("scout"), inputs=("find",), merges_inputs=True)
    )
    async with play(CHAT) as fleet:
        await fleet.rows(_OVER.format(result=result("scout")))
        await fleet.rows(_TRIGGER)
        number = await delegating.begin_plan(fleet.database, spec, fleet.project, is_new=True)
        monkeypatch.setattr(plans, "whole_delegations", counted)
        monkeypatch.setattr(plans, "delegations_of", told)
        async with asyncio.timeout(60):
            state = await delegating.drive_plan(
                fleet.database, fleet.settings, number, resolving=Resolving(registry=agents("scout"))
            )
        monkeypatch.undo()
        found = await delegating.plan_result(fleet.database, number)
        [(prompt,)] = await fleet.rows("SELECT prompt FROM remit.jobs ORDER BY id DESC LIMIT 1")
    assert state == "finished"
    assert {each.state for each in found.delegations} == {"accepted"}
    assert found.phases[1].merge is not None
    assert len(found.phases[1].merge["agents"]) == MANY + 1
    assert sum(held) > 2 * MANY, "all results were read for the merges and the next phase"
    assert max(held) <= 25
    assert prompt.count("<result ") == MAX_INPUTS
    assert f"{MANY - MAX_INPUTS} more results are in " in prompt
