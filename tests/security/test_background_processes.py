"""Changes by processes that outlive their command are reported at the next event, without an accusation."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scratch_project import SESSION, ScratchProject, decision_of, told_person

from remit.clients.hooks.hook_events import handle_event
from remit.gate import leftover_processes as processes
from remit.gate.leftover_processes import is_running, left_running, process_time
from remit.gate.session_entries import Process

pytestmark = pytest.mark.skipif(not Path("/proc/loadavg").exists(), reason="this system has no /proc")


def waiting(folder: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that waits until it is ended."""
    return subprocess.Popen(["sh", "-c", "read line"], cwd=folder, stdin=subprocess.PIPE, **options)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


@contextmanager
def left_behind(shop: ScratchProject, line: str = "make all &", **fields: Any) -> Iterator[int]:
    """A call that ends while a process that it started still waits."""
    call, _ = shop.before(line, **fields)
    process = waiting(shop.path / "src")
    try:
        shop.after(call, line, **fields)
        yield process.pid
    finally:
        end(process)


def test_a_change_between_two_calls_is_reported_while_a_process_of_a_call_runs(shop: ScratchProject) -> None:
    with left_behind(shop) as pid:
        (shop.path / "src/app.py").write_text("written later\n")
        told = told_person(shop.before("git status")[1])
        assert "src/app.py changed between two calls" in told
        assert f"{pid} (sh)" in told
        assert "or a person did" in told, "it is not an accusation"
        assert told_person(shop.before("git status")[1]) == "", "it is reported once"
        (shop.path / "src/app.py").write_text("written again\n")
        assert told_person(shop.before("git status")[1]) == ""


def test_a_change_is_reported_once_more_after_the_process_has_ended(shop: ScratchProject) -> None:
    with left_behind(shop):
        pass
    (shop.path / "src/app.py").write_text("written last\n")
    assert "src/app.py" in told_person(shop.before("git status")[1])
    (shop.path / "src/util.py").write_text("a person writes\n")
    assert shop.run("git status") == ({}, {}), "without a process, a change between two calls is a person's"


def test_the_change_can_be_reverted_exactly(shop: ScratchProject) -> None:
    before = (shop.path / "src/app.py").read_text()
    with left_behind(shop):
        (shop.path / "src/app.py").write_text("written later\n")
        shop.before("git status")
        shop.run(shop.state.changes[-1].command)
    assert (shop.path / "src/app.py").read_text() == before


def test_strict_does_not_stop_for_a_change_that_a_person_may_have_made(start: Callable[..., ScratchProject]) -> None:
    shop = start(mode="strict")
    with left_behind(shop):
        (shop.path / "src/app.py").write_text("written later\n")
        assert "src/app.py" in told_person(shop.before("git status")[1])
        assert decision_of(shop.before("echo x > notes.md")[1]) == "allow"


def test_the_end_of_a_turn_reports_too(shop: ScratchProject) -> None:
    stop = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(shop.path), "stop_hook_active": False}
    stop["background_tasks"] = []  # type: ignore[assignment]
    with left_behind(shop):
        (shop.path / "src/app.py").write_text("written later\n")
        answer = handle_event(stop, project=str(shop.path)) or {}
        assert "src/app.py" in told_person(answer)
        assert "decision" not in answer
        assert "systemMessage" not in (handle_event(stop, project=str(shop.path)) or {})


def test_edits_of_subagents_explain_a_change(shop: ScratchProject) -> None:
    writer = {"agent_id": "a2", "agent_type": "backend-specialist"}
    edit = {"file_path": str(shop.path / "src/app.py"), "old_string": "1", "new_string": "2"}
    with left_behind(shop):
        shop.hook("PreToolUse", "Edit", edit, "toolu_edit", **writer)
        (shop.path / "src/app.py").write_text("edited\n")
        shop.hook("PostToolUse", "Edit", edit, "toolu_edit", **writer)
        assert told_person(shop.before("git status")[1]) == ""


def test_a_process_of_an_agent_with_write_tools_may_change_code(shop: ScratchProject) -> None:
    with left_behind(shop, agent_id="a2", agent_type="backend-specialist"):
        (shop.path / "src/app.py").write_text("built\n")
        (shop.path / "docs/notes.md").write_text("prose\n")
        assert told_person(shop.before("git status")[1]) == ""


def test_processes_are_found_by_their_folder_or_where_they_were_started(tmp_path: Path) -> None:
    since = process_time()
    variables = {"PATH": os.environ["PATH"], "PWD": str(tmp_path.resolve() / "a")}
    started = [waiting(tmp_path), waiting("/", env={**variables, "ENV": ""}), waiting("/")]
    found: list[Any] = []
    deadline = time.monotonic() + 10
    while len(found) < 2 and time.monotonic() < deadline:  # until both have replaced their parent's image
        found = left_running(str(tmp_path), since)
    assert {process.number for process in found} == {started[0].pid, started[1].pid}
    assert left_running(str(tmp_path), 0) == []
    for process in started:
        end(process)
    assert not any(map(is_running, found))


def test_a_number_that_belongs_to_another_process_now_is_not_the_recorded_one() -> None:
    about = processes._about(str(os.getpid()))
    assert about is not None
    assert is_running(Process(number=os.getpid(), started=about[0]))
    assert not is_running(Process(number=os.getpid(), started="1"))
    assert not is_running(Process())


