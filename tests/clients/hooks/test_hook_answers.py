from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.hooks import responses


def test_answers_have_the_shapes_of_the_client() -> None:
    assert responses.deny("no") == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "no",
        }
    }
    assert responses.ask("may it?")["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert responses.add_context("SessionStart", "t") == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "t"}
    }
    assert responses.updated_input({"a": 1})["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"a": 1},
    }
    assert responses.updated_output({"b": 2})["hookSpecificOutput"] == {
        "hookEventName": "PostToolUse",
        "updatedToolOutput": {"b": 2},
    }
    assert responses.block("go on") == {"decision": "block", "reason": "go on"}
    assert responses.message("seen") == {"systemMessage": "seen"}


def test_two_answers_become_one_with_both_texts() -> None:
    whole = responses.merge(
        responses.add_context("PreToolUse", "first"),
        None,
        responses.add_context("PreToolUse", "second"),
        responses.updated_input({"a": 1}),
        responses.message("one"),
        responses.message("two"),
    )
    assert whole == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "additionalContext": "first\nsecond",
            "updatedInput": {"a": 1},
        },
        "systemMessage": "one\ntwo",
    }
    assert responses.merge(None, None) is None


def test_a_long_text_is_truncated_with_a_note() -> None:
    answer = responses.message("x" * 30_000)["systemMessage"]
    assert len(answer) < 20_100
    assert answer.endswith("(10000 more characters)")


def test_an_answer_is_one_line_of_json_and_none_is_empty() -> None:
    assert responses.encode(None) == b""
    assert responses.encode(responses.message("a\nb \ud800 é")) == b'{"systemMessage":"a\\nb \\ud800 \\u00e9"}\n'
    with pytest.raises(ValueError, match="JSON"):
        responses.encode(responses.updated_input({"n": float("inf")}))


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_no_answer_can_approve_a_call(text: str, table: dict[str, Any]) -> None:
    made = [
        responses.deny(text),
        responses.ask(text),
        responses.add_context(text, text),
        responses.updated_input(table),
        responses.updated_output(table),
        responses.block(text),
        responses.message(text),
    ]
    for one in [*made, responses.merge(*made)]:
        answer = json.loads(responses.encode(one))
        assert answer.get("decision") in (None, "block")
        assert answer.get("hookSpecificOutput", {}).get("permissionDecision") in (None, "deny", "ask")
