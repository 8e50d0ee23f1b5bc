from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hooking import PAYLOADS, Hooks, decision_of, kind_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.clients.hooks.hook_events import HANDLERS
from remit.clients.hooks.payload import (
    MAX_BYTES,
    NEEDED,
    RELIED_ON,
    Unreadable,
    flag,
    missing,
    parse,
    read,
    seconds,
    table,
    text,
)

#: The recorded payloads that get an answer in a new project; all others get none.
EXPECTED = {
    "PreToolUse.Agent.json": "updatedInput",
    "PreToolUse.Write.json": "deny",
    "PostToolUse.Agent.completed.json": "updatedToolOutput",
    "PostToolUseFailure.Agent.json": "additionalContext",
    "SubagentStart.json": "additionalContext",
    "SubagentStop.json": "block",
    "SubagentStop.teammate.json": "block",
}
NAMES = sorted(file.name for file in PAYLOADS.iterdir())


def test_every_handled_event_has_recorded_payloads() -> None:
    events = {name.partition(".")[0] for name in NAMES}
    assert {name.partition(" ")[0] for name in HANDLERS} <= events
    assert set(EXPECTED) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_payload_gets_the_expected_answer(hooks: Hooks, name: str) -> None:
    assert kind_of(hooks.say(hooks.captured(name))) == EXPECTED.get(name, "nothing")


@pytest.mark.parametrize("name", NAMES)
def test_recorded_payloads_have_every_field_that_answers_use(hooks: Hooks, name: str) -> None:
    payload = hooks.captured(name)
    assert missing(payload["hook_event_name"], payload) == []


@pytest.mark.parametrize("name", NAMES)
def test_unknown_keys_change_no_answer(hooks: Hooks, name: str) -> None:
    payload = hooks.captured(name) | {"new_key": {"deep": [1, None]}, "another": "x" * 1000}
    assert kind_of(hooks.say(payload)) == EXPECTED.get(name, "nothing")


def fields_of(name: str) -> list[str]:
    return list(json.loads((PAYLOADS / name).read_text()))


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name in NAMES if name.partition(".")[0] in RELIED_ON for key in fields_of(name)],
)
def test_a_payload_without_one_of_its_keys_is_still_answered(hooks: Hooks, name: str, key: str) -> None:
    payload = hooks.captured(name)
    event = payload["hook_event_name"]
    del payload[key]
    reply = hooks.say(payload, event=event)
    # A delegation that returned no response has no report.
    empty = ("updatedToolOutput",) if key == "tool_response" else ()
    assert kind_of(reply) in ("nothing", "message", EXPECTED.get(name, "nothing"), *empty)
    # An empty message of an agent outside the contract claims nothing.
    is_silent = key == "last_assistant_message" and name == "SubagentStop.teammate.json"
    if key not in RELIED_ON[event] and key != "agent_id" and not is_silent:
        assert kind_of(reply) == EXPECTED.get(name, "nothing")
    if key in NEEDED.get(event, ()) and payload.get("agent_type") != "" and "in_subagent" not in name:
        assert reply is not None
        assert f"lacks {key}" in reply["systemMessage"]


def test_an_answer_names_the_missing_field(start: Callable[..., Hooks]) -> None:
    reply = start().ask("PreToolUse", tool_input={"file_path": "a"})
    assert reply is not None
    assert "lacks tool_name" in reply["systemMessage"]


def test_missing_names_fields_that_are_absent_or_of_another_type() -> None:
    assert missing("PreToolUse", {"session_id": "s", "cwd": 1, "tool_name": "Read", "tool_input": []}) == [
        "cwd",
        "tool_input",
        "tool_use_id",
    ]
    assert missing("PreToolUse", None) == list(RELIED_ON["PreToolUse"])
    assert missing("Nothing", {}) == []


def test_a_field_of_ten_megabytes_is_handled(hooks: Hooks) -> None:
    large = "x" * 10_000_000
    assert decision_of(hooks.call("Write", {"file_path": "src/app.py", "content": large})) == "deny"
    assert decision_of(hooks.call("Bash", {"command": f"echo {large} > src/app.py"})) in ("deny", None)
    reply = hooks.call("Agent", {"subagent_type": "code-explorer", "prompt": large, "description": ""})
    assert kind_of(reply) == "updatedInput"
    assert hooks.ask("UserPromptSubmit", prompt=large) is None
    for key in ("session_id", "cwd", "tool_use_id", "agent_id", "agent_type", "hook_event_name", "tool_name"):
        payload = hooks.payload("PreToolUse", tool_name="Read", tool_input={"file_path": "a"}) | {key: large}
        reply = hooks.say(payload, event="PreToolUse")
        assert len(json.dumps(reply)) < 50_000
    assert sum(file.stat().st_size for file in hooks.folder.iterdir()) < 100_000


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b'{"a": ', "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b'{"a": "\xff\xfe"}', "not UTF-8"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"NaN", "not a JSON object"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not JSON"),
    ],
)
def test_an_invalid_payload_is_reported_without_its_content(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        parse(data)


def test_constants_that_json_lacks_are_read_as_null() -> None:
    assert parse(b'{"a": NaN, "b": -Infinity, "c": "NaN"}') == {"a": None, "b": None, "c": "NaN"}


def test_no_more_bytes_are_read_than_the_limit(tmp_path: Any) -> None:
    file = tmp_path / "payload"
    file.write_bytes(b"x" * 3_000_000)
    with file.open("rb") as stream, pytest.raises(Unreadable, match="more than 2000000"):
        read(stream.fileno(), 2_000_000)
    with file.open("rb") as stream:
        assert len(read(stream.fileno(), MAX_BYTES)) == 3_000_000


def test_fields_of_another_type_are_empty() -> None:
    payload = {"a": 1, "b": "x", "c": {"d": 1}, "yes": True, "one": 1, "ms": 1500, "nan": float("nan")}
    assert (text(payload, "a"), text(payload, "b"), text(None, "a")) == ("", "x", "")
    assert (table(payload, "c"), table(payload, "b")) == ({"d": 1}, {})
    assert (flag(payload, "yes"), flag(payload, "one")) == (True, False)
    assert (seconds(payload, "ms"), seconds(payload, "nan"), seconds(payload, "yes")) == (1.5, None, None)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
LIGHT = [name for name in NAMES if "SubagentStop" not in name and "SessionStart" not in name]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=4 * settings.default.max_examples)
@given(data=st.data())
def test_a_field_of_any_type_is_answered_and_never_approves(hooks: Hooks, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(LIGHT))
    payload = hooks.captured(name)
    for key in data.draw(st.lists(st.sampled_from(list(payload)), min_size=1, max_size=3)):
        payload[key] = data.draw(ANYTHING)
    if data.draw(st.booleans()) and isinstance(payload.get("tool_input"), dict):
        for key in list(payload["tool_input"]):
            payload["tool_input"][key] = data.draw(ANYTHING)
    reply = hooks.say(payload, event=name.partition(".")[0])
    assert decision_of(reply) in (None, "deny", "ask")
    assert (reply or {}).get("decision") in (None, "block")
    assert "could not answer" not in str((reply or {}).get("systemMessage")) or "lacks" in str(reply)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=ANYTHING, event=st.sampled_from([*RELIED_ON, "", "Other"]))
def test_any_input_is_answered_and_never_approved(hooks: Hooks, payload: object, event: str) -> None:
    reply = hooks.say(payload, event=event)
    assert decision_of(reply) is None
    assert (reply or {}).get("decision") is None
