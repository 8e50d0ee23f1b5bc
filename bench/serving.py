"""The server: its pages with many finished jobs (with --long a million), and hooks over HTTP with fifty sessions."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psycopg
from measure import Bench, sized
from support.postgres import Postgres  # type: ignore[import-not-found,unused-ignore]

JOBS, ITEMS, SESSIONS = sized(1_000_000, 100_000), 5_000, 50
_CALLS = sized(4_000, 1_000)
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
    *(f"/jobs?before={JOBS // 2}", f"/jobs/{JOBS // 2}", "/plans", "/plans/19000", "/review", "/review/17", "/agents"),
    *("/calibration", "/sessions", "/log", "/api/v1/jobs?limit=50", "/api/v1/ledger?agent=agent-3&limit=50"),
)


@contextmanager
def serving(folder: Path, data: Path, address: str = "") -> Iterator[tuple[str, str]]:
    """Start `remit serve` in a folder; yield its address and the token of its link.

    Its database is at `address`, or an embedded one in `data`.
    """
    command = [sys.executable, "-m", "remit", "serve", "--port", "0"]
    variables = {**os.environ, "REMIT_DATA": str(data), **({"REMIT_DATABASE_URL": address} if address else {})}
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
    medians = _page_times().medians
    _notes[:] = [f"  {path:<40} {milliseconds:6.1f} ms" for path, milliseconds in medians.items()]
    return max(medians.values())


class _PageTimes(NamedTuple):
    """Milliseconds with many finished jobs: the median of each page, and the ledger's own."""

    medians: dict[str, float]
    appended: float
    scorecards: float


@cache
def _page_times() -> _PageTimes:
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
            return _PageTimes(medians, *asyncio.run(_ledger_times(address)))


#: The decisions of a client's calls, in the shares of a session that looks at code, runs commands and edits: the goals
#: are for this mix. A report of a subagent is checked against the checkout, which is not a decision about a call.
_MIX = ("Read", "Bash", "Read", "Edit", "Read", "Bash", "Read", "Edit", "Read", "Bash")
_INPUTS = {
    "Read": {"file_path": "src/app.py"},
    "Edit": {"file_path": "notes.md", "old_string": "one", "new_string": "two"},
    "Bash": {"command": "git status | head -5"},
}
_FILES = 200
_REPORT = Path(__file__).parents[1] / "tests/fixtures/claude_code/payloads/SubagentStop.json"


class _HookTimes(NamedTuple):
    """Milliseconds of requests, one after the other in fifty open sessions; each list is sorted."""

    #: By tool; "" is the mix of all.
    calls: dict[str, list[float]]
    reports: list[float]
    #: The same requests to an application that decides nothing, in the same server, sent in turn with the others.
    floor: list[float]
    #: What it takes to look at every file of the project once, as before a command line.
    looks: list[float]
    #: Milliseconds of processor time that the server needs for a request of the mix.
    processor: float
    #: The load of the machine before and after: other work delays the slowest requests first.
    load: tuple[float, float]


#: An application without any decision, with the server and the options of `remit serve`.
_BARE = """
import sys, uvicorn
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=int(sys.argv[1]), http="httptools", ws="none", lifespan="off", log_config=None, access_log=False)
"""


@contextmanager
def _bare_server() -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with subprocess.Popen([sys.executable, "-c", _BARE, str(port)]) as process:
        try:
            for _ in range(200):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


class _Sessions:
    """Fifty sessions of a client, each with its own connection.

    A request is prepared before its time is taken, and its answer is only received: the client's own work is not part
    of a figure.
    """

    def __init__(self, url: str, folder: Path, secret: str) -> None:
        self._folder = folder
        host = url.removeprefix("http://")
        name, _, port = host.rpartition(":")
        self._connections = [socket.create_connection((name, int(port)), timeout=60) for _ in range(SESSIONS)]
        for connection in self._connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST /hooks/claude-code HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {secret}\r\n"
            "content-type: application/json\r\ncontent-length: "
        ).encode()

    def call(self, number: int) -> tuple[str, float]:
        """Return a tool and the milliseconds of a decision about it; the call is also settled, as by the client."""
        tool = _MIX[(number // SESSIONS) % len(_MIX)]
        given: dict[str, str] = _INPUTS[tool]
        if tool == "Bash" and number % 2:  # every second command line is a new one
            given = {"command": f"git log -{number} --oneline | head -5"}
        about = {"tool_name": tool, "tool_use_id": f"{tool}-{number}", "tool_input": given}
        taken = self.send(number, "PreToolUse", **about)
        self.send(number, "PostToolUse", tool_response={}, **about)
        return tool, taken

    def report(self, number: int) -> float:
        """Return the milliseconds that the check of a subagent's report takes."""
        return self.send(number, "SubagentStop", **{**json.loads(_REPORT.read_bytes()), "agent_id": f"agent-{number}"})

    def send(self, number: int, event: str, **fields: object) -> float:
        """Return the milliseconds until an event is answered."""
        session = number % SESSIONS
        common = {"session_id": f"session-{session}", "cwd": str(self._folder), "hook_event_name": event}
        body = json.dumps({**fields, **common}).encode()
        request = b"%s%d\r\n\r\n%s" % (self._head, len(body), body)
        connection = self._connections[session]
        started = time.perf_counter()
        connection.sendall(request)
        answer = b""
        while not _is_complete(answer):
            received = connection.recv(65536)
            if not received:
                raise SystemExit(f"the server closed the connection of session {session} before it answered")
            answer += received
        taken = 1000 * (time.perf_counter() - started)
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"a hook was not answered: {answer[:200]!r}")
        return taken


def _is_complete(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head)
    return bool(end) and found is not None and len(body) >= int(found[1])


def _processor_time(url: str) -> float:
    """Return the seconds of processor time that the server at an address has used; 0 where that is not known."""
    port = f":{int(url.rpartition(':')[2]):04X}"
    try:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        inode = next(row[9] for row in rows if row[1].endswith(port) and row[3] == "0A")
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if any(str(one.readlink()) == f"socket:[{inode}]" for one in (folder / "fd").iterdir()):
                    words = (folder / "stat").read_text().rpartition(")")[2].split()
                    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration):
        pass
    return 0.0


