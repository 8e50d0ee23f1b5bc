"""The server: its pages with many finished jobs (with --long a million)."""

from __future__ import annotations

import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psycopg
from measure import Bench, sized
from support.postgres import Postgres  # type: ignore[import-not-found,unused-ignore]

JOBS = sized(1_000_000, 100_000)
_notes: list[str] = []

#: Rows without triggers: a fleet that has run for thirty days.
_FILL = f"""
SET session_replication_role = replica;
INSERT INTO remit.briefs (digest, brief) VALUES ('bench', '{{"model": "m", "tools": [], "limits": {{}}}}');
INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, state, outcome, verdict, turns, tool_calls,
    input_tokens, output_tokens, cost, created, started, finished, result)
SELECT 'agent-' || n % 40, 'bench', '{{}}', 'task ' || n, '/srv/shop', 'finished',
    CASE WHEN n % 20 = 0 THEN 'error' ELSE 'completed' END,
    (ARRAY['accept', 'accept', 'accept', 'revise', 'reject'])[1 + n % 5], 5, 9, 10000, 900, 0.05,
    t, t, t + interval '40 s', repeat('A line of a result.' || chr(10), 20)
FROM (SELECT n, now() - (({JOBS} - n) * interval '2.5 s') AS t FROM generate_series(1, {JOBS}) AS n) AS numbers;
INSERT INTO remit.plans (name, digest, document, workspace, state, outcome, finished)
SELECT 'plan ' || n, 'p' || n, '{{}}', '/srv/shop', 'finished', 'continue', now() FROM generate_series(1, 20000) AS n;
INSERT INTO remit.phases (plan, number, name, state) SELECT id, 0, 'work', 'finished' FROM remit.plans;
INSERT INTO remit.delegations (plan, phase, name, agent, state, job)
SELECT plan, 0, 'one', 'agent-1', 'accepted', plan FROM remit.phases;
INSERT INTO remit.jobs (agent, brief, request, prompt, workspace)
SELECT 'agent-1', 'bench', '{{}}', 'waits', '/srv/shop' FROM generate_series(1, 200);
RESET session_replication_role;
"""
PAGES = (
    *("/", "/jobs", "/jobs?state=finished&agent=agent-7", "/jobs?verdict=reject", "/jobs?outcome=error"),
    *(f"/jobs?before={JOBS // 2}", f"/jobs/{JOBS // 2}", "/plans", "/plans/19000", "/sessions"),
)


@contextmanager
def serving(folder: Path, data: Path, address: str = "") -> Iterator[tuple[str, str]]:
    """Start `remit serve` in a folder; yield its address and the token of its link.

    Its database is at `address`, or an embedded one in `data`.
    """
    command = [sys.executable, "-m", "remit", "serve", "--port", "0"]
    variables = {**os.environ, "REMIT_STATE": str(data), **({"REMIT_DATABASE_URL": address} if address else {})}
    with subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            text = ""
            while "token=" not in text and process.stdout and (line := process.stdout.readline()):
                text += line
            found = re.search(r"(http://[\d.:]+)/login\?token=(\S+)", text)
            if found is None:
                raise SystemExit(f"the server did not start: {text}")
            yield found[1], found[2]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _connect(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)


def _get(connection: http.client.HTTPConnection, path: str, cookie: str) -> tuple[float, int]:
    started = time.perf_counter()
    connection.request("GET", path, headers={"cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    return time.perf_counter() - started, answer.status


def slowest_page() -> float:
    """Return the median milliseconds of the slowest page."""
    medians = _page_medians()
    _notes[:] = [f"  {path:<40} {milliseconds:6.1f} ms" for path, milliseconds in medians.items()]
    return max(medians.values())


@cache
def _page_medians() -> dict[str, float]:
    """Return the median milliseconds of each page with many finished jobs."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        server = Postgres(folder / "postgres", is_safe=True)
        stack.callback(server.close)
        address = server.database()
        with serving(folder, folder / "data", address) as (url, token):
            with psycopg.connect(address, autocommit=True) as database:
                database.execute(_FILL.encode())
                database.execute(b"VACUUM ANALYZE")
            connection = _connect(url)
            connection.request("GET", f"/login?token={token}")
            cookie = (connection.getresponse().headers["set-cookie"] or "").partition(";")[0]
            connection.close()
            medians = {}
            for path in PAGES:
                taken = [_get(connection, path, cookie) for _ in range(12)]
                if any(status != 200 for _, status in taken):
                    raise SystemExit(f"{path} failed")
                medians[path] = 1000 * statistics.median(seconds for seconds, _ in taken[2:])
            return medians


def benches() -> list[Bench]:
    """Return the benches of the server."""
    return [
        Bench(
            f"slowest page, median: {JOBS:,} finished jobs",
            *("", "ms", 100),
            slowest_page,
            lambda: ["pages of the server:", *_notes],
        )
    ]
