"""The memory of a worker with 500 waiting conversations."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from support.commands import Commands
from support.model_process import model_process

from remit.testing import project as sample_project

pytest_plugins = ("support.running",)
MANY = 500
MOST_MEGABYTES = 500


def resident(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif("REMIT_SLOW_TESTS" not in os.environ, reason="takes a minute: set REMIT_SLOW_TESTS")
def test_500_conversations_that_wait_for_the_model_stay_under_500_megabytes(
    address: str, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    turns = [
        {"text": "x", "tools": [{"name": "Read", "input": {"file_path": "app/login.py"}}]},
        {"text": "y", "gate": "all"},
    ]
    with model_process({"conversations": {"": turns}}, tmp_path) as server:
        remit = Commands(address, sample_project(), tmp_path / "data", server.url)
        remit.is_fresh = True
        assert remit("run", "--detach", "generic", "job", "--tools", "Read").code == 0
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE remit.jobs SET state = 'finished', outcome = 'error', finished = now()")
            names = (
                "agent, definition, brief, request, prompt, workspace, isolation, queue, priority, depth, max_tokens,"
                " max_cost, max_seconds"
            )
            connection.execute(
                f"INSERT INTO remit.jobs ({names}) SELECT {names} FROM remit.jobs, generate_series(1, {MANY})"
            )
            connection.execute(
                "SELECT procrastinate_defer_jobs_v1(array_agg(ROW('default', 'remit.run', 0, NULL, NULL,"
                " jsonb_build_object('job', id), NULL)::procrastinate_job_to_defer_v1))"
                " FROM remit.jobs WHERE state = 'queued'"
            )
        with remit.start("worker", "--concurrency", str(MANY), stderr=subprocess.DEVNULL) as worker:
            try:
                server.wait("all", waiting=MANY, timeout=240)
                used = resident(worker.pid)
            finally:
                worker.kill()
    record_property("megabytes", round(used))
    print(f"{MANY} waiting conversations: {used:.0f} MB")  # noqa: T201 (the figure is the purpose of the test)
    assert worker.returncode == -signal.SIGKILL
    assert used < MOST_MEGABYTES
