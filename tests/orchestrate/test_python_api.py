"""The Python functions: one subagent, many, a plan."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from plan_building import CUT, READ, agent, one, phase, plan, result, says
from support.commands import ANTHROPIC
from support.running import Play

import remit
from remit.errors import UsageError
from remit.orchestrate.plan import DelegationSpec
from remit.registry import resolution as registry_api

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write definitions to a folder that the environment names."""
    folder = tmp_path / "team" / "agents"
    folder.mkdir(parents=True)
    for name in ("scout", "helper"):
        (folder / f"{name}.md").write_text(agent(name), encoding="utf-8")
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(folder.parent))
    monkeypatch.setattr(registry_api, "_loaded", [])


@pytest.fixture
def here(quiet: None, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, team: None) -> None:
    monkeypatch.setenv("REMIT_DATABASE_URL", address)
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "data"))


@pytest.mark.usefixtures("here")
async def test_delegate_returns_the_outcome(play: Play) -> None:
    async with play(READ, {"text": "no result"}, {"text": result("scout")}) as fleet:
        done = await remit.delegate("scout", "look around", repo=fleet.project, model=ANTHROPIC)
        assert (done.agent, done.state, done.verdict, done.warnings) == ("scout", "accepted", "accept", ())
        assert done.result == result("scout").strip()
        [(job, prompt)] = await fleet.rows("SELECT id, prompt FROM remit.jobs")
        assert (done.job, prompt) == (job, "look around")


@pytest.mark.usefixtures("here")
async def test_two_calls_of_delegate_are_two_jobs(play: Play) -> None:
    async with play(*says(result("scout"))) as fleet:
        first = await remit.delegate("scout", "look", repo=fleet.project, model=ANTHROPIC)
        second = await remit.delegate("scout", "look", repo=fleet.project, model=ANTHROPIC)
        assert first.job != second.job


@pytest.mark.usefixtures("here")
async def test_a_failure_is_returned_not_raised(play: Play) -> None:
    async with play(CUT) as fleet:
        done = await remit.delegate("scout", "look", repo=fleet.project, model=ANTHROPIC)
        assert (done.state, done.result) == ("failed", CUT["text"])
        assert done.warnings == ("Agent scout failed, results may be incomplete",)


@pytest.mark.usefixtures("here")
async def test_fan_out_runs_in_parallel_and_keeps_the_order(play: Play) -> None:
    """All three wait for each other, so they must run in parallel."""
    turns: dict[str, Any] = {
        f"task {task}": [{**READ, "gate": "all"}, {"text": result(name)}]
        for task, name in (("one", "scout"), ("two", "helper"))
    }
    turns["task three"] = [{"gate": "all", **CUT}]
    async with play(conversations=turns) as fleet:
        import asyncio

        async def opener() -> None:
            await fleet.server.wait("all", waiting=3)
            fleet.server.open("all")

        opening = asyncio.create_task(opener())
        done = await remit.fan_out(
            [
                DelegationSpec(agent="scout", task="task one", model=ANTHROPIC),
                {"agent": "helper", "task": "task two", "model": ANTHROPIC},
                {"agent": "scout", "task": "task three", "model": ANTHROPIC},
            ],
            repo=fleet.project,
        )
        await opening
        assert [(each.agent, each.state) for each in done] == [
            ("scout", "accepted"),
            ("helper", "accepted"),
            ("scout", "failed"),
        ]


@pytest.mark.usefixtures("here")
async def test_twenty_run_at_once_if_the_plan_allows_it(play: Play) -> None:
    """The worker of this process uses the limit of the plan instead of the default of five."""
    names = [f"task <{number}>" for number in range(12)]
    turns = {name: [{**READ, "gate": "all"}, {"text": result("scout")}] for name in names}
    async with play(conversations=turns) as fleet:
        import asyncio

        spec = plan(phase("all", *(one("scout", name) for name in names), parallel=12))
        running = asyncio.create_task(remit.run_plan(spec, repo=fleet.project))
        await fleet.server.wait("all", waiting=12)
        fleet.server.open("all")
        found = await running
        assert {each.state for each in found.delegations} == {"accepted"}


