"""One of two workers dies or freezes: the other takes over in time, and nothing happens twice."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from conversation import BUILDER, CONVERSATION, TURNS, effects, workspace
from support.fixtures import MakeFleet
from support.fleet import Fleet, requests_of, submitted
from support.model_process import RemoteServer

from remit import testing
from remit.dispatch.submit import Queueing
from remit.store.database import OPTIONS

Model = Callable[[dict[str, Any]], RemoteServer]
TAKEOVER = 8.0


def gated(turn: int, gate: str = "gate") -> dict[str, Any]:
    """Return the conversation with an answer that waits at a gate."""
    turns = [{**one, "gate": gate} if number == turn else one for number, one in enumerate(CONVERSATION)]
    return {"conversations": {"": turns, "<plain>": CONVERSATION}}


def begun(fleet: Fleet, task: str = "go") -> int:
    place = workspace(fleet.folder / task.strip("<>"))
    wanted = [(task, place, Queueing())]
    return asyncio.run(submitted(fleet.store.address, testing.registry(BUILDER), wanted))[0]


def test_the_job_of_a_killed_worker_is_taken_over_in_time(fleet: MakeFleet, model: Model) -> None:
    server = model(gated(2))
    team = fleet(server)
    team.environment["REMIT_TAKEOVER_SECONDS"] = str(TAKEOVER)
    job = begun(team)
    first = team.worker()
    server.wait("gate")
    second = team.worker()

    first.kill()
    since = time.monotonic()
    server.wait("gate", arrived=2)
    took = time.monotonic() - since
    server.open("gate")
    team.until(lambda: team.store.is_finished(job))

    assert took < TAKEOVER
    end = team.store.job(job)
    assert (end["outcome"], end["attempt"], end["deaths"], end["turns"]) == ("completed", 2, 1, TURNS)
    assert "attempt 1 stopped responding after turn 2" in end["last_death"]
    assert effects(team.folder / "go") == ["one", "two"]
    assert len(requests_of(server, "go")) == TURNS + 1
    assert "is taken over" in second.output


@pytest.mark.parametrize("turn", [1, 3], ids=["before-a-command", "before-the-end"])
def test_a_worker_that_wakes_up_late_writes_nothing_and_continues(turn: int, fleet: MakeFleet, model: Model) -> None:
    server = model(gated(turn))
    team = fleet(server)
    job = begun(team)
    frozen = team.worker()
    server.wait("gate")
    frozen.send_signal(signal.SIGSTOP)
    other = team.worker()
    server.wait("gate", arrived=2)
    server.open("gate")
    team.until(lambda: team.store.is_finished(job))
    other.send_signal(signal.SIGTERM)
    assert other.wait() == 0
    before = _everything(team, job)

    frozen.send_signal(signal.SIGCONT)
    team.until(lambda: "is no longer owned by attempt 1" in frozen.output)
    later = begun(team, "<plain>")
    team.until(lambda: team.store.is_finished(later))

    assert frozen.is_alive
    assert _everything(team, job) == before
    assert team.store.job(job)["outcome"] == team.store.job(later)["outcome"] == "completed"
    assert effects(team.folder / "go") == effects(team.folder / "plain") == ["one", "two"]
    assert len(requests_of(server, "go")) == TURNS + 1


def test_a_worker_that_wakes_up_while_another_runs_its_job_writes_nothing(fleet: MakeFleet, model: Model) -> None:
    """Only the attempt number separates the two."""
    script = gated(1, "early")
    script["conversations"][""][3] = {**CONVERSATION[3], "gate": "late"}
    server = model(script)
    team = fleet(server)
    job = begun(team)
    frozen = team.worker()
    server.wait("early")
    frozen.send_signal(signal.SIGSTOP)
    team.worker()
    server.wait("early", arrived=2)
    server.open("early")
    server.wait("late")
    before = _everything(team, job)

    frozen.send_signal(signal.SIGCONT)
    team.until(lambda: "is no longer owned by attempt 1" in frozen.output)

    assert _everything(team, job) == before
    assert team.store.job(job)["state"] == "running"
    server.open("late")
    team.until(lambda: team.store.is_finished(job))
    assert (team.store.job(job)["outcome"], team.store.job(job)["attempt"]) == ("completed", 2)
    assert effects(team.folder / "go") == ["one", "two"]
    assert frozen.is_alive


def _everything(team: Fleet, job: int) -> list[Any]:
    """Return all rows of a job."""
    tables = ("messages", "tool_calls", "receipts", "results", "events")
    return [
        team.store.job(job),
        *(team.store.rows(f"SELECT * FROM remit.{name} WHERE job = %s ORDER BY 1, 2", job) for name in tables),
    ]


def test_a_worker_frozen_in_a_transaction_does_not_keep_its_job(fleet: MakeFleet, model: Model) -> None:
    """The server must release its locks, or no other worker could take over the job."""
    server = model(gated(1))
    team = fleet(server)
    job = begun(team)
    first = team.worker()
    server.wait("gate")
    with psycopg.connect(team.store.address, options=OPTIONS) as stuck:
        stuck.execute("SELECT 1 FROM remit.jobs WHERE id = %s FOR UPDATE", [job])
        first.kill()
        team.worker()
        server.wait("gate", arrived=2)
        server.open("gate")
        team.until(lambda: team.store.is_finished(job))

        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            stuck.execute("SELECT 1")
    assert effects(team.folder / "go") == ["one", "two"]
