"""What a person sees of the fleet's commands on a terminal: their own words, in its width, at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support import waiting
from support.commands import Commands
from support.model_process import RemoteServer, model_process
from support.waiting import PATIENCE

from remit.testing import project as sample_project
from remit.testing import result

pytest_plugins = ("support.running",)
SCRIPT = {"conversations": {"be bad": [{"text": "It is fine."}, {"text": result("generic")}]}}
#: A line that the program has removed: what it does while it takes long.
ERASED = re.compile(r"\r\x1b\[K(?:[^\n]*\r\x1b\[K)?")
STAMPED = re.compile(r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \S")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RemoteServer]:
    with model_process(SCRIPT, tmp_path) as started:
        yield started


@pytest.fixture
def remit(address: str, tmp_path: Path, server: RemoteServer) -> Commands:
    commands = Commands(address, sample_project(), tmp_path / "data", server.url)
    # A terminal reports its own width, and the process must not think that it runs in a test.
    foreign = ("COLUMNS", "CI", "NO_COLOR")
    for name in [name for name in commands.environment if name in foreign or name.startswith("PYTEST")]:
        del commands.environment[name]
    return commands


def without_keys(remit: Commands) -> Commands:
    for name in [name for name in remit.environment if name.endswith("_API_KEY")]:
        del remit.environment[name]
    return remit


def on_terminal(remit: Commands, wide: int, *words: str) -> tuple[int, str]:
    """A command on a terminal of some width: its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, wide, 0, 0))
    shown = b""
    stdio: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    with remit.start(*words, **stdio) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # the other side is closed
            while got := os.read(ours, 65_536):
                shown += got
        os.close(ours)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")
    return process.returncode, ERASED.sub("", text)


def rows(remit: Commands, sql: str) -> list[Any]:
    with psycopg.connect(remit.environment["REMIT_DATABASE_URL"], autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def until(remit: Commands, sql: str) -> None:
    waiting.until(lambda: rows(remit, sql), lambda: f"no row: {sql}")


@contextlib.contextmanager
def working(remit: Commands, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A worker that is terminated at the end of the block."""
    with remit.start("worker", *words) as worker:
        try:
            until(remit, "SELECT 1 FROM remit.workers WHERE is_listed")
            yield worker
        finally:
            worker.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("command", ["run", "worker"])
def test_no_library_advertises_on_the_terminal(remit: Commands, command: str) -> None:
    if command == "worker":
        assert remit("run", "--detach", "generic", "be bad", "--tools", "Read").code == 0
    remit.is_fresh = True
    if command == "worker":
        _, shown = on_terminal(remit, 80, "worker", "--until-idle")
        assert rows(remit, "SELECT turns > 0 FROM remit.jobs") == [(True,)], shown
    else:
        _, shown = on_terminal(remit, 80, "run", "generic", "be bad", "--tools", "Read")
        assert "turn 1" in shown
    for words in ("observability", "BANNER", "Logfire", "pydantic"):
        assert words not in shown


def test_a_worker_reports_its_start_at_once_and_every_line_has_a_time(remit: Commands) -> None:
    ran = without_keys(remit)("worker", "--until-idle", "--concurrency", "1", "--queue", "nightly")
    assert ran.code == 0, ran
    lines = ran.err.splitlines()
    assert all(map(STAMPED.match, lines)), ran.err
    assert [line[20:] for line in lines] == [
        "worker is starting",
        "no provider has a key, so jobs that use a model will fail: set ANTHROPIC_API_KEY",
        "worker started: 1 job at a time, only of the queue nightly, 11 definitions",
        "worker stopped",
    ]


def test_a_worker_with_a_key_does_not_ask_for_one(remit: Commands) -> None:
    ran = remit("worker", "--until-idle")
    assert "key" not in ran.err
    assert "worker started: 5 jobs at a time, 11 definitions\n" in ran.err


def test_a_worker_starts_before_what_takes_long_to_import(remit: Commands) -> None:
    late = "import sys; sys.modules['remit.dispatch.worker'] = None\nfrom remit.surfaces.cli import main\nmain()"
    command = [sys.executable, "-c", late, "worker"]
    done = subprocess.run(
        command, cwd=remit.project, env=remit.environment, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[0].endswith("worker is starting")


def test_lost_connections_are_not_reported_with_the_drivers_text(remit: Commands) -> None:
    with working(remit) as worker:
        ours = "datname = current_database() AND application_name LIKE 'remit %'"
        rows(remit, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
        remit("run", "--detach", "generic", "be bad", "--tools", "Read")
        until(remit, "SELECT 1 FROM remit.jobs WHERE state = 'finished'")
        worker.send_signal(signal.SIGTERM)
        _, said = worker.communicate(timeout=PATIENCE)
    assert "worker stopped" in said
    assert "psycopg" not in said
    assert "pool" not in said
    assert all(map(STAMPED.match, said.splitlines())), said


@pytest.mark.parametrize("queue", ["default", "nightly"])
def test_following_logs_report_at_once_that_no_worker_takes_the_job(remit: Commands, queue: str) -> None:
    remit("run", "--detach", "generic", "be bad", "--queue", queue)
    other = "default" if queue == "nightly" else "nightly"
    with working(remit, "--queue", other), remit.start("jobs", "logs", "-f", "1") as logs:
        until(
            remit,
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN remit_events%'",
        )
        remit("jobs", "cancel", "1")
        _, said = logs.communicate(timeout=PATIENCE)
    words = f"no worker takes the queue '{queue}', so job 1 will not start"
    assert said == f"remit: {words}; start one with `remit worker`\n"


def test_following_logs_report_that_no_worker_continues_the_job(remit: Commands) -> None:
    remit("run", "--detach", "generic", "be bad")
    rows(remit, "UPDATE remit.jobs SET state = 'running'")
    with remit.start("jobs", "logs", "-f", "1") as logs:
        until(
            remit,
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN remit_events%'",
        )
        rows(remit, "UPDATE remit.jobs SET state = 'finished', outcome = 'cancelled'")
        _, said = logs.communicate(timeout=PATIENCE)
    assert said == "remit: no worker is alive, so job 1 does not continue; start one with `remit worker`\n"


def test_jobs_takes_the_options_of_its_list(remit: Commands) -> None:
    remit("run", "--detach", "generic", "be bad")
    assert remit("jobs", "--format", "json") == remit("jobs", "list", "--format", "json")
    assert remit("jobs", "--state", "finished").out == "no jobs\n"
    assert "Commands:" in remit("jobs", "--help").out
    assert "--nonsense" in remit("jobs", "--nonsense").err


@pytest.mark.parametrize("wide", [80, 140])
def test_nothing_of_the_doctor_is_wider_than_the_terminal(remit: Commands, wide: int, tmp_path: Path) -> None:
    remit.project = tmp_path / ("a folder with a long name " * 4)
    remit.project.mkdir()
    text = f'[commands]\nlint = "{"ruff check --select ALL " * 12}"\nbandit = "bandit -r ."\n'
    (remit.project / "own.toml").write_text(text, encoding="utf-8")
    remit.environment["REMIT_CONFIG"] = "own.toml"
    with working(remit, "--queue", "nightly"):
        code, shown = on_terminal(remit, wide, "doctor", "--all")
    assert code == 0, shown
    assert max(map(len, shown.split("\n"))) <= wide
    words = " ".join(shown.split())
    assert re.search(r"note workers \S+ pid \d+ \(only queue nightly\); none of them takes the queue", words)
    assert re.search(r"^ +bandit = bandit -r \.$", shown, re.MULTILINE)
