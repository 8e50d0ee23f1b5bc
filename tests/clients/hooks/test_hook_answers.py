from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.claude_code import answers


def test_the_shapes_are_those_of_the_client() -> None:
    assert answers.deny("no") == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "no",
        }
    }
    assert answers.ask("may it?")["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert answers.context("SessionStart", "t") == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "t"}
    }
    assert answers.updated_input({"a": 1})["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"a": 1},
    }
    assert answers.updated_output({"b": 2})["hookSpecificOutput"] == {
        "hookEventName": "PostToolUse",
        "updatedToolOutput": {"b": 2},
    }
    assert answers.block("go on") == {"decision": "block", "reason": "go on"}
    assert answers.message("seen") == {"systemMessage": "seen"}


def test_two_answers_become_one_with_both_texts() -> None:
    whole = answers.merged(
        answers.context("PreToolUse", "first"),
        None,
        answers.context("PreToolUse", "second"),
        answers.updated_input({"a": 1}),
        answers.message("one"),
        answers.message("two"),
    )
    assert whole == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "additionalContext": "first\nsecond",
            "updatedInput": {"a": 1},
        },
        "systemMessage": "one\ntwo",
    }
    assert answers.merged(None, None) is None


def test_a_long_text_is_cut_and_says_so() -> None:
    said = answers.message("x" * 30_000)["systemMessage"]
    assert len(said) < 20_100
    assert said.endswith("(10000 more characters)")


def test_an_answer_is_one_line_of_json_and_nothing_is_nothing() -> None:
    assert answers.encode(None) == b""
    assert answers.encode(answers.message("a\nb \ud800 é")) == b'{"systemMessage":"a\\nb \\ud800 \\u00e9"}\n'
    with pytest.raises(ValueError, match="JSON"):
        answers.encode(answers.updated_input({"n": float("inf")}))


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_no_answer_can_approve_a_call(text: str, table: dict[str, Any]) -> None:
    made = [
        answers.deny(text),
        answers.ask(text),
        answers.context(text, text),
        answers.updated_input(table),
        answers.updated_output(table),
        answers.block(text),
        answers.message(text),
    ]
    for one in [*made, answers.merged(*made)]:
        said = json.loads(answers.encode(one))
        assert said.get("decision") in (None, "block")
        assert said.get("hookSpecificOutput", {}).get("permissionDecision") in (None, "deny", "ask")
