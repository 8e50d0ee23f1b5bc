"""What takes too long to check is not verified, and the person reads that: never silence."""

from __future__ import annotations

import time

import pytest
from scratch_project import ScratchProject

from remit.clients.hooks import deadline, judging
from remit.clients.hooks.deadline import TooSlow, before_deadline
from remit.clients.hooks.results import latest_result
from remit.evidence import commands

#: A line of 20,000 characters that takes as long to read as any.
SLOW = "bash -c \"bash -c 'bash -c x'\";" * 660


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a check take longer than the client waits."""
    monkeypatch.setattr(deadline, "SECONDS", 0.05)


def test_work_in_time_keeps_its_result_and_its_errors(slow: None) -> None:
    assert before_deadline(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        before_deadline(lambda: 1 // 0)
    with pytest.raises(TooSlow):
        before_deadline(lambda: time.sleep(1))


def test_a_report_whose_check_takes_too_long_is_not_accepted(
    shop: ScratchProject, slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "judge_report", lambda *_, **__: time.sleep(1))
    run = {"agent_id": "a1", "agent_type": "code-explorer", "last_assistant_message": "All is well.", "cwd": "."}
    answer = shop.hook("SubagentStop", "", {}, "", stop_hook_active=False, **run)
    assert answer["decision"] == "block"
    assert "it was not verified, because the check took longer" in answer["reason"]
    shop.hook("SubagentStop", "", {}, "", stop_hook_active=True, **run)
    kept = latest_result(str(shop.folder), shop.session, "a1")
    assert kept is not None
    assert kept.outcome == "rejected"


def test_a_record_with_slow_lines_has_one_budget_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def read_once(line: str) -> tuple[bool, tuple[()]]:
        read.append(line)
        return True, ()

    monkeypatch.setattr(commands, "_read_once", read_once)
    commands.start_reading()
    for number in range(300):
        commands.simple_commands(f"echo {number};{SLOW}")
        commands.simple_commands(f"echo {number};{SLOW}")  # a line counts once
    assert len(read) == 2 * (commands.MAX_READ // commands._MAX_COMMAND)
    commands.start_reading()
    commands.simple_commands("ls -la")
    assert read[-1] == "ls -la"
