"""Takeover of jobs: from which workers, and when not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from conversation import BUILDER
from support.fleet import Store, submitted
from support.postgres import Postgres

from remit import testing
from remit.configuration import load
from remit.dispatch.submit import Queueing
from remit.dispatch.worker import Worker
from remit.dispatch.worker_settings import load_settings
from remit.store import jobs, workers
from remit.store.database import open_database
from remit.store.jobs import Job
from remit.store.workers import HeartbeatThread

OTHER = "00000000-0000-0000-0000-000000000002"
OLD = "UPDATE remit.workers SET heartbeat = now() - interval '10 minutes' WHERE id = %s"

NOW = "UPDATE remit.workers SET heartbeat = now() WHERE id = %s"
BACK = "UPDATE remit.workers SET heartbeat = now(), back = now() WHERE id = %s"
LONG_BACK = "UPDATE remit.workers SET heartbeat = now(), back = now() - interval '1 hour' WHERE id = %s"


def test_a_worker_that_was_unavailable_waits_for_the_heartbeats_of_others(postgres: Postgres, tmp_path: Path) -> None:
    """After a restart of the database all heartbeats are late although all workers are alive."""
    address = postgres.database()
    store = Store(address)

    async def run() -> None:
        wanted = [("go", tmp_path, Queueing())]
        number = (await submitted(address, testing.registry(BUILDER), wanted))[0]
        settings = load_settings(load(tmp_path, {"REMIT_DATABASE_URL": address}), tmp_path)
        async with open_database(address, tmp_path) as database:
            worker = Worker(database, settings)
            heart = HeartbeatThread(address, worker.id, 5, 18)
            for one in (worker.id, OTHER):
                await workers.register(database, one, None, [], 1, is_listed=True)
                store.rows(OLD, one)
            assert isinstance(await jobs.claim(database, number, OTHER, 1), Job)

            await worker._supervise(heart, 30)
            assert store.job(number)["state"] == "running", "it has not sent a heartbeat since"
            store.rows(BACK, worker.id)
            await worker._supervise(heart, 30)
            assert store.job(number)["state"] == "running", "the other workers had no time for a heartbeat"

            store.rows(LONG_BACK, worker.id)
            store.rows(NOW, OTHER)
            await worker._supervise(heart, 30)
            assert (store.job(number)["state"], store.job(number)["deaths"]) == ("running", 0)

            store.rows(OLD, OTHER)
            await worker._supervise(heart, 30)
            assert (store.job(number)["state"], store.job(number)["deaths"]) == ("queued", 1)

    asyncio.run(run())


def test_a_claimed_job_that_is_not_running_is_returned_to_the_queue(postgres: Postgres, tmp_path: Path) -> None:
    """The reply to its claim was lost."""
    address = postgres.database()
    store = Store(address)

    async def run() -> None:
        wanted = [(name, tmp_path, Queueing()) for name in ("one", "two")]
        lost, held = await submitted(address, testing.registry(BUILDER), wanted)
        settings = load_settings(load(tmp_path, {"REMIT_DATABASE_URL": address}), tmp_path)
        async with open_database(address, tmp_path) as database:
            worker = Worker(database, settings)
            await workers.register(database, worker.id, None, [], 1, is_listed=True)
            for number in (lost, held):
                assert isinstance(await jobs.claim(database, number, worker.id, number), Job)
            worker._active[held] += 1

            await worker._supervise(HeartbeatThread(address, worker.id, 5, 18), 30)

            assert (store.job(lost)["state"], store.job(lost)["deaths"]) == ("queued", 0)
            assert store.job(held)["state"] == "running"

    asyncio.run(run())
