"""`remit run` without any server or worker, killed in the middle: a worker finishes the job."""

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
def alone(source: ForkServer, tmp_path: Path, server: RemoteServer) -> Iterator[Fleet]:
    """A fleet that has nothing but the embedded database."""
    with opened(source, tmp_path / "alone", None, server) as team:
        team.define("builder", "You build.", tools="Read, Write, Edit, Bash")
        for name in ("first.txt", "second.txt"):
            (team.project / name).write_text(f"{name}\n", encoding="utf-8")
        yield team
    embedded = EmbeddedServer(tmp_path / "alone" / "data" / "postgres")
    if embedded.is_listening():
        embedded.open()
        embedded.close()


def postgres_of(team: Fleet) -> EmbeddedServer:
    return EmbeddedServer(team.folder / "data" / "postgres")


def test_run_completes_on_the_embedded_database_and_stops_it(alone: Fleet, server: RemoteServer) -> None:
    server.open("gate")

    code, said = alone.run("run", "builder", "go")

    assert code == 1, "completed, and the check says revise"
    assert "completed" in said
    assert effects(alone.project) == ["one", "two"]
    assert not postgres_of(alone).is_listening()


def test_a_worker_finishes_what_a_killed_run_began(alone: Fleet, server: RemoteServer) -> None:
    run = alone.start("run", "builder", "go")
    server.wait("gate")
    run.kill()
    assert postgres_of(alone).is_listening(), "the database is left running, for whoever comes next"
    worker = alone.worker()
    alone.store = Store(postgres_of(alone).address)
    server.wait("gate", arrived=2)
    server.open("gate")
    alone.until(lambda: alone.store.is_finished(1))

    end = alone.store.job(1)
    assert (end["outcome"], end["turns"], end["attempt"]) == ("completed", TURNS, 2)
    assert effects(alone.project) == ["one", "two"]
    assert len(server.requests) == TURNS + 1
    worker.send_signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert not postgres_of(alone).is_listening(), "the last who uses it stops it"


def test_a_run_killed_before_it_began_to_work_is_not_forgotten(alone: Fleet, server: RemoteServer) -> None:
    """Its ticket waits in a queue of its own, which nobody else looks into."""
    server.open("gate")
    assert alone.start("run", "builder", "go", REMIT_STOP_AT="ticket-taken:1").wait() == -9
    alone.worker("--queue", "default")
    alone.store = Store(postgres_of(alone).address)
    alone.until(lambda: alone.store.is_finished(1))

    assert alone.store.job(1)["outcome"] == "completed"
    assert effects(alone.project) == ["one", "two"]


def test_the_embedded_database_is_started_again_when_it_dies_under_a_worker(alone: Fleet, server: RemoteServer) -> None:
    alone.worker()
    alone.store = Store(postgres_of(alone).address)
    job = alone.submit("go")
    server.wait("gate")
    pid = int((alone.folder / "data" / "postgres" / "data" / "postmaster.pid").read_text("utf-8").split()[0])
    os.kill(pid, signal.SIGKILL)
    server.open("gate")
    alone.until(lambda: postgres_of(alone).is_listening() and _is_finished(alone, job))

    assert alone.store.job(job)["outcome"] == "completed"
    assert effects(alone.project) == ["one", "two"]


def _is_finished(team: Fleet, job: int) -> bool:
    try:
        return team.store.is_finished(job)
    except psycopg.OperationalError:
        return False
