"""The commands of the fleet as they are typed: what they print, how they end, and that an interrupt loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support import waiting
from support.commands import KEYS, Commands
from support.in_process import Remit, command_runner
from support.model_process import RemoteServer, model_process
from support.waiting import PATIENCE

from remit.surfaces.cli import job_commands
from remit.testing import project as sample_project
from remit.testing import result

pytest_plugins = ("support.running",)
READS = [
    {"name": "Read", "input": {"file_path": str(p.relative_to(sample_project()))}}
    for p in sorted(sample_project().rglob("*.py"))
]
NASTY = "red \x1b[31mtext\x1b]0;title\x07 \x9b2J and \u202eback\u202c\n" + "long words " * 30
SCRIPT = {
    "conversations": {
        "be good": [{"tools": READS}, {"text": result("generic")}],
        "be bad": [{"text": "It is fine."}, {"text": "It is fine."}],
        "be nasty": [{"text": NASTY, "stop": "max_tokens"}],
        "fail once": [
            {"text": "Let me look.", "tools": READS[:1]},
            {"text": result("generic"), "fail": {"status": 400, "message": "\x1b[2Jno"}},
            {"text": result("generic")},
        ],
        "stall": [{"text": "Let me look.", "tools": READS[:1]}, {"text": result("generic"), "gate": "stall"}],
        "hang": [{"text": "I have begun and", "chunks": 4, "stall": True, "after": 4, "until": "never"}],
        "gate": [{"text": "It is fine.", "gate": "gate"}, {"text": "It is fine."}],
    }
}
JOB_KEYS = {
    *("schema", "id", "agent", "definition", "state", "outcome", "error", "attempts", "turns", "tool_calls"),
    *("tokens", "cost", "verdict", "result", "created", "started", "finished"),
}
#: In addition to the fixed shape: the changes of a job with a worktree.
MORE_KEYS = {"diff", "status"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RemoteServer]:
    with model_process(SCRIPT, tmp_path) as started:
        yield started


@pytest.fixture
def remit(address: str, tmp_path: Path, server: RemoteServer) -> Commands:
    return Commands(address, sample_project(), tmp_path / "data", server.url)


@pytest.fixture
def here(remit: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    """A command in this process: for those that ask no model."""
    for name, value in remit.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(remit.project)
    return command_runner(monkeypatch, capsys)


def rows(remit: Commands, sql: str) -> list[Any]:
    with psycopg.connect(remit.environment["REMIT_DATABASE_URL"], autocommit=True) as connection:
        cursor = connection.execute(sql)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []


def until(remit: Commands, sql: str) -> Any:
    """Wait until a query has a row."""
    return waiting.until(lambda: rows(remit, sql), lambda: f"no row: {sql}")


@contextlib.contextmanager
def working(remit: Commands, *words: str) -> Iterator[subprocess.Popen[str]]:
    with remit.start("worker", *words, stderr=subprocess.DEVNULL) as worker:
        try:
            until(remit, "SELECT 1 FROM remit.workers WHERE is_listed")
            yield worker
        finally:
            worker.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(15)
            worker.kill()


def test_run_completes_in_this_process_where_no_worker_is_alive(remit: Commands, here: Remit) -> None:
    ran = remit("run", "generic", "be good", "--tools", "Read")
    assert (ran.code, "completed  accept" in ran.out) == (0, True), ran
    assert ran.out.startswith("job 1  generic  completed  accept\n")
    assert result("generic").strip() in ran.out
    assert "turn 1" in ran.err
    assert "finished: completed" in ran.err
    assert not any(key in ran.out + ran.err for key in KEYS.values())
    assert rows(remit, "SELECT count(*) FROM remit.workers") == [(0,)]
    # The fixed shapes, of a job that is finished.
    shown = here("jobs", "show", "1", "--format", "json")
    job = shown.json
    assert set(job) - MORE_KEYS == JOB_KEYS
    assert (job["schema"], job["id"], job["agent"], job["state"], job["outcome"]) == (
        *("remit.job/1", 1, "generic"),
        *("finished", "completed"),
    )
    assert (job["error"], job["attempts"], job["turns"], job["tool_calls"]) == (None, 1, 2, len(READS))
    assert set(job["tokens"]) == {"input", "output", "cached"}
    assert job["cost"] > 0
    assert job["result"] == result("generic").strip()
    assert job["created"] <= job["started"] <= job["finished"]
    listed = here("jobs", "list", "--format", "json").json
    assert set(listed) == {"schema", "jobs"}
    assert listed["schema"] == "remit.jobs/1"
    assert listed["jobs"] == [job]
    # Every line of what is ours is within 80 columns; the result is shown as it was written.
    ours = here("jobs", "show", "1").out.partition("\n\n")[0].splitlines()
    table = here("jobs").out.splitlines()
    assert max(map(len, [*ours, *table, *here("jobs", "logs", "1").out.splitlines()])) <= 80
    events = [json.loads(line) for line in here("jobs", "logs", "1", "--format", "json").out.splitlines()]
    assert {event["schema"] for event in events} == {"remit.event/1"}
    assert [event["id"] for event in events] == sorted(event["id"] for event in events)
    assert (events[0]["kind"], events[-1]["kind"]) == ("resolved", "finished")
    # And a completed job can be neither retried nor cancelled.
    for verb, words in (("retry", "it is completed"), ("cancel", "is already finished (completed)")):
        refused = here("jobs", verb, "1")
        assert refused.code == 2
        assert words in refused.err


def test_run_as_json_prints_one_document_and_exits_1_if_it_is_not_accepted(remit: Commands) -> None:
    ran = remit("run", "generic", "be bad", "--format", "json", "--tools", "Read", "--kind", "generic")
    assert ran.code == 1
    assert set(ran.json) - MORE_KEYS == JOB_KEYS
    assert (ran.json["outcome"], ran.json["verdict"]) != ("completed", "accept")
    assert ran.json["result"] == "It is fine."


def test_text_of_a_model_is_printed_escaped(remit: Commands, here: Remit) -> None:
    ran = remit("run", "generic", "be nasty")
    shown = here("jobs", "show", "1")
    logs = here("jobs", "logs", "1")
    table = here("jobs", "list")
    assert (ran.code, shown.code, logs.code) == (1, 0, 0)
    for text in (ran.out, ran.err, shown.out, logs.out, table.out):
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "␛[31mtext" in shown.out
    assert max(map(len, logs.out.splitlines())) <= 80


def test_retry_goes_on_from_the_transcript(remit: Commands, here: Remit, server: RemoteServer) -> None:
    ran = remit("run", "generic", "fail once", "--tools", "Read")
    assert ran.code == 1
    assert "error" in ran.out
    assert "\x1b" not in ran.out + ran.err
    assert "Let me look." in ran.out, "what it had said is shown"
    again = here("jobs", "retry", "1")
    assert (again.code, again.out) == (0, "job 1 waits for a worker\n")
    assert "no worker is alive, so the job will not start; start one with `remit worker`" in again.err
    worked = remit("worker", "--until-idle")
    assert worked.code == 0
    job = here("jobs", "show", "1", "--format", "json").json
    assert job["outcome"] == "completed"
    assert [request["turn"] for request in server.requests][:3] == [0, 1, 1], "the first turn is not asked for again"
    assert rows(remit, "SELECT count(*) FROM remit.tool_calls WHERE turn = 1") == [(1,)]


def test_submit_warns_without_a_worker_and_a_worker_takes_the_job(remit: Commands, here: Remit) -> None:
    asked = here("run", "--detach", "generic", "be bad", "--tools", "Read")
    assert (asked.code, asked.out) == (0, "job 1 waits (generic)\n")
    assert "no worker is alive, so the job will not start; start one with `remit worker`" in asked.err
    job = here("run", "--detach", "generic", "be bad", "--key", "k", "--priority", "3", "--format", "json").json
    assert set(job) - MORE_KEYS == JOB_KEYS
    assert (job["state"], job["outcome"], job["started"], job["result"]) == ("queued", None, None, None)
    assert "already has this key" in here("run", "--detach", "generic", "be bad", "--key", "k").out
    assert len(here("jobs", "list", "--state", "queued", "--format", "json").json["jobs"]) == 2
    assert here("jobs", "cancel", "2").out == "job 2 is cancelled\n"
    assert here("jobs", "show", "2", "--format", "json").json["outcome"] == "cancelled"
    with working(remit):
        until(remit, "SELECT 1 FROM remit.jobs WHERE id = 1 AND state = 'finished'")
        served = here("run", "--detach", "generic", "be bad", "--tools", "Read")
        assert served.err.count("no worker is alive") == 0
        until(remit, "SELECT 1 FROM remit.jobs WHERE id = 3 AND state = 'finished'")


def test_a_worker_of_another_queue_does_not_count(remit: Commands, here: Remit) -> None:
    with working(remit, "--queue", "nightly"):
        asked = here("run", "--detach", "generic", "be bad")
        assert "no worker is alive that takes the queue 'default', so the job will not start" in asked.err
        ran = remit("run", "generic", "be bad", "--tools", "Read")
        assert (ran.code, "It is fine." in ran.out) == (0, True)


def test_a_living_worker_does_the_work_of_run(remit: Commands, server: RemoteServer) -> None:
    with working(remit) as worker, remit.start("run", "generic", "gate", "--tools", "Read") as run:
        server.wait("gate")
        [(pid,)] = until(
            remit, "SELECT pid FROM remit.jobs JOIN remit.workers ON workers.id = jobs.worker WHERE state = 'running'"
        )
        assert pid == worker.pid
        server.open("gate")
        out, _ = run.communicate(timeout=PATIENCE)
        assert "It is fine." in out


def test_run_with_the_key_of_a_waiting_job_runs_it(remit: Commands, here: Remit) -> None:
    here("run", "--detach", "generic", "be bad", "--key", "k", "--tools", "Read")
    ran = remit("run", "generic", "be bad", "--key", "k", "--tools", "Read")
    assert "job 1 already has this key; waiting for it" in ran.err
    assert "It is fine." in ran.out


def test_an_interrupt_without_a_terminal_leaves_the_job_to_a_worker(
    remit: Commands, here: Remit, server: RemoteServer
) -> None:
    slow = {"REMIT_SHUTDOWN_SECONDS": str(10 * PATIENCE)}  # it must not take that long
    with remit.start("run", "generic", "stall", "--tools", "Read", env=slow) as run:
        server.wait("stall")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=PATIENCE)
    assert (run.returncode, out) == (130, "")
    assert "job 1 is left in the queue; `remit worker` continues it, `remit jobs logs -f 1` shows it" in err
    assert here("jobs", "show", "1", "--format", "json").json["state"] == "queued"
    server.open("stall")
    assert remit("worker", "--until-idle").code == 0
    job = here("jobs", "show", "1", "--format", "json").json
    assert (job["outcome"], job["attempts"]) == ("completed", 2)
    assert rows(remit, "SELECT count(*) FROM remit.tool_calls WHERE turn = 1") == [(1,)], "not run again"


QUESTION = "continue waiting (w)?"


def answering(remit: Commands, server: RemoteServer, *answers: str) -> tuple[int, str]:
    """`remit run` on a terminal, interrupted once for each answer."""
    ours, theirs = pty.openpty()
    stdio = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    with remit.start("run", "generic", "hang", **stdio) as run:
        os.close(theirs)
        server.wait("never")
        shown = ""
        for number, answer in enumerate(answers, 1):
            run.send_signal(signal.SIGINT)
            shown = read_until(ours, shown, lambda text, n=number: text.count("continue waiting (w)?") >= n)
            os.write(ours, f"{answer}\n".encode())
        shown = read_until(ours, shown, lambda _: run.poll() is not None)
        os.close(ours)
    return run.returncode, shown


def read_until(terminal: int, text: str, is_enough: Callable[[str], bool]) -> str:
    end = time.monotonic() + PATIENCE
    while not is_enough(text):
        assert time.monotonic() < end, text
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            text += os.read(terminal, 65_536).decode("utf-8", "replace") if ready else ""
        except OSError:  # the other side is closed
            break
    return text


def test_on_a_terminal_the_answer_c_cancels(remit: Commands, here: Remit, server: RemoteServer) -> None:
    code, shown = answering(remit, server, "c")
    assert code == 1
    assert "cancelled" in shown
    job = here("jobs", "show", "1", "--format", "json").json
    assert (job["outcome"], job["error"]) == ("cancelled", "cancelled while it ran")


def test_on_a_terminal_the_answer_w_waits_on_and_l_leaves(remit: Commands, here: Remit, server: RemoteServer) -> None:
    code, shown = answering(remit, server, "w", "l")
    assert code == 130
    assert "is left in the queue" in shown
    assert here("jobs", "show", "1", "--format", "json").json["state"] == "queued"


@contextlib.contextmanager
def asked(remit: Commands, server: RemoteServer, task: str, gate: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`remit run` on a terminal that was interrupted and asks what to do."""
    ours, theirs = pty.openpty()
    stdio = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    with remit.start("run", "generic", task, "--tools", "Read", **stdio) as run:
        os.close(theirs)
        server.wait(gate)
        run.send_signal(signal.SIGINT)
        read_until(ours, "", lambda text: QUESTION in text)
        try:
            yield run, ours
        finally:
            os.close(ours)


