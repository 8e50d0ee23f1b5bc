"""State that a conversation keeps in another worker or after a failure: turns, text and detected loops."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from support.running import Fleet, Play, both_providers, tools

from remit.dispatch import toolset
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.tools.tool_types import ToolOutput, ToolSpec
from remit.dispatch.toolset import Calls
from remit.dispatch.worker import Worker
from remit.store import jobs
from remit.store import workers as fleet_store
from remit.store.events import add_event, unfinished_text
from remit.store.jobs import AttemptFenced, Job
from remit.store.transcript import EarlierCall, Transcript

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
WORDS = "precious words " * 60
AWAY = {"fail": {"status": 503, "times": 99, "then": {"text": "never"}}}
#: More than the default of the library.
MANY = 51
SPEC = ToolSpec(name="Bash", description="", schema={}, is_read_only=False, is_repeatable=False)


async def claimed(fleet: Fleet, number: int) -> Job:
    found = await jobs.claim(fleet.database, number, str(uuid.uuid4()), None)
    assert isinstance(found, Job)
    return found


async def taken_over(fleet: Fleet, job: Job) -> Job:
    await jobs.give_back(fleet.database, job.id, job.attempt)
    return await claimed(fleet, job.id)


async def test_a_job_may_use_all_turns_of_its_brief(play: Play) -> None:
    turns = [tools(("Read", {"file_path": "a.py", "offset": number + 1})) for number in range(MANY)]
    async with play(*turns, {"text": "done"}) as fleet:
        (fleet.project / "a.py").write_text("x\n" * MANY, encoding="utf-8")
        number = await fleet.submit(max_turns=MANY + 1)
        await Worker(fleet.database, fleet.settings).run(until_idle=True)  # the time that this number of turns takes
        done = await fleet.job(number)
    assert (done.outcome, done.error, done.turns) == ("completed", None, MANY + 1)


@both_providers
async def test_text_from_before_a_provider_failure_is_the_result(play: Play, model: str, short_circuit: None) -> None:
    breaks = {"fail": {"status": 529, "after": 12, "times": 1, "then": AWAY}, "text": WORDS, "chunks": 20}
    async with play(breaks) as fleet:
        done = await fleet.run(model=model)
        told = "".join(event.data["text"] for event in await fleet.events(done.id) if event.kind == "text")
        turns = (await fleet.kinds(done.id)).count("turn")
    assert turns == 4, "the retry brought no text"
    assert done.outcome == "error"
    assert done.result == told.strip()
    assert str(done.result).startswith("precious words")


#: Events and the unfinished answer in them.
TOLD: dict[str, tuple[list[tuple[str, Any]], str]] = {
    "nothing": ([("started", 0), ("turn", 1)], ""),
    "pieces": ([("turn", 1), ("text", "one "), ("text", "two")], "one two"),
    "tried again in silence": ([("turn", 1), ("text", "one"), ("waiting", 0), ("turn", 1), ("turn", 1)], "one"),
    "the try that got further": ([("turn", 1), ("text", "one two"), ("turn", 1), ("text", "one")], "one two"),
    "another worker": ([("turn", 1), ("text", "one"), ("started", 0), ("turn", 1)], "one"),
    "a finished answer is not one": ([("turn", 1), ("text", "one"), ("usage", 0), ("turn", 2)], ""),
    "a later turn": ([("turn", 1), ("text", "long and dead"), ("started", 0), ("turn", 2), ("text", "new")], "new"),
    "a program": ([("started", 0), ("text", "o"), ("text", "ne"), ("started", 0), ("text", "a")], "one"),
}


@pytest.mark.parametrize(("told", "text"), TOLD.values(), ids=TOLD)
async def test_the_unfinished_answer_is_found_in_the_events(play: Play, told: list[Any], text: str) -> None:
    async with play() as fleet:
        number = await fleet.submit()
        for kind, what in told:
            await add_event(fleet.database, number, kind, {"text" if kind == "text" else "turn": what})
        assert await unfinished_text(fleet.database, number) == text


@pytest.mark.parametrize("end", ["finished", "taken over"])
async def test_the_provider_slot_of_a_dead_worker_is_freed_with_its_job(play: Play, end: str) -> None:
    async with play() as fleet:
        dead = await claimed(fleet, await fleet.submit("one"))
        other = await claimed(fleet, await fleet.submit("two"))

        async def is_free() -> bool:
            return await fleet_store.take_slot(fleet.database, "anthropic", other.id, other.attempt, 1, 600)

        assert await fleet_store.take_slot(fleet.database, "anthropic", dead.id, dead.attempt, 1, 600)
        assert not await is_free()
        if end == "finished":
            await jobs.finish(fleet.database, dead.id, dead.attempt, "cancelled")
        else:
            await taken_over(fleet, dead)
        assert await is_free()


async def test_a_loop_is_detected_across_workers(play: Play) -> None:
    fails = tools(("Read", {"offset": 1, "file_path": "gone.py"}))
    turns = [fails, fails, fails, {**fails, "gate": "held"}, {"text": "never asked for"}]
    async with play(*turns, shutdown_seconds=0.1) as fleet:
        number = await fleet.submit()
        async with fleet.working():
            await fleet.server.wait("held")
        assert (await fleet.job(number)).state == "queued"
        fleet.server.open("held")
        await fleet.work()
        done = await fleet.job(number)
    assert done.outcome == "error"
    assert "3 rounds of the same calls" in str(done.error)
    assert (done.turns, done.attempt) == (4, 2)


async def test_a_job_that_ended_in_a_loop_can_be_retried(play: Play) -> None:
    fails = tools(("Read", {"file_path": "gone.py"}))
    async with play(*[fails] * 4, {"text": "done"}) as fleet:
        ended = await fleet.run()
        assert (ended.outcome, ended.turns) == ("error", 4)
        await jobs.retry(fleet.database, ended.id)
        await fleet.work()
        assert (await fleet.job(ended.id)).outcome == "completed"


class Clocks:
    """Both clocks of a host, set by a test."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.steady = 1_000.0

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady


@pytest.mark.parametrize("clock", ["wall", "steady"], ids=["the host slept", "the process froze"])
@pytest.mark.parametrize("is_ours", [True, False], ids=["still ours", "taken over"])
async def test_a_call_after_a_pause_runs_only_if_the_worker_still_owns_the_job(
    play: Play, clock: str, is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks()
    monkeypatch.setattr(toolset, "time", clocks)
    ran: list[str] = []

    async def run(_: dict[str, Any], key: str) -> ToolOutput:
        ran.append(key)
        return ToolOutput("done", None, False)

    async with play() as fleet:
        job = await claimed(fleet, await fleet.submit())

        class Frozen(Transcript):
            """A transcript of a worker that freezes when a call is stored and does not run yet."""

            async def begin_call(self, *arguments: Any, **options: Any) -> EarlierCall | None:
                earlier = await super().begin_call(*arguments, **options)
                setattr(clocks, clock, getattr(clocks, clock) + 3600)
                if not is_ours:
                    await taken_over(fleet, job)
                return earlier

        events = EventWriter(fleet.database, job.id, job.attempt)
        calls = Calls(Frozen(fleet.database, job.id, job.attempt), events, is_redacting=True)
        if is_ours:
            assert await calls.answer("one", SPEC, {"command": "true"}, run) == "done"
        else:
            with pytest.raises(AttemptFenced):
                await calls.answer("one", SPEC, {"command": "true"}, run)
    assert ran == (["0:one"] if is_ours else [])
