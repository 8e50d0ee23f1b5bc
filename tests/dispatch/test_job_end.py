"""Every end of a job keeps its text and diff and states the reason."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.running import Fleet, Play, tools
from support.waiting import until_async

from remit.dispatch import attempt
from remit.dispatch.attempt import Attempt
from remit.dispatch.submit import Queueing
from remit.errors import EnvironmentBroken
from remit.store import jobs

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
WRITES = tools(("Write", {"file_path": "new.py", "content": "fresh = 1\n"}))
ISOLATED = {"isolation": "worktree", "allowed_tools": ["Write"]}
SECRET = "ghp_" + "a1B2" * 9


def commit(folder: Path) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "--all"), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def worktree_of(fleet: Fleet, number: int) -> Path:
    return fleet.settings.work / "worktrees" / f"job-{number}"


async def test_a_hung_job_keeps_its_text_and_diff(play: Play) -> None:
    half = {"text": "half an answer, in pieces " * 40, "chunks": 20, "stall": True, "after": 10}
    async with play(WRITES, half, hung_seconds=2.0, takeover_seconds=3.0) as fleet:
        commit(fleet.project)
        number = await fleet.submit(**ISOLATED)

        async def has_diff() -> bool:
            return (await fleet.job(number)).diff is not None

        async with fleet.working():
            await until_async(has_diff, "the diff is with the job")
            await until_async(
                lambda: asyncio.to_thread(lambda: not worktree_of(fleet, number).exists()), "it is tidied up"
            )
        done = await fleet.job(number)
        assert done.outcome == "error"
        assert str(done.error).startswith("hung: ")
        assert str(done.result).startswith("half an answer")
        assert "+fresh = 1" in str(done.diff)


async def handed_back(fleet: Fleet) -> int:
    """Return a job that has written a file when its worker ends."""
    commit(fleet.project)
    number = await fleet.submit(**ISOLATED)
    async with fleet.working():
        await fleet.server.wait("g")
    assert (await fleet.job(number)).state == "queued"
    return number


async def test_a_job_cancelled_in_the_queue_keeps_its_files(play: Play) -> None:
    async with play(WRITES, {"text": "x", "gate": "g"}, shutdown_seconds=0.0) as fleet:
        number = await handed_back(fleet)
        await fleet.cancel(number)
        await fleet.work()
        assert (await fleet.job(number)).outcome == "cancelled"
        assert (worktree_of(fleet, number) / "new.py").exists()


async def test_a_cancelled_job_that_is_retried_has_its_files(play: Play) -> None:
    async with play(WRITES, {"text": "done", "gate": "g"}, shutdown_seconds=0.0) as fleet:
        number = await handed_back(fleet)
        await fleet.cancel(number)
        fleet.server.open("g")
        await jobs.retry(fleet.database, number)
        await fleet.work()
        done = await fleet.job(number)
        assert done.outcome == "completed"
        assert "+fresh = 1" in str(done.diff)


async def limited(fleet: Fleet) -> int:
    """Submit a job with a limit of one minute."""
    number = await fleet.submit()
    await fleet.rows("UPDATE remit.jobs SET max_seconds = 60 WHERE id = %s", number)
    return number


async def fails(*_: Any) -> Any:
    raise RuntimeError(f"something broke: {SECRET}")


async def test_an_internal_error_keeps_the_diff_and_reveals_no_secret(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Attempt, "_check", fails)
    async with play(WRITES, {"text": "done"}) as fleet:
        commit(fleet.project)
        done = await fleet.run(**ISOLATED)
        assert (done.outcome, done.result) == ("error", "done")
        assert done.error == "RuntimeError: something broke: [GitHub token removed]"
        assert "+fresh = 1" in str(done.diff)
        assert not worktree_of(fleet, done.id).exists()
        assert await fleet.tables_with(SECRET) == []


async def broken(*_: Any) -> Any:
    raise EnvironmentBroken("git cannot be started")


async def test_a_broken_host_ends_the_job_with_the_reason(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attempt, "_check", broken)
    async with play({"text": "done"}) as fleet:
        done = await fleet.run()
        assert (done.outcome, done.error, done.attempt) == ("error", "git cannot be started", 1)


async def test_a_timeout_inside_a_tool_is_not_a_timeout_of_the_job(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def late(*_: Any) -> Any:
        raise TimeoutError("a library gave up")

    monkeypatch.setattr(Attempt, "_work", late)
    async with play({"text": "never"}) as fleet:
        number = await limited(fleet)
        await fleet.work()
        done = await fleet.job(number)
        assert (done.outcome, done.error) == ("error", "TimeoutError: a library gave up")


@pytest.mark.parametrize(("gone", "outcome"), [(50, "completed"), (70, "timeout")])
async def test_the_time_of_a_job_is_measured_by_the_clock_of_the_database(play: Play, gone: int, outcome: str) -> None:
    async with play({"text": "done"}) as fleet:
        number = await limited(fleet)
        await fleet.rows(
            "UPDATE remit.jobs SET started = now() - make_interval(secs => %s) WHERE id = %s", gone, number
        )
        await fleet.work()
        done = await fleet.job(number)
        assert done.outcome == outcome
        assert done.error == (None if outcome == "completed" else "the limit of 60 seconds is used up")


async def test_the_clock_of_the_host_does_not_end_a_job(play: Play) -> None:
    assert not hasattr(attempt, "datetime"), "the clock of the host is not used"
    async with play({"text": "done"}) as fleet:
        number = await limited(fleet)
        await fleet.rows("UPDATE remit.jobs SET started = now() + interval '1 hour' WHERE id = %s", number)
        await fleet.work()
        assert (await fleet.job(number)).outcome == "completed"


async def test_the_time_limit_of_a_tree_ends_a_job_with_that_reason(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        top = await fleet.submit()
        under = await fleet.submit(queueing=Queueing(parent=top))
        await fleet.rows(
            "UPDATE remit.jobs SET tree_max_seconds = 60, started = now() - interval '70 seconds' WHERE id = %s", top
        )
        await fleet.work()
        done = await fleet.job(under)
        assert (done.outcome, done.error) == ("timeout", "the time limit of its tree of jobs is used up")


async def test_a_cancelled_job_frees_its_slot_in_a_limited_queue(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.dispatch.worker._BUSY_SECONDS", 3600.0)
    async with play({"text": "done", "gate": "g"}, queue_limits={"narrow": 1}) as fleet:
        first = await fleet.submit(queueing=Queueing(queue="narrow"))
        async with fleet.working():
            await fleet.server.wait("g")
            second = await fleet.submit(queueing=Queueing(queue="narrow"))

            async def put_off() -> bool:
                sql = "SELECT 1 FROM procrastinate_jobs WHERE args ->> 'job' = %s AND scheduled_at IS NOT NULL"
                return bool(await fleet.rows(sql, str(second)))

            await until_async(put_off, "the second found no room")
            await fleet.cancel(first)
            fleet.server.open("g")
            done = await fleet.reached(second, "finished")
        assert done.outcome == "completed"


async def _somebody_is_cancelled() -> bool:
    return any(task.cancelling() for task in asyncio.all_tasks())


async def test_a_job_cancelled_while_its_worktree_is_created_has_no_diff(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()
    make, loop = attempt.make_worktree, asyncio.get_running_loop()

    def slowly(project: Path, folder: Path, **options: Any) -> Path:
        made = make(project, folder, **options)
        (folder / "a.py").unlink()  # as if git were still writing files
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result()
        shutil.copy(project / "a.py", folder / "a.py")
        return made

    monkeypatch.setattr(attempt, "make_worktree", slowly)
    async with play({"text": "never"}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(**ISOLATED)
        async with fleet.working():
            await begun.wait()
            await fleet.cancel(number)
            await until_async(_somebody_is_cancelled, "its worker was told")
            go.set()
            done = await fleet.reached(number, "finished")
            await until_async(
                lambda: asyncio.to_thread(lambda: not worktree_of(fleet, number).exists()), "it is tidied up"
            )
        assert (done.outcome, done.diff, fleet.requests) == ("cancelled", None, [])
