"""The progress file: atomic replacement, one writer, and files of older tools."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plan_building import begun, one, phase, plan, progress_file, result, says
from support.running import Play
from support.waiting import until

from remit.errors import UsageError
from remit.orchestrate.progress_file import fill_defaults, find_progress, progress_path, read_progress, update_progress

pytest_plugins = ("support.running",)
SHARED = Path(__file__).resolve().parents[3] / "shared" / "claude-progress.sample.json"
#: A file of the older tool with all its fields.
SEED: dict[str, Any] = {
    "workspaceId": "main_ab12",
    "project": "tea",
    "started": "2026-10-01T08:00:00Z",
    "lastUpdated": "2026-10-01T09:00:00Z",
    "status": "in_progress",
    "currentPhase": "design",
    "currentTask": "Draw the checkout",
    "sessions": [{"id": "s1", "filesModified": ["a.py"], "nextSteps": []}],
    "log": [{"timestamp": "2026-10-01T08:10:00Z", "action": "exploration", "status": "success", "files": ["a.py"]}],
    "resumptionContext": {
        "position": "phase 2 of 3",
        "nextAction": "Ask product-manager for the draft",
        "dependencies": ["B1"],
        "blockers": ["the key is missing", {"id": "B2", "description": "no price list"}],
        "keyFiles": ["a.py:1"],
        "recentDecisions": ["tax comes last", {"decision": "one currency", "why": "simple"}],
        "mood": "fine",
    },
    "blockers": [{"id": "B1", "description": "nobody answers", "state": "waiting_for_user"}],
    "warnings": ["Agent code-explorer failed, results may be incomplete"],
    "compactionHistory": [{"trigger": "auto"}],
    "teamContext": {"leader": "main"},
}
KEYS = {
    *("workspaceId", "project", "started", "lastUpdated", "status", "currentPhase", "currentTask", "sessions", "log"),
    *("resumptionContext", "warnings", "delegations"),
}
CONTEXT = {"position", "nextAction", "dependencies", "blockers", "keyFiles", "decisions"}


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_the_older_shape_is_read_and_unknown_keys_survive_a_rewrite(tmp_path: Path) -> None:
    path = written(tmp_path / "progress.json", SEED)
    update_progress(path, lambda progress: progress["log"].append({"action": "more"}))
    after = json.loads(path.read_text(encoding="utf-8"))
    for key in ("workspaceId", "project", "started", "status", "currentPhase", "sessions", "blockers", "warnings"):
        assert after[key] == SEED[key]
    assert (after["compactionHistory"], after["teamContext"]) == (SEED["compactionHistory"], SEED["teamContext"])
    context = after["resumptionContext"]
    assert context["mood"] == "fine"
    assert context["recentDecisions"] == context["decisions"] == SEED["resumptionContext"]["recentDecisions"]
    assert context["blockers"] == SEED["resumptionContext"]["blockers"], "strings and objects alike"
    assert after["log"] == [*SEED["log"], {"action": "more"}]
    assert after["lastUpdated"] != SEED["lastUpdated"]
    assert set(after) >= KEYS


@pytest.mark.skipif(not SHARED.exists(), reason="the seed's sample is not beside this checkout")
def test_the_sample_of_the_older_tool_is_read() -> None:
    sample = json.loads(SHARED.read_text(encoding="utf-8"))
    found = read_progress(SHARED)
    assert found["resumptionContext"]["decisions"] == sample["resumptionContext"]["recentDecisions"]
    assert {key: found[key] for key in sample if key != "resumptionContext"} == {
        key: value for key, value in sample.items() if key != "resumptionContext"
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"resumptionContext": None},
        {"resumptionContext": {"nextAction": ""}},
        {"resumptionContext": {"nextAction": "  \n"}},
        {"resumptionContext": {"nextAction": None}},
        {"resumptionContext": [], "log": "x", "warnings": {"a": 1}, "sessions": 3, "status": "sleeping"},
    ],
)
def test_missing_fields_are_filled_in_and_the_next_action_is_never_empty(wrong: dict[str, Any]) -> None:
    found = fill_defaults(wrong)
    assert set(found) >= KEYS
    assert set(found["resumptionContext"]) >= CONTEXT
    assert found["resumptionContext"]["nextAction"].strip()
    assert found["status"] == "in_progress"
    assert all(isinstance(found[key], list) for key in ("sessions", "log", "warnings", "delegations"))


@pytest.mark.parametrize("key", ["decisions", "recentDecisions"])
def test_decisions_have_two_names(key: str) -> None:
    assert fill_defaults({"resumptionContext": {key: ["a"]}})["resumptionContext"]["decisions"] == ["a"]


def test_empty_decisions_do_not_hide_recent_ones() -> None:
    context = fill_defaults({"resumptionContext": {"decisions": [], "recentDecisions": ["a"]}})["resumptionContext"]
    assert context["decisions"] == ["a"]


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "\xff", "[" * 100_000, "nul"])
def test_an_unreadable_file_is_renamed_and_the_work_continues(tmp_path: Path, text: str) -> None:
    path = tmp_path / "progress.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"progress\.json: not a progress file"):
        read_progress(path)
    found = update_progress(path, lambda progress: None)
    [aside] = tmp_path.glob("*.bad")
    assert aside.read_text(encoding="latin-1") == text
    assert "was renamed to " + aside.name in found["warnings"][0]
    assert read_progress(path)["resumptionContext"]["nextAction"]


#: Reports its start and then increments a counter in the file until it is stopped.
WRITER = """
import sys
from pathlib import Path
from remit.orchestrate.progress_file import update_progress
path, name, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def change(progress):
    progress[name] = progress.get(name, 0) + 1
    progress["total"] = progress.get("total", 0) + 1
    progress["filling"] = "x" * 200_000
