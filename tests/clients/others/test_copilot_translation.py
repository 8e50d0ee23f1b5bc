"""Payloads of Copilot CLI in the common form, and the answers in its form, without the client."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.client_session import Client

from remit.clients.copilot.translate import EVENTS, last_answer, to_events
from remit.clients.hooks.hook_events import unknown_events
from remit.clients.hooks.payload import NEEDED, missing
from remit.clients.translation import handle_client_event

PAYLOADS = Path(__file__).parents[2] / "fixtures/copilot/payloads"
CAPTURED = {path.stem: json.loads(path.read_text()) for path in sorted(PAYLOADS.glob("*.json"))}
MAIN, AGENT = "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.clients.copilot.translate._PAUSES", ())


def events(name: str, **fields: Any) -> list[dict[str, Any]]:
    found = to_events({**CAPTURED[name], **fields}, name.partition(".")[0], "/nowhere")
    assert found is not None
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_every_recorded_payload_has_the_fields_that_its_answer_needs(name: str) -> None:
    for event in events(name):
        kind = event["hook_event_name"]
        assert kind in EVENTS.values()
        assert not set(missing(kind, event)) & set(NEEDED.get(kind, ()))
        assert event["session_id"] == MAIN


def test_turns_and_tasks_of_subagents_and_own_corrections_are_not_events() -> None:
    assert events("agentStop.subagent") == []
    assert events("userPromptSubmitted.subagent") == []
    assert events("userPromptSubmitted", prompt="remit (final-claims): wrong") == []
    assert len(events("userPromptSubmitted")) == 1


def test_the_transcript_of_a_subagent_is_its_part_of_the_file() -> None:
    [event] = events("subagentStop")
    assert event["agent_transcript_path"].endswith(f"events.jsonl#agent={AGENT}")
    assert event["last_assistant_message"] == "My report replaceme."


def test_a_background_launch_of_another_agent_is_a_teammate() -> None:
    [event] = events("postToolUse.task", toolArgs={"agent_type": "explore", "mode": "background", "name": "bo"})
    assert event["tool_response"]["status"] == "teammate_spawned"


def test_the_last_message_is_read_when_the_end_itself_is_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [
        {"type": "assistant.message", "data": {"content": "the answer"}},
        {"type": "assistant.message", "data": {"content": "of a subagent"}, "agentId": AGENT},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"type":"assistant.message"\n')
    payload = {"transcriptPath": str(path), "timestamp": 5}
    assert last_answer(payload) == ""
    with path.open("a") as file:
        file.write('{"type":"hook.start","data":{"input":{"timestamp":5}}}\n')
    assert last_answer(payload) == "the answer"
    assert last_answer({**payload, "agentId": AGENT}) == "of a subagent"
    assert last_answer({**payload, "agentId": "other"}) == ""
    assert last_answer({}) == ""


def sender(client: Client) -> Callable[..., dict[str, Any]]:
    """Return a function that sends a recorded payload in a project, and returns the answer."""
    path = client.project.parent / MAIN / "events.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({"type": "session.start", "data": {"context": {"cwd": str(client.project)}}}) + "\n")

    def send(name: str, **fields: Any) -> dict[str, Any]:
        place = {
            "cwd": str(client.project),
            **({"transcriptPath": str(path)} if "transcriptPath" in CAPTURED[name] else {}),
        }
        return handle_client_event("copilot", {**CAPTURED[name], **place, **fields}, name.partition(".")[0]) or {}

    return send


def test_an_unknown_event_passes_and_is_counted(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert handle_client_event("copilot", {"sessionId": "s", "cwd": str(client.project)}, "dreaming") is None
    assert handle_client_event("copilot", {"cwd": str(client.project)}, "preToolUse") is None
    assert unknown_events(client.folder) == {"copilot dreaming": 1, "copilot preToolUse": 1}
