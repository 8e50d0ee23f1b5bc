"""The output of a plan: its jobs, refused calls and the current state."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from plan_building import CHAT, begun, one, phase, plan
from support.running import Play, tools
from test_orchestrator import ME, lookup, orchestrated

from remit.orchestrate.delegating import PlanResult
from remit.reports.job_text import event_lines
from remit.reports.layout import plain_lines
from remit.reports.plan_text import dry_run_lines, job_summary, next_step_text, plan_lines
from remit.store import plans
from remit.store.events import Event
from remit.surfaces.cli.progress import command as progress_command

pytest_plugins = ("support.running",)


@pytest.mark.anyio
async def test_a_plan_shows_the_job_and_usage_of_each_delegation_with_hints(play: Play) -> None:
    async with play(CHAT, CHAT) as fleet, begun(fleet, plan(phase("look", one("scout"), one("helper")))) as run:
        await run.drive()
        found = await run.result()
        uses = await plans.uses_of(fleet.database, run.number)
    first, second = (each.job for each in found.delegations)
    for columns in (20, 80, 120):
        text = plain_lines(plan_lines(found, uses, columns))
        assert (f"job {first}  " in text) == (columns > 20)
    assert "2 turns" in text
    assert "k tokens" in text
    assert f"see `remit jobs logs {first}` for events" in next_step_text(found)
    assert "`remit plan progress`" in next_step_text(found)
    assert job_summary(found) == f"scout {first}, helper {second}"


@pytest.mark.anyio
async def test_the_events_of_a_job_explain_a_refused_lookup(play: Play) -> None:
    turns = {ME: [tools(lookup("a.py", question="")), tools(lookup("../../etc/passwd\x1b[2J")), CHAT]}
    async with play(conversations=turns) as fleet:
        job = await orchestrated(fleet)
        ended = [event for event in await fleet.events(job.id) if event.kind == "tool-done"]
    said = [plain_lines(event_lines(event, 300)) for event in ended]
    assert said[0].endswith("Lookup failed: state the question that the lookup answers")
    assert "is outside the workspace" in said[1]
    assert "\x1b" not in said[1]


def test_the_error_of_a_call_is_shown_without_control_characters() -> None:
    event = Event(1, 1, datetime.now(UTC), "tool-done", {"name": "Read", "failed": True, "why": "no \x1b[2J file"})
    assert "Read failed: no \u241b[2J file" in plain_lines(event_lines(event, 80))


def test_messages_of_an_orchestrator_keep_their_lines_without_control_characters() -> None:
    words = "Half done:\n- the \x1b[2J cart\r\n- the \u202eorders"
    lines = plain_lines(event_lines(Event(1, 1, datetime.now(UTC), "told", {"text": words}), 40)).split("\n")
    assert [line[9:] for line in lines] == ["Half done:", "- the \u241b[2J cart\u240d", "- the \\u202eorders"]
    long = plain_lines(event_lines(Event(1, 1, datetime.now(UTC), "told", {"text": "word " * 50}), 40)).split("\n")
    assert max(map(len, long)) <= 40


@pytest.mark.anyio
async def test_characters_of_a_message_that_cannot_be_stored_are_replaced(play: Play) -> None:
    async with play(conversations={ME: [tools(("Tell", {"text": "half\0done"})), CHAT]}) as fleet:
        job = await orchestrated(fleet)
        told = [one.data["text"] for one in await fleet.events(job.id) if one.kind == "told"]
    assert (job.outcome, told) == ("completed", ["half\ufffddone"])


def shown(folder: Path, delegations: list[Any]) -> list[str]:
    file = folder / "progress.json"
    file.write_text(json.dumps({"project": "x", "delegations": delegations}), encoding="utf-8")
    ran = CliRunner().invoke(progress_command, ["--file", str(file)], standalone_mode=False)
    return str(ran.output).rstrip("\n").split("\n")


def test_progress_shows_the_current_plan_and_counts_older_ones(tmp_path: Path) -> None:
    def each(number: int, job: int) -> dict[str, Any]:
        return {"plan": number, "phase": "look", "name": "scout", "agent": "scout", "state": "accepted", "job": job}

    lines = shown(tmp_path, [each(1, 1), each(2, 2), each(3, 3)])
    assert lines[-2:] == ["  look scout accepted job 3", "  and 2 earlier delegations; see --format json"]
    assert shown(tmp_path, [{"agent": "of another tool", "state": "done"}])[-1] == "  of another tool done"
    assert not any("earlier" in line for line in shown(tmp_path, [each(1, 1)]))
    assert shown(tmp_path, [])[-1].startswith("next ")


def test_a_dry_run_shows_agents_and_special_settings() -> None:
    named = one("scout", timeout=5, scope=("a.py", "b"), max_turns=4, max_cost=0.5)
    text = plain_lines(dry_run_lines(plan(phase("look", named, critical=True)), 100))
    assert "   scout  critical\n" in text
    assert "scope a.py, b; model anthropic:claude-sonnet-5; at most 4 turns, 5 s, $0.5" in text


def test_the_mark_of_a_finished_phase_is_that_of_its_decision() -> None:
    marks = {"continue": "✓", "review": "!", "retry": "✗"}
    for decision, mark in marks.items():
        rows = [plans.PhaseRow(number=0, name="look", state="finished", decision=decision)]
        now = datetime.now(UTC)
        ended = {"state": "finished", "outcome": decision, "created": now, "finished": now}
        row = plans.PlanRow(id=1, name="a plan", digest="", document={}, workspace="/", **ended)  # type: ignore[arg-type]
        found = PlanResult(row, rows, [], [])
        assert f" {mark} look  decision {decision}" in plain_lines(plan_lines(found, {}, 80))