def test_the_question_stays_on_the_terminal_until_it_is_answered(
    remit: Commands, here: Remit, server: RemoteServer
) -> None:
    with asked(remit, server, "hang", "never") as (run, terminal):
        assert select.select([terminal], [], [], 0.5)[0] == [], "nothing is written over it"
        os.write(terminal, b"z\n")
        read_until(terminal, "", lambda text: QUESTION in text)
        run.send_signal(signal.SIGINT)
        shown = read_until(terminal, "", lambda _: run.poll() is not None)
    assert run.returncode == 130
    assert "is left in the queue" in shown
    assert here("jobs", "show", "1", "--format", "json").json["state"] == "queued"


def test_a_job_that_ends_while_it_is_asked_about_is_shown(remit: Commands, server: RemoteServer) -> None:
    with asked(remit, server, "stall", "stall") as (run, terminal):
        server.open("stall")
        shown = read_until(terminal, "", lambda _: run.poll() is not None)
    assert run.returncode == 0
    assert "left in the queue" not in shown
    assert "The login module is ready to be released." in shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_terminated_leaves_its_job_at_once(
    remit: Commands, here: Remit, server: RemoteServer, number: signal.Signals
) -> None:
    with remit.start("run", "generic", "hang") as run:
        server.wait("never")
        run.send_signal(number)
        _, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 130
    assert "job 1 is left in the queue" in err
    assert here("jobs", "show", "1", "--format", "json").json["state"] == "queued"


