"""Payloads of Codex in the common form, and the answers in the form of Codex, without the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.client_session import GOOD, INVENTED, Client

from remit.clients.codex.translate import EVENTS, reports_in, to_answer, to_events
from remit.clients.hooks.hook_events import unknown_events, unknown_notice
from remit.clients.hooks.payload import NEEDED, missing
from remit.clients.translation import (
    MAX_EVENTS,
    edits_in,
    handle_client_event,
    is_only_patch,
    merge_permissions,
    patches_in,
)

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


def test_a_patch_is_one_edit_for_each_file() -> None:
    first, second = events("PreToolUse.apply_patch")
    assert (first["tool_name"], first["tool_input"]["file_path"]) == ("MultiEdit", "shop/mail.py")
    [hunk] = first["tool_input"]["edits"]
    assert hunk["new_string"] == '"""Mail to customer."""'
    assert (second["tool_name"], second["tool_input"]) == ("Write", {"file_path": "new.txt", "content": "hello\n"})
    assert first["tool_use_id"] != second["tool_use_id"]


def test_a_patch_in_a_command_line_is_an_edit_and_no_command() -> None:
    [event] = events("PreToolUse.Bash.patch")
    assert (event["tool_name"], event["tool_input"]["file_path"]) == ("Write", "new2.txt")


def test_a_command_line_with_a_patch_and_more_is_both() -> None:
    command = f"ls && apply_patch <<'EOF'\n{PATCH}\nEOF\n"
    assert not is_only_patch(command)
    found = events("PreToolUse.Bash", tool_input={"command": command})
    assert [event["tool_name"] for event in found] == ["Bash", "MultiEdit"]


def test_a_command_line_that_only_mentions_patches_stays_a_command() -> None:
    assert patches_in("git format-patch -1; echo '*** Begin Patch'") == []
    [event] = events("PreToolUse.Bash", tool_input={"command": "git apply my.patch"})
    assert event["tool_name"] == "Bash"


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("*** Begin Patch\n*** Delete File: a.py\n*** End Patch", [("Write", "a.py")]),
        (
            "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** End Patch",
            [("MultiEdit", "a.py"), ("Write", "b.py")],
        ),
        ("*** Begin Patch\n*** Update File: a.py\n x\n-y\n*** End Patch", [("MultiEdit", "a.py")]),
        ("*** Begin Patch\n  *** Update File: a.py\n@@\n-y\n*** End Patch", [("MultiEdit", "a.py")]),
        ("*** Begin Patch\n*** Add File: a.md\n+x\n *** Delete File: b.py\n", [("Write", "a.md"), ("Write", "b.py")]),
        ("*** Begin Patch\n*** Update File: a.md\n *** Delete File: b.py\n-y\n", [("MultiEdit", "a.md")]),
        ("*** Begin Patch\n*** Update File:a.py\n*** Move to:b.py\n", [("MultiEdit", "a.py"), ("Write", "b.py")]),
        ("*** Begin Patch", []),
        ("", []),
        ("no patch at all\n+x", []),
    ],
)
def test_every_file_of_a_patch_is_found(patch: str, expected: list[tuple[str, str]]) -> None:
    assert [(tool, given["file_path"]) for tool, given in edits_in(patch)] == expected


def test_the_changes_of_a_moved_file_are_known() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** End Patch"
    assert edits_in(patch)[0][1]["edits"] == [{"old_string": "x", "new_string": "y"}]


def test_an_unfinished_patch_in_a_command_line_is_found() -> None:
    assert patches_in("apply_patch <<EOF\n*** Begin Patch\n*** Add File: x\n+a") == [
        "*** Begin Patch\n*** Add File: x\n+a"
    ]


def test_a_patch_without_files_is_an_unknown_call() -> None:
    [event] = events("PreToolUse.apply_patch", tool_input={"command": "nonsense"})
    assert event["tool_name"] == "apply_patch"


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


def test_tools_that_change_nothing_are_not_recorded() -> None:
    [event] = events("PreToolUse.tool_search")
    assert event["tool_name"] == "ToolSearch"
    [event] = events("PreToolUse.tool_search", tool_name="write_stdin")
    assert event["tool_name"] == "BashOutput"
    [event] = events("PreToolUse.tool_search", tool_name="mcp__files__wait")
    assert event["tool_name"] == "mcp__files__wait"


@pytest.mark.parametrize("response", ["", "[]", "{", '{"status": []}', '{"status": {"a": "pending"}}'])
def test_a_result_without_reports_has_none(response: str) -> None:
    assert reports_in({"tool_response": response}) == {}


def test_a_call_that_a_person_must_permit_is_denied_with_the_way_out() -> None:
    asked = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
    answer = to_answer([asked], {"hook_event_name": "PreToolUse"})
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "remit gate declare" in answer["hookSpecificOutput"]["permissionDecisionReason"]


def test_a_denied_part_denies_the_whole_call_and_keeps_messages() -> None:
    deny = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
    answer = merge_permissions([{"systemMessage": "note"}, deny], "")
    assert answer == {**deny, "systemMessage": "note"}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def send(client: Client, name: str, **fields: Any) -> dict[str, Any] | None:
    payload = {**CAPTURED[name], "cwd": str(client.project), **fields}
    return handle_client_event("codex", payload)


def test_a_patch_with_one_forbidden_file_is_denied_and_grants_nothing(client: Client) -> None:
    patch = "*** Begin Patch\n*** Add File: notes.md\n+x\n*** Update File: app/login.py\n@@\n-a\n+b\n*** End Patch"
    answer = send(client, "PreToolUse.apply_patch", tool_input={"command": patch}, session_id="s")
    assert answer is not None
    assert "edit-code" in answer["hookSpecificOutput"]["permissionDecisionReason"]
    from remit.gate.session_store import read_session

    state = read_session(client.folder, "s")
    assert state is not None
    assert all(entry.end for entry in state.writers)


def test_a_patch_with_too_many_files_is_denied_unless_the_mode_denies_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"*** Add File: docs/{number}.md\n+x" for number in range(MAX_EVENTS)]
    patch = "\n".join(["*** Begin Patch", *lines, "*** Update File: app/login.py", "@@", "-a", "+b", "*** End Patch"])
    answer = send(client, "PreToolUse.apply_patch", tool_input={"command": patch}, session_id="s")
    assert answer is not None
    assert "more than 200 parts" in answer["hookSpecificOutput"]["permissionDecisionReason"]
    monkeypatch.setenv("REMIT_GATE_MODE", "observe")
    assert send(client, "PreToolUse.apply_patch", tool_input={"command": patch}, session_id="o") is None


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


def test_a_bad_report_is_sent_back_once_and_replaced_after_that(client: Client) -> None:
    agent = CAPTURED["SubagentStop"]["agent_id"]
    transcript = rollout(client)
    send(client, "PreToolUse.spawn_agent")
    send(client, "PostToolUse.spawn_agent", tool_response=json.dumps({"agent_id": agent, "nickname": "Bohr"}))
    started = send(client, "SubagentStart", agent_id=agent)
    assert started is not None
    assert "How to answer" in started["hookSpecificOutput"]["additionalContext"]
    stopped = {"agent_transcript_path": transcript, "last_assistant_message": INVENTED}
    first = send(client, "SubagentStop", **stopped, stop_hook_active=False)
    assert first is not None
    assert first["decision"] == "block"
    assert send(client, "SubagentStop", **stopped, stop_hook_active=True) is None
    response = json.dumps({"status": {agent: {"completed": INVENTED}, "other": {"completed": "fine"}}})
    answer = send(client, "PostToolUse.wait_agent", tool_response=response)
    assert answer is not None
    assert answer["decision"] == "block"
    assert "<subagent_notification>" in answer["reason"]
    assert "reference-missing-file" in answer["reason"]
    assert "Agent other:\nfine" in answer["reason"]


def test_a_rejected_report_without_a_wait_is_announced_at_the_next_event(client: Client) -> None:
    agent = CAPTURED["SubagentStop"]["agent_id"]
    send(client, "PreToolUse.spawn_agent")
    send(client, "PostToolUse.spawn_agent", tool_response=json.dumps({"agent_id": agent, "nickname": "Bohr"}))
    for active in (False, True):
        about = {"agent_transcript_path": rollout(client), "last_assistant_message": INVENTED}
        send(client, "SubagentStop", **about, stop_hook_active=active)
    answer = send(client, "PreToolUse.Bash", tool_input={"command": "git status"})
    assert answer is not None
    assert "is not accepted" in answer["hookSpecificOutput"]["additionalContext"]


def test_a_report_that_comes_as_a_message_is_marked_with_the_result_of_the_wait(client: Client) -> None:
    agent = CAPTURED["SubagentStop"]["agent_id"]
    spawned = {"tool_name": "collaborationspawn_agent", "tool_input": {"message": "m", "agent_type": "code-explorer"}}
    send(client, "PreToolUse.spawn_agent", **spawned)
    transcript = rollout(client)
    head = {"session_id": CAPTURED["PostToolUse.spawn_agent"]["session_id"], "id": agent, "agent_path": "/root/trace"}
    named = Path(transcript).with_name(f"rollout-2026-11-18T00-00-00-{agent}.jsonl")
    named.write_text(json.dumps({"type": "session_meta", "payload": head}) + "\n")
    send(
        client,
        "PostToolUse.spawn_agent",
        **spawned,
        transcript_path=transcript,
        tool_response='{"task_name":"/root/trace"}',
    )
    for active in (False, True):
        about = {"agent_transcript_path": transcript, "last_assistant_message": INVENTED}
        send(client, "SubagentStop", **about, stop_hook_active=active)
    waited = {
        "tool_name": "collaborationwait_agent",
        "tool_response": '{"message":"Wait completed.","timed_out":false}',
    }
    answer = send(client, "PostToolUse.wait_agent", **waited)
    assert answer is not None
    assert "decision" not in answer
    assert "(/root/trace) is not accepted" in answer["hookSpecificOutput"]["additionalContext"]
    assert send(client, "PostToolUse.wait_agent", **waited) is None  # once


def test_a_report_that_came_after_the_last_answer_is_marked_with_the_next_prompt(client: Client) -> None:
    agent = CAPTURED["SubagentStop"]["agent_id"]
    send(client, "PreToolUse.spawn_agent")
    send(client, "PostToolUse.spawn_agent", tool_response=json.dumps({"agent_id": agent, "nickname": "Bohr"}))
    for active in (False, True):
        about = {"agent_transcript_path": rollout(client), "last_assistant_message": INVENTED}
        send(client, "SubagentStop", **about, stop_hook_active=active)
    answer = send(client, "UserPromptSubmit", prompt="go on")
    assert answer is not None
    assert "(Bohr) is not accepted" in answer["hookSpecificOutput"]["additionalContext"]


def test_a_good_report_is_accepted_with_the_rollout_as_receipts(client: Client) -> None:
    send(client, "PreToolUse.spawn_agent")
    about = {"agent_transcript_path": rollout(client), "last_assistant_message": GOOD}
    assert send(client, "SubagentStop", **about, stop_hook_active=False) is None


def test_an_unknown_event_passes_and_is_counted(client: Client) -> None:
    assert send(client, "Stop", hook_event_name="Thinking") is None
    assert send(client, "Stop", hook_event_name="Thinking") is None
    assert unknown_events(client.folder) == {"codex Thinking": 2}
    assert "codex Thinking (2)" in unknown_notice(client.folder)


def test_a_payload_without_its_fields_passes_with_a_message_and_is_counted(client: Client) -> None:
    answer = handle_client_event("codex", {"hook_event_name": "PreToolUse", "cwd": str(client.project)})
    assert answer is not None
    assert "could not answer" in answer["systemMessage"]
    assert unknown_events(client.folder) == {"PreToolUse": 1}


def test_an_internal_error_is_shown_and_the_call_passes() -> None:
    answer = handle_client_event("nobody", {"hook_event_name": "PreToolUse"})
    assert answer is not None
    assert "allowed without a check" in answer["systemMessage"]
