"""`remit run` on the embedded database is killed; a worker finishes the job."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conversation import TURNS, effects
from support.commands import ForkServer
from support.fleet import Fleet, Store, opened
from support.model_process import RemoteServer
from test_two_workers import gated

from remit.store.server import EmbeddedServer

Model = Callable[[dict[str, Any]], RemoteServer]


@pytest.fixture
def server(model: Model) -> RemoteServer:
    return model(gated(2))


@pytest.fixture
def embedded_fleet(source: ForkServer, tmp_path: Path, server: RemoteServer) -> Iterator[Fleet]:
    """Return a fleet on the embedded database."""
    with opened(source, tmp_path / "embedded_fleet", None, server) as team:
        team.define("builder", "You build.", tools="Read, Write, Edit, Bash")
        for name in ("first.txt", "second.txt"):
            (team.project / name).write_text(f"{name}\n", encoding="utf-8")
        yield team
    embedded = EmbeddedServer(tmp_path / "embedded_fleet" / "data" / "postgres")
    if embedded.is_listening():
        embedded.open()
        embedded.close()


def postgres_of(team: Fleet) -> EmbeddedServer:
    return EmbeddedServer(team.folder / "data" / "postgres")


def test_run_completes_on_the_embedded_database_and_stops_it(embedded_fleet: Fleet, server: RemoteServer) -> None:
    server.open("gate")

    code, said = embedded_fleet.run("run", "builder", "go")

    assert code == 1, "completed with the verdict revise"
    assert "completed" in said
    assert effects(embedded_fleet.project) == ["one", "two"]
    assert not postgres_of(embedded_fleet).is_listening()


def test_a_worker_finishes_the_job_of_a_killed_run(embedded_fleet: Fleet, server: RemoteServer) -> None:
    run = embedded_fleet.start("run", "builder", "go")
    server.wait("gate")
    run.kill()
    assert postgres_of(embedded_fleet).is_listening(), "the database keeps running for the next command"
    worker = embedded_fleet.worker()
    embedded_fleet.store = Store(postgres_of(embedded_fleet).address)
    server.wait("gate", arrived=2)
    server.open("gate")
    embedded_fleet.until(lambda: embedded_fleet.store.is_finished(1))

    end = embedded_fleet.store.job(1)
    assert (end["outcome"], end["turns"], end["attempt"]) == ("completed", TURNS, 2)
    assert effects(embedded_fleet.project) == ["one", "two"]
    assert len(server.requests) == TURNS + 1
    worker.send_signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert not postgres_of(embedded_fleet).is_listening(), "its last user stops it"


def test_the_job_of_a_run_killed_before_its_start_is_not_lost(embedded_fleet: Fleet, server: RemoteServer) -> None:
    """Its ticket is in a private queue that no worker reads."""
    server.open("gate")
    assert embedded_fleet.start("run", "builder", "go", REMIT_STOP_AT="ticket-taken:1").wait() == -9
    embedded_fleet.worker("--queue", "default")
    embedded_fleet.store = Store(postgres_of(embedded_fleet).address)
    embedded_fleet.until(lambda: embedded_fleet.store.is_finished(1))

    assert embedded_fleet.store.job(1)["outcome"] == "completed"
    assert effects(embedded_fleet.project) == ["one", "two"]


def test_the_embedded_database_is_started_again_when_it_dies_under_a_worker(
    embedded_fleet: Fleet, server: RemoteServer
) -> None:
    embedded_fleet.worker()
    embedded_fleet.store = Store(postgres_of(embedded_fleet).address)
    job = embedded_fleet.submit("go")
    server.wait("gate")
    pid = int((embedded_fleet.folder / "data" / "postgres" / "data" / "postmaster.pid").read_text("utf-8").split()[0])
    os.kill(pid, signal.SIGKILL)
    server.open("gate")
    embedded_fleet.until(lambda: postgres_of(embedded_fleet).is_listening() and _is_finished(embedded_fleet, job))

    assert embedded_fleet.store.job(job)["outcome"] == "completed"
    assert effects(embedded_fleet.project) == ["one", "two"]


def _is_finished(team: Fleet, job: int) -> bool:
    try:
        return team.store.is_finished(job)
    except psycopg.OperationalError:
        return False