def test_logs_that_follow_end_when_the_job_does(remit: Commands, here: Remit, server: RemoteServer) -> None:
    here("run", "--detach", "generic", "gate", "--tools", "Read")
    with remit.start("jobs", "logs", "-f", "1") as logs, working(remit):
        server.wait("gate")
        assert logs.poll() is None
        server.open("gate")
        out, _ = logs.communicate(timeout=PATIENCE)
        assert logs.returncode == 0
        assert "finished: completed" in out.splitlines()[-1]
        assert out.count("attempt 1 on") == 1


def test_logs_that_follow_end_with_a_job_that_never_began(remit: Commands, here: Remit) -> None:
    here("run", "--detach", "generic", "gate")
    with remit.start("jobs", "logs", "-f", "1") as logs:
        until(
            remit,
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN remit_events%'",
        )
        here("jobs", "cancel", "1")
        assert logs.wait() == 0


def test_cancel_stops_a_running_job_within_a_second(remit: Commands, here: Remit, server: RemoteServer) -> None:
    with working(remit):
        here("run", "--detach", "generic", "hang")
        server.wait("never")
        until(remit, "SELECT 1 FROM remit.events WHERE kind = 'text'")
        began = time.monotonic()
        assert here("jobs", "cancel", "1").code == 0
        until(remit, "SELECT 1 FROM remit.jobs WHERE state = 'finished'")
        assert time.monotonic() - began < 10, "the command itself included, on a busy machine"
    job = here("jobs", "show", "1", "--format", "json").json
    assert job["outcome"] == "cancelled"
    assert str(job["result"]).startswith("I ha")


