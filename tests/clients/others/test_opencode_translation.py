"""Payloads of the plugin for opencode in the common form, and the answers to it, without the client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.client_session import GOOD, Client

from remit.clients.hooks.hook_events import unknown_events
from remit.clients.opencode.setup import CLIENT
from remit.clients.opencode.translate import EVENTS
from remit.clients.translation import OWN_PROMPTS, handle_client_event
from remit.gate.session_store import read_session

MAIN = {"sessionID": "ses_main", "rootID": "ses_main", "agent": "", "cwd": "/home/dev/shop"}
SUB = {"sessionID": "ses_sub", "rootID": "ses_main", "agent": "code-explorer", "cwd": "/home/dev/shop"}


def test_the_plugin_sends_exactly_the_known_events() -> None:
    sent = {name for name in EVENTS if f'send("{name}"' in CLIENT.hooks_text()}
    assert sent == set(EVENTS)


def test_the_plugin_starts_this_installation_and_no_shell() -> None:
    [line] = [line for line in CLIENT.hooks_text().splitlines() if line.startswith("const COMMAND")]
    command = json.loads(line.removeprefix("const COMMAND = "))
    assert command[1:3] == ["-I", "-S"]
    assert command[-3:] == ["EVENT", "--client", "opencode"]


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


@pytest.mark.parametrize(("event", "fields"), [("dreaming", {}), ("session.idle", {"rootID": ""})])
def test_an_unknown_payload_passes_and_is_counted(tmp_path: Path, event: str, fields: dict[str, Any]) -> None:
    client = Client(tmp_path)
    assert send(client, event, **fields) == {}
    assert unknown_events(client.folder) == {f"opencode {event}": 1}


def test_a_prompt_of_remit_itself_is_not_recorded(tmp_path: Path) -> None:
    client = Client(tmp_path)
    send(client, "chat.message", prompt=OWN_PROMPTS[1])
    assert read_session(client.folder, MAIN["rootID"]) is None
