"""Payloads of Copilot CLI in the common form, and the answers in its form, without the client."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.client_session import INVENTED, Client

from remit.clients.copilot.translate import EVENTS, last_answer, to_answer, to_events
from remit.clients.hooks.hook_events import unknown_events
from remit.clients.hooks.payload import NEEDED, missing
from remit.clients.translation import handle_client_event
from remit.gate.declarations import declare
from remit.gate.session_store import open_session

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


@pytest.mark.parametrize(
    ("name", "tool", "field", "value"),
    [
        ("preToolUse.bash", "Bash", "command", "echo denyme"),
        ("preToolUse.view.subagent", "Read", "limit", 5),
        ("preToolUse.edit", "Edit", "new_string", "Mail to customer"),
        ("preToolUse.create", "Write", "content", "hi\n"),
        ("preToolUse.grep", "Grep", "pattern", "def place"),
        ("preToolUse.task", "Agent", "subagent_type", "code-explorer"),
    ],
)
def test_tools_have_the_names_and_fields_of_the_common_form(name: str, tool: str, field: str, value: object) -> None:
    [event] = events(name)
    assert (event["tool_name"], event["tool_input"][field]) == (tool, value)


@pytest.mark.parametrize("tool", ["bash", "view", "edit", "task"])
def test_the_events_before_and_after_a_call_have_one_id(tool: str) -> None:
    before, after = CAPTURED[f"preToolUse.{tool}"], CAPTURED[f"postToolUse.{tool}"]
    arguments = {**before["toolArgs"], **({"prompt": "changed", "mode": "sync"} if tool == "task" else {})}
    [first] = events(f"preToolUse.{tool}")
    [second] = events(f"postToolUse.{tool}", toolArgs=arguments, toolResult=after["toolResult"])
    assert first["tool_use_id"] == second["tool_use_id"]
    [other] = events(f"preToolUse.{tool}", toolArgs={"command": "other"})
    assert other["tool_use_id"] != first["tool_use_id"]


def test_turns_and_tasks_of_subagents_and_own_corrections_are_not_events() -> None:
    assert events("agentStop.subagent") == []
    assert events("userPromptSubmitted.subagent") == []
    assert events("userPromptSubmitted", prompt="remit (final-claims): wrong") == []
    assert len(events("userPromptSubmitted")) == 1


def test_the_transcript_of_a_subagent_is_its_part_of_the_file() -> None:
    [event] = events("subagentStop")
    assert event["agent_transcript_path"].endswith(f"events.jsonl#agent={AGENT}")
    assert event["last_assistant_message"] == "My report replaceme."


def test_a_search_in_several_folders_is_several_searches() -> None:
    found = events("preToolUse.grep", toolArgs={"pattern": "x", "paths": ["/a", "/b", 3]})
    assert [event["tool_input"]["path"] for event in found] == ["/a", "/b"]
    [one] = events("preToolUse.grep", toolArgs={"pattern": "x", "paths": "/a"})
    assert one["tool_input"]["path"] == "/a"


@pytest.mark.parametrize("wrap", [lambda patch: patch, lambda patch: {"input": patch}])
def test_a_patch_is_one_edit_for_each_file(wrap: Any) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.md\n+z\n*** End Patch"
    found = events("preToolUse.edit", toolName="apply_patch", toolArgs=wrap(patch))
    assert [(one["tool_name"], one["tool_input"]["file_path"]) for one in found] == [
        ("MultiEdit", "a.py"),
        ("Write", "b.md"),
    ]
    more = {"explanation": "*** Begin Patch\n*** Add File: c.md\n+z\n*** End Patch", "input": patch}
    found = events("preToolUse.edit", toolName="apply_patch", toolArgs=more)
    assert [event["tool_input"]["file_path"] for event in found] == ["c.md", "a.py", "b.md"]
    [unknown] = events("preToolUse.edit", toolName="apply_patch", toolArgs="nonsense")
    assert unknown["tool_name"] == "apply_patch"


def test_arguments_may_be_text() -> None:
    [event] = events("preToolUse.bash", toolArgs='{"command": "ls"}')
    assert event["tool_input"] == {"command": "ls"}
    [event] = events("preToolUse.bash", toolArgs='{"command"')
    assert event["tool_input"] == {}


@pytest.mark.parametrize(
    ("tool", "name"), [("read_bash", "BashOutput"), ("skill", "ToolSearch"), ("github-mcp-push", "github-mcp-push")]
)
def test_other_tools(tool: str, name: str) -> None:
    [event] = events("preToolUse.bash", toolName=tool)
    assert event["tool_name"] == name


def test_a_background_launch_of_another_agent_is_a_teammate() -> None:
    [event] = events("postToolUse.task", toolArgs={"agent_type": "explore", "mode": "background", "name": "bo"})
    assert event["tool_response"]["status"] == "teammate_spawned"


def test_answers_have_one_level() -> None:
    deny = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
    assert to_answer([{"hookSpecificOutput": {"hookEventName": "PreToolUse", **deny}}, None], {}) == deny
    assert to_answer([None], {}) is None
    assert to_answer([{"systemMessage": "note"}], {}) == {"systemMessage": "note"}
    assert to_answer([{"decision": "block", "reason": "again"}], {}) == {"decision": "block", "reason": "again"}


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


def test_an_equal_call_is_decided_again_and_an_event_that_arrives_twice_only_once(tmp_path: Path) -> None:
    client = Client(tmp_path)
    send = sender(client)
    arguments = {"path": str(client.project / "app/login.py")}
    with open_session(client.folder, MAIN) as state:
        state.analysed["app/login.py"] = "code-explorer"
    for _ in range(2):
        answer = send("preToolUse.view", toolArgs=arguments, timestamp=1767268800000)
        assert "reread-analysed" in answer["permissionDecisionReason"]
    with open_session(client.folder, MAIN) as state:
        assert len(state.decisions) == 1
        project = str(client.project)
        declare(state, "verify", ["app/login.py"], "asked", cwd=project, project=project)
    # The model tries it again at once, as the user wants.
    assert send("preToolUse.view", toolArgs=arguments, timestamp=1767268800001) == {}


def test_the_model_gets_the_state_with_its_next_allowed_call_after_a_compaction(tmp_path: Path) -> None:
    client = Client(tmp_path)
    send = sender(client)
    denied = {"path": str(client.project / "app/login.py"), "old_str": "def ", "new_str": "async def "}
    allowed = {"path": str(client.project / "app/login.py")}
    assert send("preToolUse.view", toolArgs=allowed, timestamp=1) == {}
    assert send("preCompact") == {}
    assert "additionalContext" not in send("preToolUse.edit", toolArgs=denied, timestamp=2)
    subagent = send("preToolUse.view.subagent", toolArgs=allowed, timestamp=3)
    assert "additionalContext" not in subagent
    told = send("preToolUse.view", toolArgs=allowed, timestamp=4)["additionalContext"]
    assert told.startswith("Remit's gate controls this session (mode standard).")
    assert send("preToolUse.view", toolArgs=allowed, timestamp=5) == {}  # once


@pytest.mark.parametrize("gate", ["", '[gate]\nmode = "observe"\n'])
def test_the_model_does_not_get_the_state_twice_or_in_observe_mode(tmp_path: Path, gate: str) -> None:
    client = Client(tmp_path, gate)
    send = sender(client)
    assert send("preCompact") == {}
    assert ("additionalContext" in send("sessionStart", source="resume")) == (not gate)
    assert send("preToolUse.view", toolArgs={"path": str(client.project / "app/login.py")}) == {}


def test_a_bad_report_is_sent_back_once_and_replaced_after_that(tmp_path: Path) -> None:
    send = sender(Client(tmp_path))
    launched = send("preToolUse.task", toolArgs={**CAPTURED["preToolUse.task"]["toolArgs"], "mode": "background"})
    assert "# How to answer" in launched["modifiedArgs"]["prompt"]
    assert launched["modifiedArgs"]["mode"] == "sync"
    assert send("subagentStart") == {}  # it has the instructions already
    assert send("subagentStop", response=INVENTED, stop_hook_active=False)["decision"] == "block"
    assert send("subagentStop", response=INVENTED, stop_hook_active=True) == {}
    answer = send("postToolUse.task", toolResult={"resultType": "success", "textResultForLlm": INVENTED})
    assert "reference-missing-file" in answer["modifiedResult"]["textResultForLlm"]


def test_an_unknown_event_passes_and_is_counted(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert handle_client_event("copilot", {"sessionId": "s", "cwd": str(client.project)}, "dreaming") is None
    assert handle_client_event("copilot", {"cwd": str(client.project)}, "preToolUse") is None
    assert unknown_events(client.folder) == {"copilot dreaming": 1, "copilot preToolUse": 1}


def test_a_call_without_a_tool_passes_with_a_message(tmp_path: Path) -> None:
    client = Client(tmp_path)
    answer = handle_client_event("copilot", {"sessionId": "s", "cwd": str(client.project)}, "preToolUse")
    assert answer is not None
    assert "could not answer" in answer["systemMessage"]
