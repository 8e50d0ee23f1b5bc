"""The server: its pages with a million finished jobs, and hooks over HTTP with fifty sessions."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
from measure import Bench

JOBS, ITEMS, SESSIONS = 1_000_000, 5_000, 50
_CALLS = 4_000
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
INSERT INTO remit.ledger (key, at, source, job, agent, definition, model, verdict, claims, claimed, supported,
    is_folded)
SELECT 'job-' || id || '-0', finished, 'job', id, agent, 'd' || id % 2, 'm', verdict, 9, 90, 80, true FROM remit.jobs;
INSERT INTO remit.ledger_days (day, agent, definition, model, runs, results, accepted, first_tries, accepted_first,
    claims, invented, scored, claimed, supported, cost)
SELECT at::date, agent, definition, model, count(*), count(*), count(*) FILTER (WHERE verdict = 'accept'), count(*),
    count(*) FILTER (WHERE verdict = 'accept'), 9 * count(*), 10, count(*), 90 * count(*), 80 * count(*),
    0.05 * count(*)
FROM remit.ledger GROUP BY 1, 2, 3, 4;
INSERT INTO remit.review_items (key, kind, rank, source, agents, category, severity, title, path, line, confidence,
    body)
SELECT 'item-' || n, 'finding', n % 6, 'plan', ARRAY['agent-' || n % 40, 'agent-' || (n + 1) % 40], 'security', 'minor',
    'Finding ' || n, 'src/a.py', n, 85, '{{"finding": {{"opinions": []}}, "conflicts": []}}'
FROM generate_series(1, {ITEMS + 1000}) AS n;
INSERT INTO remit.opinions (item, agent, confidence, claimed)
SELECT id, unnest(agents), 50 + id % 50, 50 + id % 50 FROM remit.review_items;
INSERT INTO remit.decisions (id, item, verb, reviewer)
SELECT gen_random_uuid(), id, CASE WHEN id % 3 = 0 THEN 'reject' ELSE 'confirm' END, 'bench' FROM remit.review_items
WHERE id > {ITEMS};
UPDATE remit.review_items SET
    state = CASE WHEN verb = 'reject' THEN 'rejected' ELSE 'confirmed' END, decision = decisions.id
FROM remit.decisions WHERE decisions.item = review_items.id;
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
    *("/jobs?before=500000", "/jobs/500000", "/plans", "/plans/19000", "/review", "/review/17", "/agents"),
    *("/calibration", "/sessions", "/audit", "/api/v1/jobs?limit=50", "/api/v1/ledger?agent=agent-3&limit=50"),
)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """Start `remit serve` in a folder; yield its address and the token of its link."""
    command = [sys.executable, "-m", "remit", "serve", "--port", "0"]
    variables = {**os.environ, "REMIT_DATA": str(folder / "data")}
    with subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            text = ""
            while "token=" not in text:
                text += process.stdout.readline() if process.stdout else ""
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
    medians = _page_times()
    _notes[:] = [f"  {path:<40} {milliseconds:6.1f} ms" for path, milliseconds in medians.items()]
    return max(medians.values())


@cache
def _page_times() -> dict[str, float]:
    from remit.store.server import EmbeddedServer

    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name)
        with serving(folder) as (url, token):
            with psycopg.connect(EmbeddedServer(folder / "data/postgres").address, autocommit=True) as database:
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


@cache
def _decision_times() -> list[float]:
    """Return the milliseconds of decisions over HTTP, one after the other in fifty open sessions."""
    payload = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_use_id": "t",
        "tool_input": {"file_path": "src/app.py"},
    }
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name).resolve()
        (folder / ".git").mkdir()
        install = [sys.executable, "-m", "remit", "install", "claude-code", "--http", "http://127.0.0.1:1", "--yes"]
        subprocess.run(install, cwd=folder, check=True, capture_output=True)
        secret = json.loads((folder / ".remit/gate/installed.json").read_text())["http_secret"]
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        with serving(folder) as (url, _):
            connections = [_connect(url) for _ in range(SESSIONS)]
            taken = []
            for number in range(_CALLS):
                session = number % SESSIONS
                body = json.dumps({**payload, "session_id": f"session-{session}", "cwd": str(folder)})
                started = time.perf_counter()
                connections[session].request("POST", "/hooks/claude-code", body, headers)
                answer = connections[session].getresponse()
                answer.read()
                taken.append(1000 * (time.perf_counter() - started))
                if answer.status != 200:
                    raise SystemExit(f"a hook was not answered: {answer.status}")
            for connection in connections:
                connection.close()
        return sorted(taken[5 * SESSIONS :])


def _quantile(share: float) -> float:
    times = _decision_times()
    return times[min(len(times) - 1, int(share * len(times)))]


def benches() -> list[Bench]:
    """Return the benches of the server."""
    return [
        Bench(
            f"slowest page, median: {JOBS:,} finished jobs, {ITEMS:,} review items",
            *("", "ms", 100),
            slowest_page,
            lambda: ["pages of the server:", *_notes],
        ),
        Bench(f"hook over HTTP, {SESSIONS} open sessions: p50", "", "ms", 1, lambda: _quantile(0.5)),
        Bench(f"hook over HTTP, {SESSIONS} open sessions: p99", "", "ms", 3, lambda: _quantile(0.99)),
    ]