@pytest.mark.usefixtures("here")
async def test_run_plan_continues_the_unfinished_plan_of_the_same_text(play: Play) -> None:
    turns: dict[str, Any] = {"task of scout": [CUT], "task of helper": says(result("helper"))}
    async with play(conversations=turns) as fleet:
        spec = plan(phase("look", one("scout", critical=True), one("helper")))
        first = await remit.run_plan(spec, repo=fleet.project)
        assert first.plan.state == "waiting"
        asked = len(fleet.requests)
        again = await remit.run_plan(spec, repo=fleet.project)
        assert (again.plan.id, len(fleet.requests)) == (first.plan.id, asked)
        other = await remit.run_plan(spec, repo=fleet.project, is_new=True)
        assert other.plan.id != first.plan.id


@pytest.mark.usefixtures("here")
async def test_a_finished_plan_is_run_again(play: Play) -> None:
    async with play(*says(result("scout"))) as fleet:
        spec = plan(phase("look", one("scout")))
        first = await remit.run_plan(spec, repo=fleet.project)
        second = await remit.run_plan(spec, repo=fleet.project)
        assert (first.plan.state, second.plan.state) == ("finished", "finished")
        assert first.plan.id != second.plan.id


@pytest.mark.usefixtures("here")
async def test_an_invalid_plan_is_refused_before_anything_runs(play: Play) -> None:
    async with play(CUT) as fleet:
        with pytest.raises(UsageError, match="takes input from itself"):
            await remit.run_plan(plan(phase("a", one("scout"), inputs=("a",))), repo=fleet.project)
        assert await fleet.rows("SELECT count(*) FROM remit.plans") == [(0,)]


_TWICE = """
import asyncio, sys
import remit

async def main():
    done = await remit.delegate("scout", "look", repo=sys.argv[1], model=sys.argv[2])
    print(done.state)

asyncio.run(main())
asyncio.run(main())
"""


@pytest.mark.usefixtures("here")
async def test_a_program_that_delegates_closes_all_its_resources(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are errors, and two event loops run one after the other."""
    monkeypatch.delenv("OPENAI_API_KEY")  # its library takes seconds to load
    async with play(*says(result("scout"))) as fleet:
        words = ("-W", "error", "-c", _TWICE, str(fleet.project), ANTHROPIC)
        program = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, complaints = await program.communicate()
    told = [line for line in complaints.decode().splitlines() if not line.startswith("[plugins] ")]
    assert told == [], "there are no warnings"
    assert said.decode().split() == ["accepted", "accepted"]


@pytest.mark.usefixtures("here")
async def test_submit_takes_the_options_of_the_queue(play: Play) -> None:
    async with play(*says(result("scout"))) as fleet:
        options = {"key": "a-1", "priority": 5, "queue": "nightly", "delay": 60, "model": ANTHROPIC}
        first = await remit.submit("scout", "look", repo=fleet.project, **options)
        assert await remit.submit("scout", "look", repo=fleet.project, **options) == first
        job = await fleet.job(first)
        assert (job.idempotency_key, job.priority, job.queue, job.agent) == ("a-1", 5, "nightly", "scout")
        assert await fleet.rows("SELECT due > now() FROM remit.jobs") == [(True,)]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("name", "hint"), [("kye", "key"), ("prompt", ""), ("first_queue", "")])
async def test_submit_refuses_an_unknown_option(play: Play, name: str, hint: str) -> None:
    async with play() as fleet:
        with pytest.raises(UsageError, match=f"a job has no option '{name}'.*{hint}"):
            await remit.submit("scout", "look", repo=fleet.project, **{name: "a-1"})
        assert await fleet.rows("SELECT 1 FROM remit.jobs") == []


@pytest.mark.usefixtures("here")
async def test_many_concurrent_submissions_share_few_connections(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = 0
    connect = psycopg.AsyncConnection.connect

    async def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal opened
        opened += 1
        return await connect(*arguments, **options)

    async with play() as fleet:
        monkeypatch.setattr(psycopg.AsyncConnection, "connect", counted)
        waiting = (remit.submit("scout", f"part {number}", repo=fleet.project, model=ANTHROPIC) for number in range(60))
        numbers = await asyncio.gather(*waiting)
        assert len(set(numbers)) == 60
        assert opened <= 15, "the first connection, and those of one pool with some that it replaced"
        assert await remit.submit("scout", "after them", repo=fleet.project, model=ANTHROPIC) not in numbers