def test_prune_removes_everything_of_old_jobs(remit: Commands, here: Remit) -> None:
    remit("run", "generic", "be good", "--tools", "Read")
    here("run", "--detach", "generic", "be bad")
    assert here("jobs", "prune").out == "0 jobs removed\n"
    rows(remit, "UPDATE remit.jobs SET finished = finished - interval '31 days'")
    rows(remit, "UPDATE remit.briefs SET created = created - interval '31 days'")
    pruned = here("jobs", "prune", "--format", "json")
    assert pruned.json == {"schema": "remit.prune/1", "removed": 1}
    assert rows(remit, "SELECT id FROM remit.jobs") == [(2,)]
    for table in ("messages", "tool_calls", "receipts", "results", "events"):
        assert rows(remit, f"SELECT count(*) FROM remit.{table}") == [(0,)], table
    assert rows(remit, "SELECT count(*) FROM remit.briefs") == [(1,)], "only the waiting job's is left"


@pytest.mark.parametrize(
    ("words", "answer", "left"),
    [
        ((), "n\n", 1),
        ((), "y\n", 0),
        (("--yes",), "", 0),
        (("--format", "json"), "", 0),
    ],
)
def test_prune_asks_at_a_terminal(
    remit: Commands, here: Remit, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], answer: str, left: int
) -> None:
    remit("run", "generic", "be good", "--tools", "Read")
    monkeypatch.setattr(job_commands, "can_ask", lambda form: form == "text")
    pruned = here("jobs", "prune", "--days", "0", *words, given=answer.encode())
    assert pruned.code == 0
    assert ("Remove all jobs that have finished" in pruned.out) is (not words)
    assert ("nothing was removed" in pruned.out) is bool(left)
    assert rows(remit, "SELECT count(*) FROM remit.jobs") == [(left,)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("jobs", "show", "99"), "there is no job 99; `remit jobs list` shows all jobs"),
        (("jobs", "logs", "99"), "there is no job 99"),
        (("jobs", "cancel", "99"), "there is no job 99"),
        (("jobs", "retry", "99"), "there is no job 99"),
        (("run", "--detach", "generic", "go", "--model", "my-model"), "write provider:model"),
        (("run", "--detach", "generic", " "), "the prompt of the job is empty"),
        (("run", "--detach", "generic", "go", "--repo", "/nowhere"), "the folder /nowhere does not exist"),
        (("run", "--detach", "generic", "go", "--max-tokens", "0"), "must be greater than 0"),
        (("run", "--detach", "generic", "go", "--var", "x"), "write NAME=VALUE"),
    ],
)
def test_an_impossible_request_is_refused_in_one_line_with_code_2(
    here: Remit, words: tuple[str, ...], said: str
) -> None:
    ran = here(*words)
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("remit: ")
    assert said in ran.err