print("begun", flush=True)
for _ in range(most):
    update_progress(path, change)
"""


def writer(path: Path, name: str, most: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(most)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def ended(process: subprocess.Popen[str]) -> int:
    with process:
        return process.wait()


@pytest.mark.process
def test_two_processes_write_in_turn_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    both = [writer(path, name, 60) for name in ("first", "second")]
    assert [ended(process) for process in both] == [0, 0]
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["first"], found["second"], found["total"]) == (60, 60, 120)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["progress.json", "progress.lock"]


@pytest.mark.process
def test_readers_and_killed_writers_never_leave_a_partial_file(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    process = writer(path, "first", 100_000)
    seen: set[int] = set()

    def looked() -> bool:
        if path.exists():
            seen.add(json.loads(path.read_text(encoding="utf-8"))["total"])
        return len(seen) >= 30

    until(looked)
    os.kill(process.pid, signal.SIGKILL)
    assert ended(process) == -signal.SIGKILL
    before = read_progress(path)["total"]
    update_progress(path, lambda progress: progress.update(total=progress["total"] + 1))
    assert read_progress(path)["total"] == before + 1, "the lock was released with its process"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "progress.json", SEED)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        update_progress(path, lambda progress: progress.update(status="completed"))
    assert json.loads(path.read_text(encoding="utf-8")) == SEED
    assert sorted(each.name for each in tmp_path.iterdir()) == ["progress.json", "progress.lock"]


def test_the_log_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    for number in range(3):
        update_progress(
            path, lambda progress, n=number: progress["log"].extend({"n": (n, each)} for each in range(400))
        )
    found = read_progress(path)["log"]
    assert len(found) == 500
    assert found[-1] == {"n": [2, 399]}


def test_the_file_of_the_project_takes_precedence_over_that_of_an_older_tool(tmp_path: Path) -> None:
    data = tmp_path / ".remit"
    assert find_progress(tmp_path, data) is None
    old = written(tmp_path / ".claude/workspaces/a/claude-progress.json", SEED)
    new = written(tmp_path / ".claude/workspaces/b/claude-progress.json", SEED)
    os.utime(old, (1, 1))
    assert find_progress(tmp_path, data) == new
    own = written(progress_path(data), SEED)
    assert find_progress(tmp_path, data) == own


@pytest.mark.anyio
async def test_a_plan_keeps_the_file_up_to_date(play: Play) -> None:
    async with play(conversations={"task of a": says(result("a"))}) as fleet:
        written(progress_file(fleet), SEED)
        spec = plan(phase("one", one("a")), phase("two", one("a"), one("a")), name="ship")
        async with begun(fleet, spec) as run:
            await run.drive()
        found = read_progress(progress_file(fleet))
    assert (found["workspaceId"], found["project"]) == ("main_ab12", "tea"), "what is known is not overwritten"
    assert (found["status"], found["currentPhase"], found["currentTask"]) == ("completed", "two", "ship: two")
    assert found["warnings"] == SEED["warnings"]
    assert [
        (each["phase"], each["name"], each["agent"], each["state"], each["verdict"]) for each in found["delegations"]
    ] == [
        ("one", "a", "a", "accepted", "accept"),
        ("two", "a", "a", "accepted", "accept"),
        ("two", "a-2", "a", "accepted", "accept"),
    ]
    assert [each["status"] for each in found["log"]] == [
        "success",
        "started",
        "continue",
        "started",
        "continue",
        "continue",
    ]
    assert found["resumptionContext"]["nextAction"] == "Nothing is open; the last decision was continue"
    assert found["teamContext"] == SEED["teamContext"]
