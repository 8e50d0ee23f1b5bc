"""Payloads of the plugin for opencode in the common form, and the answers to it, without the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from remit.clients.setup.own_install import PROMPT
from support.client_session import GOOD, INVENTED, Client

from remit.clients.hooks.hook_events import unknown_events
from remit.clients.opencode.setup import CLIENT
from remit.clients.opencode.translate import EVENTS, to_answer, to_events
from remit.clients.translation import handle_client_event
from remit.gate.session_store import read_session

MAIN = {"sessionID": "ses_main", "rootID": "ses_main", "agent": "", "cwd": "/home/dev/shop"}
SUB = {"sessionID": "ses_sub", "rootID": "ses_main", "agent": "code-explorer", "cwd": "/home/dev/shop"}


def before(tool: str, arguments: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    payload = {**MAIN, "tool": tool, "callID": "c", "args": arguments, **fields}
    found = to_events(payload, "tool.execute.before", "/nowhere")
    assert found is not None
    return found


def test_the_plugin_sends_exactly_the_known_events() -> None:
    sent = {name for name in EVENTS if f'send("{name}"' in CLIENT.hooks_text()}
    assert sent == set(EVENTS)


def test_the_plugin_starts_this_installation_and_no_shell() -> None:
    [line] = [line for line in CLIENT.hooks_text().splitlines() if line.startswith("const COMMAND")]
    command = json.loads(line.removeprefix("const COMMAND = "))
    assert command[1:3] == ["-I", "-S"]
    assert command[-3:] == ["EVENT", "--client", "opencode"]


@pytest.mark.parametrize(
    ("tool", "arguments", "name", "expected"),
    [
        ("bash", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("read", {"filePath": "/a", "offset": 2, "limit": 3}, "Read", {"file_path": "/a", "offset": 2, "limit": 3}),
        ("write", {"filePath": "/a", "content": "x"}, "Write", {"file_path": "/a", "content": "x"}),
        (
            "edit",
            {"filePath": "/a", "oldString": "x", "newString": "y"},
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
        ),
        (
            "multiedit",
            {"filePath": "/a", "edits": [{"oldString": "x", "newString": "y"}, 3]},
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
        ),
        ("grep", {"pattern": "x", "include": "*.py"}, "Grep", {"pattern": "x", "glob": "*.py"}),
        ("todowrite", {}, "ToolSearch", {}),
        ("github_push", {}, "github_push", {}),
    ],
)
def test_tools_have_the_names_and_fields_of_the_common_form(
    tool: str, arguments: dict[str, Any], name: str, expected: dict[str, Any]
) -> None:
    [event] = before(tool, arguments)
    assert (event["tool_name"], event["tool_input"]) == (name, expected)
    assert event["hook_event_name"] == "PreToolUse"


def test_a_command_in_another_folder_has_that_folder() -> None:
    [event] = before("bash", {"command": "ls", "workdir": "shop"})
    assert event["cwd"] == "/home/dev/shop/shop"


def test_a_patch_is_one_edit_for_each_file() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"
    assert [one["tool_input"]["file_path"] for one in before("apply_patch", {"patchText": patch})] == ["a.py", "b.py"]
    [unknown] = before("patch", {})
    assert unknown["tool_name"] == "apply_patch"


def test_a_call_of_a_subagent_belongs_to_the_session_of_the_user() -> None:
    [event] = before("bash", {"command": "ls"}, **SUB)
    assert (event["session_id"], event["agent_id"], event["agent_type"]) == ("ses_main", "ses_sub", "code-explorer")
    assert to_events({**SUB, "prompt": "trace"}, "chat.message", "/nowhere") == []


def test_answers_are_what_the_plugin_does() -> None:
    ask = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
    denied = to_answer([ask], {})
    assert denied is not None
    assert "remit gate declare" in denied["deny"]
    assert to_answer([{"decision": "block", "reason": "again"}], {}) == {"block": "again"}
    assert to_answer([{"systemMessage": "note"}], {}) == {"message": "note"}
    assert to_answer([{"hookSpecificOutput": {"additionalContext": "x"}}], {}) == {"context": "x"}
    assert to_answer([None], {}) is None


def send(client: Client, event: str, **fields: Any) -> dict[str, Any]:
    return handle_client_event("opencode", {**MAIN, "cwd": str(client.project), **fields}, event) or {}


def messages(client: Client) -> list[dict[str, Any]]:
    """Return the messages of a subagent that has read the files that the report cites."""
    parts = []
    for file in ("app/login.py", "app/session.py", "app/store.py"):
        path = client.project / file
        shown = {"display": {"lineStart": 1, "lineEnd": len(path.read_text().splitlines())}}
        state = {"status": "completed", "input": {"filePath": str(path)}, "output": "text", "metadata": shown}
        parts.append({"type": "tool", "tool": "read", "state": state})
    return [{"info": {"role": "assistant", "path": {"cwd": str(client.project)}}, "parts": parts}]


LAUNCH = {"description": "look", "prompt": "Look at the login", "subagent_type": "code-explorer"}


def test_a_bad_report_is_sent_back_once_and_replaced_after_that(tmp_path: Path) -> None:
    client = Client(tmp_path)
    launched = send(client, "tool.execute.before", tool="task", callID="c", args=LAUNCH)
    assert "# How to answer" in launched["args"]["prompt"]
    about = {"callID": "c", "child": "ses_sub", "args": LAUNCH, "report": INVENTED}
    first = send(client, "task.report", **about, again=False, messages=messages(client))
    assert "app/nowhere.py" in first["block"]
    assert send(client, "task.report", **about, again=True, messages=messages(client)) == {}
    assert "reference-missing-file" in send(client, "task.delivered", **about)["output"]
    assert list((client.project / ".remit/gate/transcripts").iterdir()) == []


def test_a_good_report_is_accepted_with_the_messages_as_receipts(tmp_path: Path) -> None:
    client = Client(tmp_path)
    send(client, "tool.execute.before", tool="task", callID="c", args=LAUNCH)
    about = {"callID": "c", "child": "ses_sub", "args": LAUNCH, "report": GOOD}
    assert send(client, "task.report", **about, again=False, messages=messages(client)) == {}
    assert send(client, "task.delivered", **about) == {}


def test_a_false_answer_is_sent_back_once_for_each_prompt(tmp_path: Path) -> None:
    client = Client(tmp_path)
    send(client, "chat.message", prompt="please look")
    about = {"answer": "See `app/nowhere.py:14`.", "messages": messages(client)}
    assert "final-claims" in send(client, "session.idle", **about)["block"]
    repeated = send(client, "session.idle", **about)
    assert repeated.keys() == {"message"}
    assert '"See `app/nowhere.py:14`." (app/nowhere.py:14: there is no such file' in repeated["message"]


def test_an_edit_of_code_is_denied_and_prose_is_not(tmp_path: Path) -> None:
    client = Client(tmp_path)
    edit = {"filePath": str(client.project / "app/login.py"), "oldString": "a", "newString": "b"}
    assert "edit-code" in send(client, "tool.execute.before", tool="edit", callID="c", args=edit)["deny"]
    # The client ignores an argument that it does not know.
    assert (
        "edit-code"
        in send(client, "tool.execute.before", tool="edit", callID="e", args={**edit, "file_path": "notes.md"})["deny"]
    )
    prose = {"filePath": str(client.project / "notes.md"), "content": "x"}
    assert "deny" not in send(client, "tool.execute.before", tool="write", callID="d", args=prose)


@pytest.mark.parametrize(("event", "fields"), [("dreaming", {}), ("session.idle", {"rootID": ""})])
def test_an_unknown_payload_passes_and_is_counted(tmp_path: Path, event: str, fields: dict[str, Any]) -> None:
    client = Client(tmp_path)
    assert send(client, event, **fields) == {}
    assert unknown_events(client.folder) == {f"opencode {event}": 1}


def test_a_call_without_a_tool_passes_with_a_message(tmp_path: Path) -> None:
    answer = send(Client(tmp_path), "tool.execute.before")
    assert "could not answer" in answer["message"]


def test_the_state_is_summarised_when_the_conversation_is_compacted(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert send(client, "session.compacting") == {}  # nothing is recorded yet
    send(client, "chat.message", prompt="please look")
    assert "Remit's gate controls this session" in send(client, "session.compacting")["context"]
    assert send(client, "session.compacting", agent="code-explorer", sessionID="ses_sub") == {}


def test_a_prompt_of_remit_itself_is_not_recorded(tmp_path: Path) -> None:
    client = Client(tmp_path)
    send(client, "chat.message", prompt=PROMPT)
    assert read_session(client.folder, MAIN["rootID"]) is None