def test_there_are_no_jobs_at_first(here: Remit) -> None:
    assert here("jobs").out == "no jobs\n"
    assert here("jobs", "list", "--format", "json").json == {"schema": "remit.jobs/1", "jobs": []}


BLOCKED = """
import sys
for name in ("psycopg", "psycopg_pool", "procrastinate", "pydantic_ai"):
    sys.modules[name] = None
from remit.surfaces.cli import main
main()
"""
COMMANDS = (
    *(("run", "a", "b"), ("run", "--detach", "a", "b"), ("jobs",), ("jobs", "show", "1"), ("jobs", "prune")),
    *(("jobs", "logs", "1"), ("jobs", "cancel", "1"), ("jobs", "retry", "1"), ("worker",)),
)


@pytest.mark.process
def test_a_command_without_its_extra_names_what_to_install(tmp_path: Path) -> None:
    running = {
        words: subprocess.Popen(
            [sys.executable, "-c", BLOCKED, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in COMMANDS
    }
    for words, process in running.items():
        with process:
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (3, ""), (words, err)
        assert "this command needs the extra `run`" in err, words
        assert "[run]'" in err
        assert "Traceback" not in err


def test_on_the_embedded_database_run_needs_nothing_installed_but_python(tmp_path: Path, server: RemoteServer) -> None:
    """The whole of it: no address of a database, a new folder, one command."""
    commands = Commands("", sample_project(), tmp_path / "data", server.url)
    ran = commands("run", "generic", "be good", "--tools", "Read")
    assert ran.code == 0, ran
    assert (tmp_path / "data" / "postgres").stat().st_mode & 0o077 == 0
    assert "completed" in commands("jobs").out
