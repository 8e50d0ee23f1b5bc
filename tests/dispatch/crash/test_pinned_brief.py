"""A definition changes or is removed while a job has no worker: the job keeps its brief."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conversation import effects
from support.fixtures import MakeFleet
from support.model_process import RemoteServer
from test_two_workers import gated

Model = Callable[[dict[str, Any]], RemoteServer]


def edited(path: Path) -> None:
    path.write_text("---\nname: builder\ndescription: other\ntools: Read\n---\nYou only look.\n", encoding="utf-8")


@pytest.mark.parametrize("happens", [edited, Path.unlink], ids=["edited", "deleted"])
def test_a_job_keeps_the_brief_it_started_with(happens: Callable[[Path], None], fleet: MakeFleet, model: Model) -> None:
    server = model(gated(1))
    team = fleet(server)
    path = team.define("builder", "You build what is asked for, slowly.", tools="Read, Write, Edit, Bash")
    for name in ("first.txt", "second.txt"):
        (team.project / name).write_text(f"{name}\n", encoding="utf-8")
    job = team.submit("go")
    worker = team.worker()
    server.wait("gate")
    worker.kill()
    happens(path)
    team.worker()
    server.wait("gate", arrived=2)
    server.open("gate")
    team.until(lambda: team.store.is_finished(job))

    bodies = [request["body"] for request in server.requests]
    assert len(bodies) == 5
    assert "You build what is asked for, slowly." in bodies[0]["system"][0]["text"]
    assert all(body["system"] == bodies[0]["system"] for body in bodies)
    assert all(body["tools"] == bodies[0]["tools"] for body in bodies)
    assert team.store.job(job)["outcome"] == "completed"
    assert effects(team.project) == ["one", "two"]
