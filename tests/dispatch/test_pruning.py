"""`remit jobs prune` removes old jobs and keeps those that may still be needed."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest
from support.commands import Commands
from support.running import Fleet, Play, tools

from remit.dispatch.finish import remove_orphans
from remit.dispatch.submit import Queueing
from remit.store import jobs, plans
from remit.store.jobs import Job

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
DONE = {"text": "done"}
OLD = 31


async def is_over(fleet: Fleet, number: int, days: int) -> None:
    """Make a job look completed a number of days ago."""
    job = await jobs.claim(fleet.database, number, str(uuid.uuid4()), None)
    assert isinstance(job, Job)
    await jobs.finish(fleet.database, number, job.attempt, "completed")
    await fleet.rows("UPDATE remit.jobs SET finished = now() - make_interval(days => %s) WHERE id = %s", days, number)


async def runs(fleet: Fleet, number: int) -> None:
    assert isinstance(await jobs.claim(fleet.database, number, str(uuid.uuid4()), None), Job)


async def waits(fleet: Fleet, number: int) -> None:
    assert (await fleet.job(number)).state == "queued"


async def is_young(fleet: Fleet, number: int) -> None:
    await is_over(fleet, number, 1)


async def numbers(fleet: Fleet) -> list[int]:
    return [row[0] for row in await fleet.rows("SELECT id FROM remit.jobs ORDER BY id")]


async def family(fleet: Fleet) -> tuple[int, int, int]:
    """Submit a job, a child and a grandchild; all but the last are old."""
    top = await fleet.submit()
    child = await fleet.submit(queueing=Queueing(parent=top))
    last = await fleet.submit(queueing=Queueing(parent=child))
    await is_over(fleet, top, OLD)
    await is_over(fleet, child, OLD)
    return top, child, last


NEEDED = {"waits": waits, "runs": runs, "is young": is_young}


@pytest.mark.parametrize("state", NEEDED)
async def test_an_old_job_stays_while_a_descendant_is_not_old(play: Play, state: str) -> None:
    async with play(DONE) as fleet:
        top, child, last = await family(fleet)
        alone = await fleet.submit()
        await is_over(fleet, alone, OLD)
        await NEEDED[state](fleet, last)
        assert await jobs.prune(fleet.database, 30) == 1
        assert await numbers(fleet) == [top, child, last]


async def test_an_old_tree_is_removed_completely(play: Play) -> None:
    async with play(DONE) as fleet:
        *_, last = await family(fleet)
        await is_over(fleet, last, OLD)
        assert await jobs.prune(fleet.database, 30) == 3
        assert await numbers(fleet) == []


async def test_an_old_child_stays_while_its_parent_runs(play: Play) -> None:
    async with play(DONE) as fleet:
        top = await fleet.submit()
        middle = await fleet.submit(queueing=Queueing(parent=top))
        last = await fleet.submit(queueing=Queueing(parent=middle))
        leaf = await fleet.submit(queueing=Queueing(parent=last))
        for number in (middle, last, leaf):
            await is_over(fleet, number, OLD)
        await runs(fleet, top)
        assert await jobs.prune(fleet.database, 30) == 0
        assert await numbers(fleet) == [top, middle, last, leaf]


async def planned(fleet: Fleet, state: str) -> int:
    """Create an old job of a plan in a given state."""
    job = await fleet.submit()
    await is_over(fleet, job, OLD)
    plan, _ = await plans.open_plan(
        fleet.database, "a plan", uuid.uuid4().hex, {}, str(fleet.project), [("look", [("one", "keeper")])]
    )
    await fleet.rows("UPDATE remit.delegations SET job = %s WHERE plan = %s", job, plan)
    await fleet.database.rows("plans.set_state", plan=plan, state=state, outcome=None)
    await fleet.rows("UPDATE remit.plans SET finished = finished - make_interval(days => %s)", OLD)
    return job


@pytest.mark.parametrize("state", ["running", "waiting"])
async def test_an_old_job_of_an_unfinished_plan_stays(play: Play, state: str) -> None:
    async with play(DONE) as fleet:
        job = await planned(fleet, state)
        assert await jobs.prune(fleet.database, 30) == 0
        assert await numbers(fleet) == [job]
        assert await fleet.rows("SELECT state FROM remit.plans") == [(state,)]


@pytest.mark.parametrize("state", ["finished", "cancelled"])
async def test_an_old_finished_plan_is_removed_with_its_jobs(play: Play, state: str) -> None:
    async with play(DONE) as fleet:
        await planned(fleet, state)
        assert await jobs.prune(fleet.database, 30) == 1
        assert await numbers(fleet) == []
        assert await fleet.rows("SELECT count(*) FROM remit.plans") == [(0,)]


@pytest.mark.parametrize(("minutes", "left"), [(59, 1), (61, 0)])
async def test_an_unused_brief_is_kept_for_an_hour(play: Play, minutes: int, left: int) -> None:
    """A submission may be about to use it."""
    async with play(DONE) as fleet:
        await is_over(fleet, await fleet.submit(), OLD)
        await fleet.rows("UPDATE remit.briefs SET created = now() - make_interval(mins => %s)", minutes)
        assert await jobs.prune(fleet.database, 30) == 1
        assert await fleet.rows("SELECT count(*) FROM remit.briefs") == [(left,)]


async def test_the_brief_of_a_kept_job_is_kept(play: Play) -> None:
    async with play(DONE) as fleet:
        number = await fleet.submit()
        await fleet.rows("UPDATE remit.briefs SET created = now() - interval '400 days'")
        await jobs.prune(fleet.database, 30)
        await fleet.work()
        assert (await fleet.job(number)).outcome == "completed"


GONE = 4711
SPILL, WORKTREES = "spill", "worktrees"


async def littered(fleet: Fleet) -> dict[str, int]:
    """Create a data folder with files of a queued, a running, a finished and a removed job."""
    found = {name: await fleet.submit() for name in ("waits", "runs", "over")}
    await runs(fleet, found["runs"])
    await is_over(fleet, found["over"], 0)
    for folder in (SPILL, WORKTREES):
        for name in (*(f"job-{number}" for number in (*found.values(), GONE)), f"job-{GONE}.old", "mine"):
            place = fleet.settings.work / folder / name
            place.mkdir(parents=True)
            (place / "some.txt").write_text("text", encoding="utf-8")
    return found


def places(fleet: Fleet, folder: str) -> set[str]:
    """Return the remaining files and their content."""
    return {file.parent.name for file in (fleet.settings.work / folder).glob("*/some.txt")}


async def test_files_of_removed_jobs_are_removed(play: Play) -> None:
    async with play(DONE) as fleet:
        found = await littered(fleet)
        await remove_orphans(fleet.database, fleet.settings.work, is_shared=False)
        kept = {f"job-{GONE}.old", "mine"} | {f"job-{found[name]}" for name in ("waits", "runs")}
        assert places(fleet, SPILL) == kept | {f"job-{found['over']}"}, "an existing job keeps its long outputs"
        assert places(fleet, WORKTREES) == kept, "a finished job needs no worktree"


async def test_in_a_shared_store_only_files_of_known_jobs_are_removed(play: Play) -> None:
    """A folder without a job may belong to another store."""
    async with play(DONE) as fleet:
        found = await littered(fleet)
        await remove_orphans(fleet.database, fleet.settings.work, is_shared=True)
        kept = {f"job-{GONE}", f"job-{GONE}.old", "mine"} | {f"job-{found[name]}" for name in ("waits", "runs")}
        assert places(fleet, SPILL) == kept | {f"job-{found['over']}"}
        assert places(fleet, WORKTREES) == kept


async def test_a_link_in_place_of_the_files_is_not_followed(play: Play, tmp_path: Path) -> None:
    async with play(DONE) as fleet:
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "some.txt").write_text("text", encoding="utf-8")
        (fleet.settings.work / SPILL).mkdir(parents=True)
        (fleet.settings.work / SPILL / f"job-{GONE}").symlink_to(precious)
        await remove_orphans(fleet.database, fleet.settings.work, is_shared=False)
        assert (precious / "some.txt").exists()


async def test_pruning_without_files_works(play: Play) -> None:
    async with play(DONE) as fleet:
        await remove_orphans(fleet.database, fleet.settings.state / "nowhere", is_shared=False)
        assert await jobs.prune(fleet.database, 0) == 0


async def test_long_outputs_are_removed_with_their_job(play: Play, tmp_path: Path) -> None:
    """Run the commands on the embedded database."""
    async with play(tools(("Grep", {"pattern": "x", "output_mode": "content"})), DONE) as fleet:
        (fleet.project / "long.txt").write_text(f"{'x' * 99}\n" * 1_000, encoding="utf-8")
        data = tmp_path / "own"
        remit = Commands("", fleet.project, data, fleet.server.url)
        ran = await asyncio.to_thread(remit, "run", "generic", "go", "--tools", "Grep", "--format", "json")
        assert ran.json["outcome"] == "completed", ran
        [spilled] = data.glob(f"work/*/{SPILL}/job-1/*")
        assert len(spilled.read_text(encoding="utf-8")) > 99_000, "the complete output"

        kept = await asyncio.to_thread(remit, "jobs", "prune", "--days", "1", "--format", "json")
        assert (kept.json["removed"], spilled.exists()) == (0, True)
        pruned = await asyncio.to_thread(remit, "jobs", "prune", "--days", "0", "--format", "json")
        assert pruned.json["removed"] == 1, pruned
        assert not spilled.parent.exists()
