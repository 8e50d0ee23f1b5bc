"""A job that waits for a provider slot does not count as hung."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from conversation import BUILDER
from support.fleet import Store, submitted
from support.postgres import Postgres

from remit import testing
from remit.dispatch import model_client
from remit.dispatch.model_client import ModelClient
from remit.dispatch.submit import Queueing
from remit.store import jobs, workers
from remit.store.database import open_database
from remit.store.jobs import AttemptFenced, Job

WORKER = "00000000-0000-0000-0000-000000000001"


def test_a_waiting_job_reports_progress_and_stops_when_it_is_fenced(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.database()
    store = Store(address)
    monkeypatch.setattr(model_client, "_TOUCH_SECONDS", 0.0)

    async def run() -> None:
        wanted = [(name, tmp_path, Queueing()) for name in ("one", "two")]
        first, second = await submitted(address, testing.registry(BUILDER), wanted)
        async with open_database(address, tmp_path) as database:
            holder = await jobs.claim(database, first, WORKER, 2)
            assert isinstance(holder, Job)
            assert await workers.take_slot(database, "anthropic", first, holder.attempt, 1, 600)
            job = await jobs.claim(database, second, WORKER, 1)
            assert isinstance(job, Job)
            store.rows("UPDATE remit.jobs SET checkpoint = now() - interval '1 hour' WHERE id = %s", second)
            waiting = asyncio.create_task(
                ModelClient(database, second, job.attempt, "anthropic:claude-opus-5", 1)._wait_for_slot("anthropic")
            )
            asked = "SELECT 1 FROM remit.jobs WHERE id = %s AND checkpoint > now() - interval '1 minute'"
            async with asyncio.timeout(30):
                while not store.rows(asked, second):
                    assert not waiting.done()
                    await asyncio.wait({waiting}, timeout=0.02)
            await jobs.give_back(database, second, job.attempt)
            with pytest.raises(AttemptFenced):
                await waiting

    asyncio.run(run())
