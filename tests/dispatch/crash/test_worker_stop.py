"""A worker is stopped or reloads its definitions."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

from conversation import TURNS, effects
from support.fixtures import MakeFleet
from support.model_process import RemoteServer
from test_two_workers import begun, gated

Model = Callable[[dict[str, Any]], RemoteServer]


def test_a_stopping_worker_finishes_short_jobs(fleet: MakeFleet, model: Model) -> None:
    server = model(gated(2))
    team = fleet(server)
    job = begun(team)
    worker = team.worker()
    server.wait("gate")
    worker.send_signal(signal.SIGTERM)
    waiting = begun(team, "<plain>")
    server.open("gate")

    assert worker.wait() == 0
    assert "worker stopped" in worker.output
    assert team.store.job(job)["outcome"] == "completed"
    assert team.store.job(waiting)["state"] == "queued", "it takes no new jobs"
    assert team.store.rows("SELECT * FROM remit.workers") == []


def test_a_stopping_worker_returns_long_jobs_and_another_continues(fleet: MakeFleet, model: Model) -> None:
    server = model(gated(2))
    team = fleet(server)
    job = begun(team)
    worker = team.worker(REMIT_SHUTDOWN_SECONDS="0.5")
    server.wait("gate")
    since = time.monotonic()
    worker.send_signal(signal.SIGTERM)

    assert worker.wait() == 0
    assert time.monotonic() - since < 20, "less than the default"
    left = team.store.job(job)
    assert (left["state"], left["deaths"], left["turns"]) == ("queued", 0, 2)
    team.worker()
    server.wait("gate", arrived=2)
    server.open("gate")
    team.until(lambda: team.store.is_finished(job))
    assert (team.store.job(job)["outcome"], team.store.job(job)["turns"]) == ("completed", TURNS)
    assert effects(team.folder / "go") == ["one", "two"]


def test_sighup_reloads_the_definitions(fleet: MakeFleet) -> None:
    team = fleet()
    team.define("one", "Look.")
    worker = team.worker()
    team.define("two", "Look again.")
    team.until(lambda: team.store.rows("SELECT 1 FROM remit.workers"))  # it handles the signal from here on
    count = int(worker.output.split(" definitions")[0].rsplit(" ", 1)[1])

    worker.send_signal(signal.SIGHUP)

    team.until(lambda: f"{count + 1} definitions reloaded" in worker.output)
    assert worker.is_alive
