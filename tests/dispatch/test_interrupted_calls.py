"""Interrupted calls to a model: their known usage counts, and so does the failure for the circuit."""

from __future__ import annotations

from typing import Any

import pytest
from support.commands import ANTHROPIC
from support.running import Play, both_providers, tools

from remit.contract.tokens import estimate_tokens
from remit.dispatch.submit import Queueing
from remit.store import jobs

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
WORDS = "one two three four five six seven eight nine ten"
READ = tools(("Read", {"file_path": "a.py"}))
USED = "SELECT input_tokens, output_tokens, tree_tokens, reserved_tokens, tree_reserved_tokens FROM remit.jobs"
#: Each ends in the middle of an answer.
BROKEN: dict[str, dict[str, Any]] = {
    "cut": {"truncate": 9},
    "ended early": {"truncate": 9, "clean": True},
    "an error inside": {"fail": {"status": 529, "after": 9, "times": 99}},
}


@both_providers
@pytest.mark.parametrize("how", BROKEN.values(), ids=BROKEN)
async def test_an_interrupted_answer_is_charged(
    play: Play, model: str, how: dict[str, Any], short_circuit: None
) -> None:
    async with play({"text": WORDS, "chunks": 10, "usage": {"input": 4_000, "output": 70}, **how}) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        [(sent, got, tree, *reserved)] = await fleet.rows(USED)
        # Anthropic reports the input at the start; for OpenAI it is estimated.
        assert sent == 4 * 4_000 if model == ANTHROPIC else sent >= 4 * 200
        assert 4 * 3 <= got < 4 * estimate_tokens(WORDS)
        assert (tree, *reserved) == (sent + got, 0, 0)
        assert done.cost > 0
        assert done.turns == 0


@both_providers
async def test_the_usage_of_an_interrupted_answer_stays_in_the_total(
    play: Play, model: str, short_circuit: None
) -> None:
    whole = {"text": "done", "usage": {"input": 4_000, "output": 100}}
    turn = {**READ, "usage": {"input": 4_000, "output": 100}, "fail": {"status": 529, "after": 5}}
    async with play(turn, whole) as fleet:
        done = await fleet.run(model=model)
        [(sent, got)] = await fleet.rows("SELECT broken_input, broken_output FROM remit.jobs")
        assert sent >= 100
        assert (done.outcome, done.turns) == ("completed", 2)
        assert (done.input_tokens, done.output_tokens) == (8_000 + sent, 200 + got)
        assert await fleet.rows("SELECT tree_tokens FROM remit.jobs") == [(8_200 + sent + got,)]


@both_providers
@pytest.mark.parametrize("status", [400, 429, 500, 529])
async def test_a_refused_call_costs_nothing(play: Play, model: str, status: int, short_circuit: None) -> None:
    async with play({"fail": {"status": status}}) as fleet:
        assert (await fleet.run(model=model)).outcome == "error"
        assert await fleet.rows(USED) == [(0, 0, 0, 0, 0)]


@both_providers
async def test_a_call_cancelled_before_its_answer_counts_its_input(play: Play, model: str) -> None:
    async with play({"text": "done", "gate": "held"}) as fleet:
        number = await fleet.submit(model=model)
        async with fleet.working():
            await fleet.server.wait("held")
            await fleet.cancel(number)
            await fleet.reached(number, "finished")
        [(sent, got, tree, *reserved)] = await fleet.rows(USED)
        assert sent > 100
        assert (got, tree, *reserved) == (0, sent, 0, 0)


async def test_the_reservation_of_a_call_whose_worker_died_counts_against_the_budget(
    play: Play,
) -> None:
    async with play({"text": "done", "usage": {"input": 4_000, "output": 5}}) as fleet:
        top = await fleet.submit(queueing=Queueing(queue="elsewhere", tree_max_tokens=100_000))
        number = await fleet.submit(queueing=Queueing(parent=top), limits={"tokens": 20_000})
        await fleet.rows("UPDATE remit.jobs SET reserved_tokens = 9000, reserved_cost = 0.5 WHERE id = %s", number)
        await fleet.rows(
            "UPDATE remit.jobs SET tree_reserved_tokens = 9000, tree_reserved_cost = 0.5 WHERE id = %s", top
        )
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.input_tokens + done.output_tokens) == ("completed", 4_005), "the usage is not known"
        assert await fleet.rows("SELECT written_off_tokens, reserved_tokens FROM remit.jobs WHERE id = %s", number) == [
            (9000, 0)
        ]
        assert await fleet.rows("SELECT tree_tokens, tree_reserved_tokens FROM remit.jobs WHERE id = %s", top) == [
            (9000 + 2 * 4_005, 0)
        ]
        left = "SELECT max_tokens - input_tokens - output_tokens - written_off_tokens FROM remit.jobs WHERE id = %s"
        assert await fleet.rows(left, number) == [(20_000 - 9000 - 4_005,)]


async def test_a_job_cancelled_after_its_worker_died_counts_the_same(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        number = await fleet.submit()
        await fleet.rows("UPDATE remit.jobs SET reserved_tokens = 9000, tree_reserved_tokens = 9000")
        await jobs.cancel(fleet.database, number)
        assert await fleet.rows(USED) == [(0, 0, 9000, 0, 0)]


@both_providers
@pytest.mark.parametrize("how", BROKEN.values(), ids=BROKEN)
async def test_an_interrupted_answer_counts_for_the_circuit(
    play: Play, model: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.store.workers.CIRCUIT_FAILURES", 99)
    async with play({"text": WORDS, "chunks": 10, **how}) as fleet:
        await fleet.run(model=model)
        assert await fleet.rows("SELECT failures FROM remit.circuits") == [(4,)]
