"""PostgreSQL crashes and restarts: jobs continue, nothing happens twice, workers recover."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from conversation import BUILDER, CONVERSATION, SCRIPT, TURNS, effects, workspace
from support.fixtures import MakeFleet
from support.fleet import requests_of, submitted
from support.model_process import RemoteServer
from support.postgres import Postgres

from remit import testing
from remit.dispatch.submit import Queueing

Model = Callable[[dict[str, Any]], RemoteServer]


def test_a_job_continues_when_the_database_is_back(own_postgres: Postgres, fleet: MakeFleet, model: Model) -> None:
    server = model({"conversations": {"": [{**one, "gate": f"gate-{n}"} for n, one in enumerate(CONVERSATION)]}})
    team = fleet(server, own_postgres.database())
    place = workspace(team.folder / "job")
    wanted = [("go", place, Queueing())]
    job = asyncio.run(submitted(team.store.address, testing.registry(BUILDER), wanted))[0]
    worker = team.worker()
    for turn in range(TURNS):
        server.wait(f"gate-{turn}")
        own_postgres.crash()
        server.open(f"gate-{turn}")  # the answer arrives while it cannot be stored
        own_postgres.start()
    team.until(lambda: team.store.is_finished(job))

    end = team.store.job(job)
    assert (end["outcome"], end["turns"], end["tool_calls"]) == ("completed", TURNS, 6)
    assert effects(place) == ["one", "two"]
    assert [call["state"] for call in team.store.calls(job)] == ["done"] * 6
    assert len(requests_of(server, "go")) == TURNS
    assert (end["attempt"], end["deaths"]) == (1, 0)
    assert worker.is_alive


def test_many_jobs_survive_a_crash_of_the_database(own_postgres: Postgres, fleet: MakeFleet, model: Model) -> None:
    server = model(SCRIPT)
    team = fleet(server, own_postgres.database())
    places = [workspace(team.folder / f"job-{number}") for number in range(6)]
    wanted = [(f"go <{place.name}>", place, Queueing()) for place in places]
    jobs = asyncio.run(submitted(team.store.address, testing.registry(BUILDER), wanted))
    team.environment["REMIT_TAKEOVER_SECONDS"] = "60"  # longer than a restart on a busy machine
    workers = [team.worker("--concurrency", "4"), team.worker("--concurrency", "4")]
    team.until(lambda: sum(team.store.is_finished(job) for job in jobs) >= 2)
    own_postgres.crash()
    own_postgres.start()
    team.until(lambda: all(team.store.is_finished(job) for job in jobs))

    for job, place in zip(jobs, places, strict=True):
        end = team.store.job(job)
        unknown = [call["call"] for call in team.store.calls(job) if call["state"] == "unknown"]
        assert (end["outcome"], end["turns"], end["tool_calls"]) == ("completed", TURNS, 6), end["error"]
        assert effects(place) == ["one", "two"]
        assert not unknown
        assert end["deaths"] == 0, "its worker did not die"
        assert len(requests_of(server, f"<{place.name}>")) <= TURNS + 1
    assert all(worker.is_alive for worker in workers)


def test_an_idle_worker_takes_jobs_after_a_crash_of_the_database(
    own_postgres: Postgres, fleet: MakeFleet, model: Model
) -> None:
    team = fleet(model(SCRIPT), own_postgres.database())
    worker = team.worker()
    own_postgres.crash()
    team.until(lambda: "the database is unavailable" in worker.output)
    own_postgres.start()
    place = workspace(team.folder / "job")
    wanted = [("go", place, Queueing())]
    job = asyncio.run(submitted(team.store.address, testing.registry(BUILDER), wanted))[0]
    team.until(lambda: team.store.is_finished(job))

    assert worker.is_alive
    assert effects(place) == ["one", "two"]
    logged = [line[20:] for line in worker.output.splitlines() if "database is" in line]
    assert [line.partition(",")[0] for line in logged] == [
        "the database is unavailable",
        "the database is available again",
    ]
    assert f" job {job} (builder): started\n" in worker.output


def test_a_job_survives_an_outage_longer_than_its_worker_would_take_to_stop(
    own_postgres: Postgres, fleet: MakeFleet, model: Model
) -> None:
    """The queue of a worker ends with the database; its running job returns to the queue."""
    server = model({"conversations": {"": [{**one, "gate": f"gate-{n}"} for n, one in enumerate(CONVERSATION)]}})
    team = fleet(server, own_postgres.database())
    team.environment |= {"REMIT_SHUTDOWN_SECONDS": "0.3", "REMIT_TAKEOVER_SECONDS": "3"}
    place = workspace(team.folder / "job")
    job = asyncio.run(submitted(team.store.address, testing.registry(BUILDER), [("go", place, Queueing())]))[0]
    workers = [team.worker(), team.worker()]
    server.open("gate-0")
    server.open("gate-1")
    server.wait("gate-2")
    own_postgres.crash()
    team.until(lambda: all("the database is unavailable" in worker.output for worker in workers))
    server.open("gate-2")
    server.open("gate-3")
    own_postgres.start()
    team.until(lambda: team.store.is_finished(job))

    end = team.store.job(job)
    assert (end["outcome"], end["turns"], end["tool_calls"]) == ("completed", TURNS, 6), end["error"]
    assert effects(place) == ["one", "two"]
    assert len(team.store.messages(job)) == 2 * TURNS
    assert TURNS <= len(requests_of(server, "go")) <= TURNS + 1
    assert all(worker.is_alive for worker in workers)
