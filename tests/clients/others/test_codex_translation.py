"""Payloads of Codex in the common form, and the answers in the form of Codex, without the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.client_session import GOOD, Client

from remit.clients.codex.translate import EVENTS, reports_in, to_events
from remit.clients.hooks.hook_events import unknown_events, unknown_notice
from remit.clients.hooks.payload import NEEDED, missing
from remit.clients.translation import handle_client_event

PAYLOADS = Path(__file__).parents[2] / "fixtures/codex/payloads"
CAPTURED = {path.stem: json.loads(path.read_text()) for path in sorted(PAYLOADS.glob("*.json"))}
PATCH = "*** Begin Patch\n*** Update File: app/login.py\n@@\n-a\n+b\n*** End Patch"


def events(name: str, **fields: Any) -> list[dict[str, Any]]:
    found = to_events({**CAPTURED[name], **fields}, "", "/nowhere")
    assert found is not None
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_every_recorded_payload_has_the_fields_that_its_answer_needs(name: str) -> None:
    for event in events(name):
        kind = event["hook_event_name"]
        assert kind in EVENTS
        assert not set(missing(kind, event)) & set(NEEDED.get(kind, ()))


def test_a_launch_names_the_agent_and_its_task() -> None:
    [event] = events("PreToolUse.spawn_agent")
    assert event["tool_name"] == "Agent"
    assert event["tool_input"]["subagent_type"] == "code-explorer"
    [other] = events("PreToolUse.spawn_agent", tool_name="collaborationspawn_agent", tool_input={})
    assert other["tool_input"]["subagent_type"] == "default"


def test_a_failed_launch_is_a_failure() -> None:
    [event] = events("PostToolUse.spawn_agent", tool_response="agent limit reached")
    assert event["hook_event_name"] == "PostToolUseFailure"


def test_the_task_of_a_subagent_is_not_a_prompt_of_the_user() -> None:
    assert events("UserPromptSubmit.subagent") == []
    assert len(events("UserPromptSubmit")) == 1


@pytest.mark.parametrize("response", ["", "[]", "{", '{"status": []}', '{"status": {"a": "pending"}}'])
def test_a_result_without_reports_has_none(response: str) -> None:
    assert reports_in({"tool_response": response}) == {}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def send(client: Client, name: str, **fields: Any) -> dict[str, Any] | None:
    payload = {**CAPTURED[name], "cwd": str(client.project), **fields}
    return handle_client_event("codex", payload)


def rollout(client: Client, files: tuple[str, ...] = ("app/login.py", "app/session.py", "app/store.py")) -> str:
    path = client.project.parent / "rollout-2026-01-01T12-00-00-agent.jsonl"
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"cwd": str(client.project)}}]
    for file in files:
        item = {
            "type": "CommandExecution",
            "command": ["bash", "-lc", f"cat {file}"],
            "cwd": f"file://{client.project}",
        }
        item |= {"status": "completed", "exit_code": 0, "aggregated_output": "text"}
        lines.append({"type": "event_msg", "payload": {"type": "item_completed", "item": item}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_good_report_is_accepted_with_the_rollout_as_receipts(client: Client) -> None:
    send(client, "PreToolUse.spawn_agent")
    about = {"agent_transcript_path": rollout(client), "last_assistant_message": GOOD}
    assert send(client, "SubagentStop", **about, stop_hook_active=False) is None


def test_an_unknown_event_passes_and_is_counted(client: Client) -> None:
    assert send(client, "Stop", hook_event_name="Thinking") is None
    assert send(client, "Stop", hook_event_name="Thinking") is None
    assert unknown_events(client.folder) == {"codex Thinking": 2}
    assert "codex Thinking (2)" in unknown_notice(client.folder)


def test_an_internal_error_is_shown_and_the_call_passes() -> None:
    answer = handle_client_event("nobody", {"hook_event_name": "PreToolUse"})
    assert answer is not None
    assert "allowed without a check" in answer["systemMessage"]
