from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hooking import PART, PAYLOADS, Hooks, decision_of, kind_of

from remit.clients.hooks import compiling, tool_calls
from remit.clients.hooks.hook_events import handle_event
from remit.clients.hooks.responses import describe_error
from remit.errors import EnvironmentBroken
from remit.gate import session_store as gate_state
from remit.gate.record_store import open_store, store_path

SECRET = "sk-ant-do-not-keep-0123456789"


def message_of(reply: dict[str, Any] | None) -> str:
    assert reply is not None
    return str(reply["systemMessage"])


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every write of a state fail."""

    def full(session: gate_state.open_session, *_: object) -> None:
        session._store.roll_back()
        raise EnvironmentBroken("cannot use the gate's state gate.sqlite: database or disk is full")

    monkeypatch.setattr(gate_state.open_session, "__exit__", full)


@pytest.mark.usefixtures("unwritable")
def test_a_denial_that_cannot_be_recorded_is_delivered(hooks: Hooks) -> None:
    reply = hooks.call("Edit", {"file_path": "src/app.py"})
    assert reply is not None
    assert decision_of(reply) == "deny"
    assert "remit (edit-code)" in reply["hookSpecificOutput"]["permissionDecisionReason"]
    assert "systemMessage" not in reply  # that would state that the call was allowed


@pytest.mark.usefixtures("unwritable")
def test_a_question_that_cannot_be_recorded_is_asked(hooks: Hooks) -> None:
    reply = hooks.call("Bash", {"command": "remit gate declare edit a --why x"})
    assert decision_of(reply) == "ask"
    assert "disk is full" in message_of(reply)


@pytest.mark.usefixtures("unwritable")
def test_a_call_that_cannot_be_recorded_is_allowed_and_the_user_sees_the_reason(hooks: Hooks) -> None:
    reply = hooks.read("src/f0.py")
    assert kind_of(reply) == "message"
    assert "disk is full" in message_of(reply)
    assert PART in str(hooks.launch())


def test_a_locked_state_does_not_allow_a_denied_call(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        hooks.read(f"src/f{number}.py")
    monkeypatch.setattr(gate_state, "WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(store_path(str(hooks.folder)), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert decision_of(hooks.read("src/f3.py")) == "deny"
        assert decision_of(hooks.call("Edit", {"file_path": "src/app.py"})) == "deny"
        assert "locked" in message_of(hooks.read("src/f0.py"))


def test_a_folder_of_another_user_is_reported(hooks: Hooks, tmp_path: Path) -> None:
    hooks.folder.rename(tmp_path / "elsewhere")
    hooks.folder.symlink_to(tmp_path / "elsewhere")
    assert "link or belongs to another user" in message_of(hooks.read("src/f0.py"))
    assert decision_of(hooks.call("Edit", {"file_path": "src/app.py"})) == "deny"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema":"other"}', b"\xff", b"[" * 100_000])
def test_a_corrupt_compiled_file_is_compiled_again(hooks: Hooks, content: bytes) -> None:
    open_store(str(hooks.folder)).put("settings", "", content)
    assert decision_of(hooks.call("Edit", {"file_path": "src/app.py"})) == "deny"
    assert hooks.compiled["schema"] == "remit.compiled/2"


def broken_compiler(_: Path) -> Path:
    raise EnvironmentBroken("remit.toml cannot be read")


def test_settings_that_cannot_be_compiled_are_reported_and_nothing_is_denied(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "compile_project", broken_compiler)
    hooks.forget_compiled()
    reply = hooks.call("Edit", {"file_path": "src/app.py"})
    assert kind_of(reply) == "message"
    assert "remit.toml cannot be read" in message_of(reply)


def test_earlier_settings_stay_effective_while_new_ones_are_invalid(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "compile_project", broken_compiler)
    hooks.compile({}, stamps=[[str(hooks.project / "remit.toml"), 1, 1]])
    reply = hooks.call("Edit", {"file_path": "src/app.py"})
    assert decision_of(reply) == "deny"
    assert "earlier settings stay effective: remit.toml cannot be read" in message_of(reply)
    assert "earlier settings stay effective" in message_of(hooks.ask("SessionStart", source="startup"))


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "Stop", "SubagentStart"])
def test_an_internal_error_is_shown_and_changes_nothing(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    def fail(*_: object) -> None:
        raise TypeError(SECRET)

    monkeypatch.setattr(tool_calls, "before_tool_call", fail)
    monkeypatch.setattr("remit.clients.hooks.session_events.prompt_submitted", fail)
    monkeypatch.setattr("remit.clients.hooks.main_stop.main_agent_stopping", fail)
    monkeypatch.setattr("remit.clients.hooks.subagents.subagent_started", fail)
    agent = {"agent_id": "a", "agent_type": "code-explorer"} if event == "SubagentStart" else {}
    reply = hooks.ask(event, tool_name="Read", tool_input={}, prompt="p", **agent)
    assert kind_of(reply) == "message"
    assert "TypeError in fail" in message_of(reply)
    assert SECRET not in message_of(reply)


def test_an_error_in_the_gate_is_shown(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("remit.gate.decide.judge_reads", fail)
    reply = hooks.read("src/f0.py")
    assert kind_of(reply) == "message"
    assert "KeyError in fail" in message_of(reply)


@pytest.mark.parametrize("event", ["SubagentStart", "SubagentStop"])
def test_work_of_the_client_itself_is_ignored(hooks: Hooks, event: str) -> None:
    assert hooks.ask(event, agent_id="a1", agent_type="", stop_hook_active=False, last_assistant_message="x") is None
    assert gate_state.list_sessions(str(hooks.folder)) == []


def test_a_missing_project_is_reported(hooks: Hooks, tmp_path: Path) -> None:
    reply = handle_event(hooks.payload("UserPromptSubmit", prompt="p"), project=str(tmp_path / "none"))
    assert "none does not exist" in message_of(reply)
    assert not (tmp_path / "none").exists()


def test_no_content_is_stored_and_all_files_are_private(hooks: Hooks) -> None:
    hooks.ask("UserPromptSubmit", prompt=SECRET)
    hooks.ask("UserPromptSubmit", prompt=f"<task-notification><result>{SECRET}</result>")
    for command in (
        f"export TOKEN={SECRET}; ./deploy.sh",
        f"curl -H 'Authorization: Bearer {SECRET}' http://localhost | sh",
        f"echo {SECRET} > src/app.py",
        f"python -c 'print(\"{SECRET}\")'",
        f"cat src/f0.py | grep {SECRET}",
        f"cat <<EOF > src/f1.py\n{SECRET}\nEOF",
        f"grep -r {SECRET} .",
        f"./{SECRET} && sh -c {SECRET}",
    ):
        hooks.call("Bash", {"command": command, "description": SECRET})
        hooks.ask(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": command},
            tool_response={"stdout": SECRET, "stderr": SECRET},
            tool_use_id=f"toolu_{hooks.calls}",
            duration_ms=20_000,
        )
    hooks.call("Write", {"file_path": "src/app.py", "content": SECRET})
    hooks.call("Edit", {"file_path": "docs/specs/orders.md", "old_string": "The  service", "new_string": SECRET})
    hooks.call("Grep", {"pattern": SECRET, "path": "src"})
    hooks.call("Agent", {"prompt": SECRET, "description": SECRET, "subagent_type": "code-explorer"})
    hooks.ask("Stop", stop_hook_active=False, last_assistant_message=SECRET)
    assert len(hooks.state.decisions) > 5
    stored = Path(store_path(str(hooks.folder))).parent
    for file in (*hooks.folder.rglob("*"), *stored.iterdir()):
        if file.is_file():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert SECRET.encode() not in file.read_bytes()
    assert stat.S_IMODE(hooks.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("file", sorted(PAYLOADS.iterdir()), ids=lambda file: file.name)
def test_recorded_prompts_and_commands_are_not_stored(hooks: Hooks, file: Path) -> None:
    payload = hooks.captured(file.name)
    if payload["hook_event_name"] in ("SubagentStop", "StopFailure") or payload.get("tool_name") == "Agent":
        payload["prompt"] = SECRET
    else:
        for table in (payload, payload.get("tool_input"), payload.get("tool_response")):
            for key in ("prompt", "command", "content", "pattern", "stdout", "last_assistant_message", "error"):
                if isinstance(table, dict) and key in table:
                    table[key] = f"{SECRET} {table[key]}"
    hooks.say(payload)
    for kept in (*hooks.folder.rglob("*"), *Path(store_path(str(hooks.folder))).parent.iterdir()):
        assert kept.is_dir() or SECRET.encode() not in kept.read_bytes()


def test_the_name_of_a_folder_is_shown_as_plain_text() -> None:
    hostile = PermissionError(13, "Permission denied", f"/{'x' * 1000}\x1b[31m/{SECRET}")
    assert describe_error(hostile) == f"Permission denied in /{'x' * 299}"
    assert (
        describe_error(PermissionError(13, "Permission denied", f"/a\x1b[31m\u202e/{SECRET}"))
        == "Permission denied in /a?[31m?"
    )
    assert describe_error(FileNotFoundError(2, "No such file or directory", "name")) == "No such file or directory in ."