def _look(paths: list[str]) -> float:
    started = time.perf_counter()
    for path in paths:
        os.lstat(path)
    return 1000 * (time.perf_counter() - started)


def _make_project(folder: Path) -> str:
    """Make a project under contract, and return the secret of its hooks."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "src").mkdir()
    for number in range(_FILES):
        (folder / "src" / (f"module_{number}.py" if number else "app.py")).write_text("value = 1\n" * 30)
    (folder / "notes.md").write_text("one\n")
    install = [
        sys.executable,
        "-m",
        "remit",
        "install",
        "claude-code",
        "--mode",
        "standard",
        "--http",
        "http://127.0.0.1:1",
        "--yes",
    ]
    subprocess.run(install, cwd=folder, check=True, capture_output=True)
    secret: str = json.loads((folder / ".remit/gate/installed.json").read_text())["http_secret"]
    return secret


@cache
def _hook_times() -> _HookTimes:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name).resolve() / "project"
        secret = _make_project(folder)
        paths = [os.fspath(path) for path in (folder / "src").iterdir()]
        with _bare_server() as bare, serving(folder, Path(name) / "data") as (url, _):
            sessions, idle = _Sessions(url, folder, secret), _Sessions(bare, folder, secret)
            calls: dict[str, list[float]] = {"": [], **{tool: [] for tool in _INPUTS}}
            floor, looks = [], []
            for number in range(SESSIONS * len(_MIX)):  # after that, everything was used once
                sessions.call(number), idle.call(number)
            before = _processor_time(url)
            for number in range(_CALLS):
                tool, taken = sessions.call(number + _CALLS)
                calls[tool].append(taken)
                calls[""].append(taken)
                floor.append(idle.call(number)[1])
                if number % 20 == 0:
                    looks.append(_look(paths))
            processor = 1000 * (_processor_time(url) - before) / (2 * _CALLS)
            reports = [sessions.report(number) for number in range(_CALLS // 20)][_CALLS // 100 :]
        by_tool = {tool: sorted(times) for tool, times in calls.items()}
        loads = (load, os.getloadavg()[0])
        return _HookTimes(by_tool, sorted(reports), sorted(floor), sorted(looks), processor, loads)


def _quantile(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, int(share * len(times)))]


def _hook_lines() -> list[str]:
    found = _hook_times()
    rows = {
        **{f"decision about {tool}": found.calls[tool] for tool in _INPUTS},
        "decision about the mix (5 Read, 3 Bash, 2 Edit)": found.calls[""],
        "report of a subagent (SubagentStop)": found.reports,
        "no decision (the floor)": found.floor,
        f"lstat of {_FILES} files (part of Bash)": found.looks,
    }
    lines = ["hooks over HTTP, milliseconds:"]
    for name, times in rows.items():
        lines.append(f"  {name:<50} p50 {_quantile(times, 0.5):6.2f}  p99 {_quantile(times, 0.99):6.2f}")
    lines.append(f"  {'processor time of a request of the mix':<50} mean {found.processor:5.2f}")
    lines.append(f"  {'load of the machine, before and after':<50} {found.load[0]:.1f}, {found.load[1]:.1f}")
    return [
        *lines,
        "each event is a transaction of the gate's store, which is compared with its seal and sealed again",
    ]


async def _ledger_times(address: str) -> tuple[float, float]:
    """Return the milliseconds that a thousand new entries take, and those of all scorecards."""
    from remit.ledger.ledger_entries import LedgerEntry
    from remit.store import ledger
    from remit.store.database import open_database

    async with open_database(address, Path("/")) as database:
        appended, carded = [], []
        for turn in range(5):
            names = [f"bench-{turn}-{number}" for number in range(1000)]
            entries = [LedgerEntry(key=name, source="check", agent="agent-1", verdict="accept") for name in names]
            started = time.perf_counter()
            await ledger.record(database, entries)
            appended.append(1000 * (time.perf_counter() - started))
            await ledger.fold(database)
            started = time.perf_counter()
            await ledger.scorecards(database)
            carded.append(1000 * (time.perf_counter() - started))
    return statistics.median(appended), statistics.median(carded)


def benches() -> list[Bench]:
    """Return the benches of the server."""
    return [
        Bench(
            f"slowest page, median: {JOBS:,} finished jobs, {ITEMS:,} review items",
            *("", "ms", 100),
            slowest_page,
            lambda: ["pages of the server:", *_notes],
        ),
        Bench(f"ledger of {JOBS:,} entries: 1,000 new ones", "", "ms", None, lambda: _page_times().appended),
        Bench(f"ledger of {JOBS:,} entries: all scorecards", "", "ms", None, lambda: _page_times().scorecards),
        Bench(
            f"hook over HTTP, {SESSIONS} open sessions: p50",
            "",
            "ms",
            1,
            lambda: _quantile(_hook_times().calls[""], 0.5),
        ),
        Bench(
            f"hook over HTTP, {SESSIONS} open sessions: p99",
            *("", "ms", 3),
            lambda: _quantile(_hook_times().calls[""], 0.99),
            _hook_lines,
        ),
    ]
