from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.hooks import responses
from remit.clients.hooks.main_stop import contradictions
from remit.clients.hooks.project import ProjectContext


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


def test_each_wrong_reference_of_a_line_has_its_own_reason(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 5, encoding="utf-8")
    found = contradictions("I fixed a.py:99 and b.py:3.", "", cast("Any", None), ProjectContext(str(tmp_path)))
    assert [one.message for one in found] == ["a.py:99: the file has 5 lines", "b.py:3: no file has this name"]
    assert {one.sentence for one in found} == {"I fixed a.py:99 and b.py:3."}


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("The bug is in `app/removed_orders.py:4`.", ["app/removed_orders.py:4"]),
        ("See `app/invented.py:4` and `app/plan.py:7`.", ["app/invented.py:4", "app/plan.py:7"]),
        ("There is no `app/invented.py:4`.", []),
    ],
)
def test_the_name_of_a_file_does_not_deny_it(tmp_path: Path, answer: str, wrong: list[str]) -> None:
    (tmp_path / "app").mkdir()
    found = contradictions(answer, "", cast("Any", None), ProjectContext(str(tmp_path)))
    assert [entry.message.rpartition(": ")[0] for entry in found] == wrong
