"""Jobs as people and programs see them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema
import msgspec
import pytest

from remit.reports.job_text import JobShape, event_lines, job_lines, job_shape, jobs_shape, list_lines, usage_text
from remit.reports.layout import display_width, plain_lines, schema_of
from remit.store.events import Event
from remit.store.jobs import Job

AT = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
HOSTILE = "\x1b[31mred\x1b]0;t\x07 \x9b2J \u202eback \x00 \r"


def job(**more: Any) -> Job:
    """A job with every field set; later additions of the store do not matter here."""
    usual: dict[str, Any] = dict.fromkeys(Job.__struct_fields__)
    usual |= {"id": 7, "agent": "code-explorer", "brief": "sha256:x", "request": {}, "prompt": "trace the login flow"}
    usual |= {"workspace": "/x", "queue": "default", "priority": 0, "depth": 0, "attempt": 1, "deaths": 0}
    usual |= {"state": "finished", "outcome": "completed", "verdict": "accept", "result": "Fine."}
    usual |= {"is_cancelled": False, "is_priced": True, "cost": 0.0123, "turns": 3, "tool_calls": 4}
    usual |= {"input_tokens": 1_200, "output_tokens": 300, "cached_tokens": 100}
    usual |= {"created": AT, "started": AT, "finished": AT}
    return Job(**(usual | more))


def text(lines: Any) -> str:
    return plain_lines(lines)


def test_the_shape_of_a_job_is_the_fixed_one() -> None:
    shown = json.loads(msgspec.json.encode(job_shape(job())))
    assert set(shown) - {"diff", "status"} == {
        *("schema", "id", "agent", "definition", "state", "outcome", "error", "attempts", "turns", "tool_calls"),
        *("tokens", "cost", "verdict", "result", "created", "started", "finished"),
    }
    assert shown["schema"] == "remit.job/1"
    assert shown["tokens"] == {"input": 1_200, "output": 300, "cached": 100}
    assert shown["created"] == "2026-11-15T06:00:00Z"
    jsonschema.validate(shown, schema_of(JobShape))
    assert json.loads(msgspec.json.encode(jobs_shape([job()]))) == {"schema": "remit.jobs/1", "jobs": [shown]}


def test_a_cost_that_is_not_known_is_null_and_not_nothing() -> None:
    assert job_shape(job(is_priced=False, cost=0.0)).cost is None
    assert job_shape(job(is_priced=True, cost=0.0)).cost == 0.0
    assert "$" not in usage_text(job(is_priced=False))
    assert "$0.0123" in usage_text(job())


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_keep_within_the_columns(columns: int) -> None:
    wide = job(
        agent="verification-specialist-of-the-house",
        prompt="情報を調べる " * 30,
        outcome="max-turns",
        verdict=None,
        error="no room " * 40,
        input_tokens=123_456_789,
        cached_tokens=123_456_789,
        output_tokens=98_765_432,
        attempt=4,
    )
    lines = [*text(job_lines(wide, columns)).splitlines()[:-2]]
    lines += text(list_lines([wide], columns)).splitlines() if columns >= 80 else []
    assert max(map(display_width, lines)) <= columns


@pytest.mark.parametrize(
    ("seconds", "age"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7_300, "2 h"), (86_400, "1 d"), (-30, "0 s")]
)
def test_a_running_job_is_listed_with_its_host_and_how_long_it_runs(seconds: int, age: str) -> None:
    running = job(state="running", outcome=None, finished=None, started=datetime.now(UTC) - timedelta(seconds=seconds))
    listed = text(list_lines([running, job(id=6)], 80, {7: "db1 pid 4711"})).splitlines()
    assert listed[2] == f"        on db1 pid 4711, for {age}"
    assert len(listed) == 4
    assert f"  on db1 pid 4711, for {age}" in text(job_lines(running, 80, (), {7: "db1 pid 4711"})).splitlines()
    assert "on a worker that is gone" in text(list_lines([running], 80, {}))
    assert "db1" not in text(job_lines(running, 80)), "a command that runs the job itself does not ask for its host"
    shown = text(list_lines([running], 80, {7: HOSTILE}))
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\x00", "\r"}


@pytest.mark.parametrize("field", ["agent", "prompt", "error", "result", "diff"])
def test_nothing_in_a_job_is_obeyed(field: str) -> None:
    shown = text(job_lines(job(**{field: HOSTILE}), 80)) + text(list_lines([job(**{field: HOSTILE})], 80))
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\x00", "\r"}


KINDS: dict[str, dict[str, Any]] = {
    "started": {"attempt": HOSTILE, "model": HOSTILE},
    "turn": {"turn": HOSTILE},
    "text": {"text": HOSTILE},
    "tool": {"name": HOSTILE, "arguments": {"a": HOSTILE}},
    "tool-done": {"name": HOSTILE, "failed": True},
    "left": {"why": HOSTILE},
    "waiting": {"seconds": HOSTILE, "why": HOSTILE},
    "program": {"command": HOSTILE},
    "checked": {"verdict": HOSTILE, "violations": HOSTILE},
    "finished": {"outcome": HOSTILE, "error": HOSTILE},
    "something new \x1b": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_an_event_is_obeyed_and_an_unknown_one_is_named(kind: str) -> None:
    shown = text(event_lines(Event(1, 7, AT, kind, KINDS[kind]), 80))
    assert shown
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\x00", "\r"}
    assert max(map(len, shown.splitlines())) <= 80


def test_an_answer_keeps_its_lines() -> None:
    answer = "## Result\n\n### Status\nSUCCESS\n\n| Item | Location |\n| --- | --- |\n| cart | `a.py:3` |\n"
    shown = text(event_lines(Event(1, 7, AT, "text", {"text": answer}), 80)).splitlines()
    assert [line[9:] for line in shown] == [line for line in answer.splitlines() if line]
    assert {line[:9] for line in shown[1:]} == {" " * 9}


def test_a_tool_that_went_well_is_worth_no_second_line() -> None:
    assert text(event_lines(Event(1, 7, AT, "tool-done", {"name": "Read", "failed": False}), 80)) == ""


def test_an_empty_job_list_is_reported() -> None:
    assert text(list_lines([], 80)) == "no jobs"
