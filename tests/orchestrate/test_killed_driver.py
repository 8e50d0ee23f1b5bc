"""The driver of a plan is killed at many points; run again, the plan ends like an undisturbed one."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plan_building import CHAT, CUT, READ, result, review, toml
from support.commands import ForkServer, Process
from support.fixtures import MakeFleet
from support.fleet import Fleet, opened
from support.model_process import RemoteServer, model_process
from support.postgres import Postgres

from remit.store.server import EmbeddedServer

Model = Callable[[dict[str, Any]], RemoteServer]
AGAIN = "An earlier attempt failed"
NAMES = [f"{letter}{number}" for letter in "pqr" for number in range(4)]
DONE = ("accepted", "rejected", "failed", "skipped")


def _document(name: str) -> str:
    if name[1] == "1":
        return review(name, f"It leaks as {name} says", severity="Important", score=85)
    return review(name, "It leaks", score=90) if name[1] == "2" else result(name)


def _turns(name: str, **more: Any) -> list[dict[str, Any]]:
    """Return one turn of each kind: accepted, corrected, failed without harm, failed and retried."""
    good = {"text": _document(name), "delay": 0.05}
    read = {**READ, "delay": 0.05, **more}
    return {"q0": [read, CHAT, good], "q3": [CUT], "r0": [CUT]}.get(name, [read, good])


def script(**more: Any) -> dict[str, Any]:
    turns = {f"task <{name}>": _turns(name, **more) for name in NAMES}
    return {"conversations": {**turns, AGAIN: [READ, {"text": _document("r0")}]}}


def delegation(name: str) -> dict[str, Any]:
    kind = "review" if name[1] in "12" else "generic"
    return {"agent": name, "name": name, "task": f"task <{name}>", "kind": kind, "critical": name == "r0"}


PLAN = toml(
    [
        (letter, [delegation(name) for name in NAMES if name[0] == letter], {"inputs": before, "parallel": 3})
        for letter, before in (("p", []), ("q", ["p"]), ("r", ["q"]))
    ]
)


def prepared(team: Fleet) -> Fleet:
    for name in NAMES:
        team.define(name, "You work.", tools="Read")
    (team.project / "a.py").write_text("def leak():\n    return 1\n", encoding="utf-8")
    (team.project / "b.py").write_text("import a\n", encoding="utf-8")
    (team.project / "plan.toml").write_text(PLAN, encoding="utf-8")
    return team


def start(team: Fleet, **environment: str) -> Process:
    return team.start("plan", "run", "plan.toml", "--format", "json", **environment)


_JOB = re.compile(r"logs \d+")


def shape(process: Process) -> dict[str, Any]:
    said = process.output
    found: dict[str, Any] = json.JSONDecoder().raw_decode(said, said.index("{\n"))[0]
    found.pop("report")  # its files are in the folder of this fleet
    return without_numbers(found)


def without_numbers(value: Any) -> Any:
    """Return a value without the numbers of jobs: jobs that begin together get theirs in any order."""
    return json.loads(_JOB.sub("logs N", json.dumps(value)))


def merges(team: Fleet) -> list[Any]:
    """Return the merges of the phases."""
    rows = team.store.rows("SELECT number, state, decision, merge FROM remit.phases ORDER BY number")
    return [{**row, "merge": without_numbers(row["merge"])} for row in rows]


def delegations(team: Fleet) -> list[dict[str, Any]]:
    fields = "name, agent, state, verdict, retries, scope, result, error, warnings"
    return team.store.rows(f"SELECT {fields} FROM remit.delegations ORDER BY phase, id")


def done(team: Fleet) -> set[str]:
    found = team.store.rows("SELECT to_regclass('remit.delegations') IS NOT NULL AS made")
    return {row["name"] for row in delegations(team) if row["state"] in DONE} if found[0]["made"] else set()


def steps(team: Fleet) -> int:
    found = team.store.rows("SELECT to_regclass('remit.steps') IS NOT NULL AS made")
    return int(team.store.row("SELECT count(*) AS n FROM remit.steps")["n"]) if found[0]["made"] else 0


def asked(server: RemoteServer) -> Counter[str]:
    """Return the number of requests to the model by delegation."""
    found: Counter[str] = Counter()
    for request in server.requests:
        marker = request["marker"] or ""
        found["r0" if marker == AGAIN else marker[6:8]] += 1
    return found


class Undisturbed:
    """The end of the plan without a disturbance."""

    def __init__(self, team: Fleet, server: RemoteServer) -> None:
        process = start(team)
        self.code = process.wait()
        self.shape = shape(process)
        self.merges = merges(team)
        self.delegations = delegations(team)
        self.asked = asked(server)
        self.jobs = team.store.row("SELECT count(*) AS n FROM remit.jobs")["n"]


@pytest.fixture(scope="module")
def undisturbed(
    source: ForkServer, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    with model_process(script(), folder) as server, opened(source, folder, postgres.database(), server) as team:
        yield Undisturbed(prepared(team), server)


def assert_same_end(team: Fleet, process: Process, undisturbed: Undisturbed) -> None:
    """Check that the plan has ended like the undisturbed one."""
    assert process.wait() == undisturbed.code, process.output
    assert delegations(team) == undisturbed.delegations
    assert merges(team) == undisturbed.merges
    mine = shape(process)
    assert {**mine, "id": 0} == {**undisturbed.shape, "id": 0}
    assert team.store.row("SELECT count(*) AS n FROM remit.jobs")["n"] == undisturbed.jobs, "none repeated, none lost"
    assert team.store.row("SELECT count(*) AS n FROM remit.plans")["n"] == 1


def test_the_undisturbed_plan_covers_every_case(undisturbed: Undisturbed) -> None:
    assert undisturbed.code == 1, "one failed without harm, so the decision is not to continue"
    assert [row["state"] for row in undisturbed.delegations] == ["accepted"] * 7 + ["failed"] + ["accepted"] * 4
    assert undisturbed.jobs == 13, "twelve and one retry"
    assert [row["decision"] for row in undisturbed.merges] == ["continue", "retry", "continue"]
    assert all(row["merge"]["findings"] for row in undisturbed.merges)


def test_a_plan_that_is_killed_repeatedly_ends_like_an_undisturbed_one(
    fleet: MakeFleet, model: Model, undisturbed: Undisturbed
) -> None:
    """Kill one plan after every eighth recorded step, from the first to the last."""
    server = model(script())
    team = prepared(fleet(server))
    kills, wanted = 0, 1
    settled: dict[str, int] = {}
    while True:
        process = start(team)
        team.until(lambda p=process, n=wanted: steps(team) >= n or not p.is_alive)  # type: ignore[misc]
        process.send_signal(signal.SIGSTOP)
        if not process.is_alive or all(row["state"] == "finished" for row in merges(team)):
            process.send_signal(signal.SIGCONT)  # starting a finished plan again starts another one
            break
        process.kill()
        kills += 1
        wanted = steps(team) + 8
        counts = asked(server)
        for name in done(team):
            assert settled.setdefault(name, counts[name]) == counts[name], f"{name} was done and is requested again"
    assert kills >= 3
    assert_same_end(team, process, undisturbed)
    attempts = team.store.row("SELECT max(attempt) AS n FROM remit.jobs")["n"]
    assert attempts > 1, "something was in flight at least once"


@pytest.mark.parametrize("finished", [1, 9])
def test_finished_jobs_are_not_repeated_after_a_kill(
    fleet: MakeFleet, model: Model, undisturbed: Undisturbed, finished: int
) -> None:
    server = model(script())
    team = prepared(fleet(server))
    process = start(team)
    team.until(lambda: len(done(team)) >= finished or not process.is_alive)
    process.kill()
    settled, before = done(team), asked(server)
    again = start(team)
    again.wait()

    assert_same_end(team, again, undisturbed)
    after = asked(server)
    for name in settled:
        assert after[name] == before[name], f"{name} was done"
    for name in NAMES:
        assert undisturbed.asked[name] <= after[name] <= undisturbed.asked[name] + 1, "only what was in flight"


@pytest.mark.parametrize("point", ["ticket-taken:2", "model-answered:5", "finished:6"])
def test_a_kill_inside_a_job_does_not_change_the_end(
    fleet: MakeFleet, model: Model, undisturbed: Undisturbed, point: str
) -> None:
    server = model(script())
    team = prepared(fleet(server))
    first = start(team, REMIT_STOP_AT=point)
    assert first.wait() == -signal.SIGKILL, first.output
    settled, before = done(team), asked(server)
    again = start(team)
    assert_same_end(team, again, undisturbed)
    after = asked(server)
    assert all(after[name] == before[name] for name in settled)


def test_a_second_driver_is_refused(fleet: MakeFleet, model: Model, undisturbed: Undisturbed) -> None:
    server = model(script(gate="held"))
    team = prepared(fleet(server))
    first = start(team)
    server.wait("held", waiting=3)
    code, said = team.run("plan", "run", "plan.toml")
    assert code == 2
    assert "remit: plan 1 is already driven by another process" in said
    assert first.is_alive
    server.open("held")
    assert_same_end(team, first, undisturbed)


def test_a_frozen_driver_does_not_drive_next_to_its_successor(
    fleet: MakeFleet, model: Model, undisturbed: Undisturbed
) -> None:
    server = model(script(gate="held"))
    team = prepared(fleet(server))
    first = start(team, REMIT_SHUTDOWN_SECONDS="0.5")
    server.wait("held", waiting=3)
    first.send_signal(signal.SIGSTOP)
    second = start(team)
    team.until(lambda: len(server.requests) >= 6)
    first.send_signal(signal.SIGCONT)
    team.until(lambda: not first.is_alive)
    assert first.wait() == 2
    assert "plan 1 is now driven by another process" in first.output
    server.open("held")
    assert_same_end(team, second, undisturbed)


def test_workers_continue_the_jobs_of_a_plan_without_a_driver(
    fleet: MakeFleet, model: Model, undisturbed: Undisturbed
) -> None:
    server = model(script(gate="held"))
    team = prepared(fleet(server))
    team.worker()
    first = start(team)
    server.wait("held", waiting=3)
    first.kill()
    server.open("held")
    team.until(lambda: team.store.row("SELECT count(*) AS n FROM remit.jobs WHERE state = 'finished'")["n"] == 3)
    again = start(team)
    assert_same_end(team, again, undisturbed)
    assert team.store.row("SELECT max(attempt) AS n FROM remit.jobs WHERE id <= 3")["n"] == 1, "no job was disturbed"


def test_a_killed_plan_on_the_embedded_database_finishes_when_run_again(
    source: ForkServer, tmp_path: Path, model: Model, undisturbed: Undisturbed
) -> None:
    """Nothing is set up; the embedded database survives the killed process and is used again."""
    server = model(script(gate="held"))
    with opened(source, tmp_path / "alone", None, server) as team:
        prepared(team)
        first = start(team)
        server.wait("held", waiting=3)
        first.kill()
        server.open("held")
        again = start(team)
        assert again.wait() == undisturbed.code, again.output
        mine = shape(again)
        assert (mine["merge"], mine["phases"]) == (undisturbed.shape["merge"], undisturbed.shape["phases"])
    assert not EmbeddedServer(tmp_path / "alone" / "data" / "postgres").is_listening(), "its last user stops it"
