"""Many jobs and two workers, one of them killed: all jobs finish once."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.fixtures import MakeFleet
from support.fleet import submitted
from support.model_process import RemoteServer

from remit import testing
from remit.dispatch.submit import Queueing

Model = Callable[[dict[str, Any]], RemoteServer]
WRITER = "---\nname: builder\ntools: Write\n---\nYou write.\n"
WRITTEN = {"file_path": "a.txt", "content": "a\n"}
SLOW = pytest.mark.skipif("REMIT_SLOW_TESTS" not in os.environ, reason="takes a minute: set REMIT_SLOW_TESTS")


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=SLOW)])
def test_all_jobs_finish_once(count: int, fleet: MakeFleet, model: Model) -> None:
    server = model(
        {
            "conversations": {
                "": [{"tools": [{"name": "Write", "input": WRITTEN}]}, {"text": "Done."}],
            }
        }
    )
    team = fleet(server)
    places = [team.folder / f"job-{number}" for number in range(count)]
    for place in places:
        place.mkdir()
    wanted = [(f"go <{place.name}>", place, Queueing()) for place in places]
    jobs = asyncio.run(submitted(team.store.address, testing.registry(WRITER), wanted))
    since = time.monotonic()
    workers = [team.worker("--concurrency", "20"), team.worker("--concurrency", "20")]
    _until_finished(team, count // 3)
    workers[0].kill()
    _until_finished(team, count)
    took = time.monotonic() - since

    rows = team.store.rows("SELECT * FROM remit.jobs ORDER BY id")
    assert [row["id"] for row in rows] == jobs
    assert {row["outcome"] for row in rows} == {"completed"}
    assert {(row["turns"], row["tool_calls"]) for row in rows} == {(2, 1)}
    assert all((place / "a.txt").read_text(encoding="utf-8") == "a\n" for place in places)
    died = [row["id"] for row in rows if row["deaths"]]
    assert 0 < len(died) <= 20, "only jobs of the killed worker were taken over"
    assert all(row["attempt"] == 1 + row["deaths"] for row in rows)
    ends = Counter(row["job"] for row in team.store.rows("SELECT job FROM remit.events WHERE kind = 'finished'"))
    assert ends == Counter(jobs)
    asked = Counter(one["body"]["messages"][0]["content"][0]["text"] for one in server.requests)
    assert len(asked) == count
    assert sum(asked.values()) <= 2 * count + len(died), "a stored answer is not requested again"
    assert max(asked.values()) <= 3
    assert {row["worker"] for row in rows if not row["deaths"]} == {row["worker"] for row in rows}, (
        "both workers had jobs"
    )
    team.until(lambda: not team.store.rows("SELECT 1 FROM procrastinate_jobs"))
    print(f"{count} jobs in {took:.1f} s, {len(died)} of them taken over")  # noqa: T201 (the figure of the slow run)


def _until_finished(team: Any, count: int) -> None:
    finished = "SELECT count(*) AS finished FROM remit.jobs WHERE state = 'finished'"
    team.until(lambda: team.store.row(finished)["finished"] >= count)
