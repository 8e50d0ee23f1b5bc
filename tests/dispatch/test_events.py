"""Listeners get all events in order, at any time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from support.running import Fleet, Play, both_providers, tools
from support.waiting import until_async

from remit.store.database import rows
from remit.store.events import Event, add_event, follow

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
READS = tools(*[("Read", {"file_path": "a.py"})] * 8, text="Let me look.")


async def events_heard(fleet: Fleet, job: int | None, after: int = 0) -> list[Event]:
    """Return the events of a listener until the job is finished."""
    found: list[Event] = []
    async with asyncio.timeout(20):
        async for event in follow(fleet.database, job, after):
            found.append(event)
            if event.kind == "finished":
                return found
    return found


@both_providers
async def test_events_describe_a_run_from_start_to_end(play: Play, model: str) -> None:
    async with play(tools(("Read", {"file_path": "a.py"}), text="Let me look."), {"text": "done"}) as fleet:
        job = await fleet.run(model=model)
        kinds = await fleet.kinds(job.id)
        assert kinds == [
            *("started", "turn", "text", "usage", "tool", "tool-done"),
            *("turn", "text", "usage", "checked", "finished"),
        ]
        last = (await fleet.events(job.id))[-1]
        assert last.data == {"outcome": "completed", "error": None, "verdict": job.verdict}


async def test_listeners_get_the_same_events_in_the_same_order(play: Play) -> None:
    async with play(READS, READS, {"text": "one two three " * 200, "chunks": 50}) as fleet:
        number = await fleet.submit()
        listeners = [asyncio.create_task(events_heard(fleet, number)) for _ in range(3)]
        listeners.append(asyncio.create_task(events_heard(fleet, None)))
        await fleet.work()
        found = [await listener for listener in listeners]
        stored = await fleet.events(number)
        assert all(one == stored for one in found)
        assert [event.id for event in stored] == sorted(event.id for event in stored)
        said = "".join(event.data["text"] for event in stored if event.kind == "text")
        assert said.endswith("one two three " * 200)


async def test_a_late_listener_gets_the_missed_events_once(play: Play) -> None:
    async with play(READS, {"text": "done"}) as fleet:
        job = await fleet.run()
        stored = await fleet.events(job.id)
        assert await events_heard(fleet, job.id) == stored
        assert await events_heard(fleet, job.id, stored[3].id) == stored[4:]


async def test_a_lost_connection_is_restored_without_missing_events(play: Play) -> None:
    async with play({"text": "done", "gate": "answers"}) as fleet:
        number = await fleet.submit()
        listener = asyncio.create_task(events_heard(fleet, number))
        async with fleet.working():
            await fleet.server.wait("answers")
            ended = await fleet.rows(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
                " AND query LIKE 'LISTEN remit_events%%' AND pid <> pg_backend_pid()"
            )
            assert ended[0][0] >= 1
            fleet.server.open("answers")
            await fleet.reached(number, "finished")
            found = await listener
        assert found == await fleet.events(number)


async def test_parallel_calls_write_events_one_after_the_other(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listeners use the number of a row, so a low number that commits late would be missed."""
    speaking = 0
    most = 0

    async def add(*given: Any, **more: Any) -> None:
        nonlocal speaking, most
        speaking += 1
        most = max(most, speaking)
        await add_event(*given, **more)
        speaking -= 1

    monkeypatch.setattr("remit.dispatch.event_writer.add_event", add)
    async with play(READS, {"text": "done"}) as fleet:
        job = await fleet.run()
        assert (await fleet.kinds(job.id)).count("tool-done") == 8
    assert most == 1


async def test_an_ended_attempt_writes_no_events(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        job = await fleet.run()
        before = await fleet.kinds(job.id)
        await fleet.rows("UPDATE remit.jobs SET attempt = attempt + 1")
        await add_event(fleet.database, job.id, "late", {}, job.attempt)
        assert await fleet.kinds(job.id) == before


async def test_a_listener_to_all_jobs_gets_events_that_commit_late(play: Play) -> None:
    """The number of an event is assigned before its transaction ends, so a later one can commit first."""
    async with play({"text": "done"}) as fleet:
        slow, quick = await fleet.submit("slow"), await fleet.submit("quick")
        await add_event(fleet.database, quick, "first", {})
        listening = follow(fleet.database, None)
        async with asyncio.timeout(20):
            assert (await anext(listening)).kind == "first"
            async with fleet.database.transaction() as connection:
                await rows(connection, "events.add", job=slow, kind="late", data=Jsonb({}), attempt=None)
                await add_event(fleet.database, quick, "early", {})
                assert (await anext(listening)).kind == "early"
            await add_event(fleet.database, slow, "later", {})
            found = [await anext(listening), await anext(listening)]
            await add_event(fleet.database, quick, "last", {})
            found.append(await anext(listening))
        await listening.aclose()  # type: ignore[attr-defined]
        assert [(event.job, event.kind) for event in found] == [(slow, "late"), (slow, "later"), (quick, "last")]


async def test_writers_of_events_of_one_job_wait_for_each_other(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        number = await fleet.submit()
        async with fleet.database.transaction() as connection:
            await rows(connection, "events.add", job=number, kind="first", data=Jsonb({}), attempt=None)
            other = asyncio.create_task(add_event(fleet.database, number, "second", {}))
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%events%%'"
            await until_async(lambda: _any(fleet, waiting), "the second waits")
            assert await fleet.kinds(number) == []
        await other
        assert await fleet.kinds(number) == ["first", "second"]


async def _any(fleet: Fleet, query: str) -> bool:
    return bool((await fleet.rows(query))[0][0])
