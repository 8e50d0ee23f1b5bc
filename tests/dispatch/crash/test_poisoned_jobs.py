"""Jobs that kill their workers and jobs without progress end with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conversation import CONVERSATION, EFFECTS, SCRIPT, effects
from support.fixtures import MakeFleet
from support.model_process import RemoteServer
from support.waiting import PATIENCE
from test_two_workers import begun, gated

from remit.dispatch.attempt import MAX_DEATHS_IN_TURN as LIMIT

Model = Callable[[dict[str, Any]], RemoteServer]


def test_a_job_stops_after_too_many_dead_workers_in_one_turn(fleet: MakeFleet, model: Model) -> None:
    server = model(SCRIPT)
    team = fleet(server)
    team.environment["REMIT_TAKEOVER_SECONDS"] = "0.5"
    job = begun(team)
    for point in ("tool-begun:1", *["model-asked:1"] * (LIMIT - 1)):
        assert team.start("worker", REMIT_STOP_AT=point).wait() == -9
    assert not team.store.is_finished(job)
    worker = team.worker()
    team.until(lambda: team.store.is_finished(job))

    end = team.store.job(job)
    assert (end["outcome"], end["deaths"], end["attempt"]) == ("error", LIMIT, LIMIT + 1)
    assert end["error"].startswith(
        f"stopped after {LIMIT} attempts died in one turn: attempt {LIMIT} stopped responding after turn 1"
    )
    assert end["result"] == "I begin.", "the partial output is kept"
    assert worker.is_alive


def test_a_job_that_makes_progress_survives_more_deaths(fleet: MakeFleet, model: Model) -> None:
    numbers = range(LIMIT + 1)
    turns = [{"tools": [{"name": "Bash", "input": {"command": f"echo {number} >> {EFFECTS}"}}]} for number in numbers]
    server = model({"conversations": {"": [*turns, *CONVERSATION[-1:]]}})
    team = fleet(server)
    team.environment["REMIT_TAKEOVER_SECONDS"] = "0.5"
    job = begun(team)
    for _ in turns:
        assert team.start("worker", REMIT_STOP_AT="model-asked:2").wait() == -9
    team.worker()
    team.until(lambda: team.store.is_finished(job))

    end = team.store.job(job)
    assert (end["outcome"], end["deaths"], end["deaths_in_turn"]) == ("completed", len(turns), 1)
    assert effects(team.folder / "go") == [str(number) for number in numbers]


def test_a_job_without_progress_is_ended_as_hung(fleet: MakeFleet, model: Model) -> None:
    server = model(gated(1))
    team = fleet(server)
    job = begun(team)
    worker = team.worker(REMIT_HUNG_SECONDS=str(PATIENCE))
    server.wait("gate")
    team.store.rows("UPDATE remit.jobs SET checkpoint = checkpoint - interval '1 hour'")
    team.until(lambda: team.store.is_finished(job))
    later = begun(team, "<plain>")
    team.until(lambda: team.store.is_finished(later) and team.store.job(job)["result"])

    end = team.store.job(job)
    assert end["outcome"] == "error"
    assert end["error"].startswith(f"hung: no step was finished for {PATIENCE:.0f}")
    assert end["result"] == "I begin."
    assert team.store.job(later)["outcome"] == "completed"
    told = team.store.rows("SELECT data FROM remit.events WHERE job = %s AND kind = 'finished'", job)
    assert [row["data"]["outcome"] for row in told] == ["error"]
    assert worker.is_alive
    team.until(lambda: not team.store.rows("SELECT 1 FROM procrastinate_jobs"))