def test_without_proc_no_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PROC", str(tmp_path))
    assert left_running(str(tmp_path / "none"), 5) == []
    (tmp_path / "78").mkdir()
    assert left_running(str(tmp_path), 5) == [], "it has ended"


def test_tools_for_background_commands_compare_without_a_known_process(shop: ScratchProject) -> None:
    start = {"command": "make all", "run_in_background": True}
    shop.hook("PreToolUse", "Bash", start, "toolu_bg")
    shop.hook("PostToolUse", "Bash", start, "toolu_bg", tool_response={})
    for number, (event, tool) in enumerate(
        (("PreToolUse", "BashOutput"), ("PostToolUse", "TaskOutput"), ("PostToolUse", "KillShell"))
    ):
        (shop.path / f"src/late{number}.py").write_text("written later\n")
        told = told_person(shop.hook(event, tool, {}, f"toolu_task{number}"))
        assert f"src/late{number}.py changed between two calls, while a background command may run" in told, tool
    (shop.path / "src/util.py").write_text("a person writes\n")
    assert shop.run("git status") == ({}, {})


def test_tools_for_background_commands_report_no_edit_of_a_person(shop: ScratchProject) -> None:
    shop.run("true")
    (shop.path / "src/app.py").write_text("a person writes\n")
    assert shop.hook("PreToolUse", "BashOutput", {}, "toolu_task") == {}
    assert shop.hook("PostToolUse", "BashOutput", {}, "toolu_task") == {}


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Processes of a container, whose first process is a program that starts others itself."""
    monkeypatch.setattr(processes, "_PROC", str(tmp_path))

    def add(number: int | str, parent: int, variables: str, line: str = "sh", *, start: int | None = None) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        started = number if start is None else start
        (folder / "stat").write_text(f"{number} (sh) S {parent} " + "0 " * 17 + f"{started} 0 0\n")
        (folder / "environ").write_text(variables.replace(" ", "\0"))
        (folder / "cmdline").write_text(line)
        (folder / "cgroup").write_text("0::/\n")

    add(1, 0, "PATH=/bin HOME=/root")
    add("self", 20, "", start=20)
    add(20, 1, "PATH=/bin HOME=/root TERM=x")
    add(os.getpid(), 20, "PATH=/bin HOME=/root TERM=x PWD=/shop", start=20)
    return add


def test_a_daemon_with_other_variables_is_found_in_a_container(container: Callable[..., None]) -> None:
    container(80, 1, "PATH=/bin HOME=/root LANG=C", "the first process started it")
    container(81, 1, "B=1", "a daemon that has replaced its variables")
    container(82, 1, "", "a daemon that has removed its variables")
    container(83, 81, "B=1", "its child")
    container(84, 1, "PATH=/usr/bin HOME=/", "the first process started it with other values")
    container(85, 1, "PWD=/ SHLVL=0", "a daemon whose shell has set some variables")
    assert [process.number for process in left_running("/shop", 70)] == [81, 82, 83, 85]


def test_a_daemon_is_found_if_the_variables_of_the_first_process_cannot_be_read(
    container: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "1/environ").write_text("")
    container(80, 1, "PATH=/bin HOME=/root TERM=x LANG=C", "started as the client was")
    container(81, 1, "B=1 PATH=/bin", "a daemon")
    container(82, 1, "HOME=/root PATH=/bin", "started with fewer variables than the client")
    assert [process.number for process in left_running("/shop", 70)] == [81]


def test_numbers_of_processes_that_wrapped_around_blame_no_earlier_process(container: Callable[..., None]) -> None:
    container(32_001, 1, "B=1", "a daemon of before, with a higher number", start=50)
    container(32_002, 1, "B=1", "a daemon of the call, before the numbers wrapped around", start=71)
    container(3, 1, "B=1", "a daemon of the call, with a low number", start=72)
    container(4, 3, "B=1", "its child", start=73)
    container(5, 32_001, "B=1", "a child of the earlier daemon", start=74)
    assert [process.number for process in left_running("/shop", 70)] == [32_002, 3, 4]


_WRITER = """
import mmap, sys
file = open(sys.argv[1], "r+b")
memory = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED)
memory[0:1] = memory[0:1]
for number in sys.stdin:
    print("ready", flush=True)
    memory[0:1] = number[:1].encode()
    print("written", flush=True)
"""


@pytest.mark.process
def test_a_write_through_shared_memory_is_reported_although_no_time_changes(shop: ScratchProject) -> None:
    path = shop.path / "src/app.py"
    call, _ = shop.before("make all &")
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        cwd=shop.path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("V\n")  # the same content: the times change now, and not again
        assert [process.stdout.readline(), process.stdout.readline()] == ["ready\n", "written\n"]
        shop.after(call, "make all &")
        shop.before("git status")  # what the call itself changed
        before = path.stat()
        process.stdin.write("X\n")
        assert [process.stdout.readline(), process.stdout.readline()] == ["ready\n", "written\n"]
        assert path.read_text(encoding="utf-8").startswith("X")
        after = path.stat()
        assert (after.st_ctime_ns, after.st_mtime_ns, after.st_size) == (
            before.st_ctime_ns,
            before.st_mtime_ns,
            before.st_size,
        )
        assert "src/app.py changed between two calls" in told_person(shop.before("git status")[1])
    finally:
        process.kill()
        process.communicate()
