"""A plan leaves its verdicts in the ledger and its findings in the review queue, once."""

from __future__ import annotations

from uuid import uuid4

import pytest
from plan_building import begun, one, phase, plan, review, says
from support.running import Play

from remit.store import review_queue
from remit.store.ledger import decided_opinions

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
LOOK = plan(
    phase("look", one("scout", kind="review"), one("helper", kind="review"), policy="learned", on_review="continue")
)
TURNS = {
    "task of scout": says(review("scout", "It leaks")),
    "task of helper": says(review("helper", "It leaks", severity="Minor", score=85)),
}


async def test_a_plan_is_recorded_once_and_its_findings_are_asked(play: Play) -> None:
    async with play(conversations=TURNS) as fleet, begun(fleet, LOOK) as run:
        found = await run.drive()
        await run.drive()  # a finished plan stays as it is
        rows = await fleet.rows(
            "SELECT source, agent, verdict, plan, claims > 0 FROM remit.ledger ORDER BY source, agent"
        )
        assert rows == [
            ("job", "helper", "accept", run.number, True),
            ("job", "scout", "accept", run.number, True),
            ("plan", "", "review", run.number, False),
        ]
        items = await review_queue.list_items(fleet.database)
        assert [(item.kind, item.agents, item.plan, item.path, item.line) for item in items] == [
            ("conflict", ["helper", "scout"], run.number, "a.py", 2)
        ]
        merge = found.phases[0].merge or {}
        assert merge["learned"]["decisions"] == 0, "the policy learned is explained, also without decisions"
        await review_queue.decide(fleet.database, uuid4(), items[0].id, "confirm", "Ada")
        opinions = await decided_opinions(fleet.database)
        assert [(one.agent, one.claimed, one.agents, one.is_confirmed) for one in opinions] == [
            ("helper", 85.0, 2, True),
            ("scout", 90.0, 2, True),
        ]
        assert all(one.definition.startswith("sha256:") and one.model for one in opinions)
        kinds = await fleet.rows("SELECT kind FROM remit.outbox ORDER BY kind")
        assert kinds == [("critical",), ("plan",)]
