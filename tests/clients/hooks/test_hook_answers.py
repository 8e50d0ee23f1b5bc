from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.verify_commands import git

from remit.clients.hooks import main_stop, responses
from remit.clients.hooks.main_stop import contradictions, may_state_claims
from remit.clients.hooks.project import ProjectContext
from remit.evidence.sources import open_workspace
from remit.gate.session import SessionState
from remit.workspace.files import Workspace


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


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a repository with one file, whose last commit has `old_total` and whose work tree has `total`."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "cart.py").write_text("def old_total():\n    return 1\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        git(tmp_path, *arguments)
    (tmp_path / "app" / "cart.py").write_text("def total():\n    return 1\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("The check is `frob_mac()` in `app/cart.py:1`.", ["app/cart.py:1"]),
        ("`frob_mac()` in `app/cart.py` is wrong.", ["app/cart.py"]),
        ("I added `frob_mac()` in `app/cart.py:1`.", ["app/cart.py:1"]),
        ("`total()` in `app/cart.py:1` returns 1.", []),
        ("There is no `frob_mac()` in `app/cart.py`.", []),
        ("I replaced `old_total()` in `app/cart.py:1` by `total()`.", []),
    ],
)
def test_a_name_that_exists_nowhere_is_sent_back(shop: Path, answer: str, wrong: list[str]) -> None:
    found = contradictions(answer, "", cast("Any", None), ProjectContext(str(shop)))
    assert [entry.message.partition(": ")[0] for entry in found] == wrong
    assert may_state_claims(answer, ())
    for entry in found:
        assert entry.message.endswith("`frob_mac` exists nowhere in this checkout")


def test_a_name_is_not_sent_back_if_the_session_made_a_commit(shop: Path) -> None:
    use = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "git commit -am 'Rename it'"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "[main 1234567] Rename it"}
    lines = [
        {"type": "assistant", "cwd": str(shop), "message": {"content": [use]}},
        {"type": "user", "cwd": str(shop), "message": {"content": [result]}},
    ]
    transcript = shop / "session.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    answer = "The name was `older_total()` in `app/cart.py:1`."
    state, context = SessionState(), ProjectContext(str(shop))
    assert contradictions(answer, str(transcript), state, context) == []
    transcript.unlink()
    assert len(contradictions(answer, str(transcript), state, context)) == 1


def test_a_name_that_an_edit_may_have_removed_from_a_new_file_is_not_sent_back(shop: Path) -> None:
    (shop / "app" / "new.py").write_text("def total():\n    return 1\n", encoding="utf-8")
    transcript = shop / "session.jsonl"
    answer = "I replaced `older_total()` in `app/new.py:1` by `total()`."
    for tool, wrong in (("Edit", 0), ("Write", 1)):
        use = {"type": "tool_use", "id": "1", "name": tool, "input": {"file_path": str(shop / "app" / "new.py")}}
        result = {"type": "tool_result", "tool_use_id": "1", "content": "The file was changed."}
        lines = [
            {"type": "assistant", "cwd": str(shop), "message": {"content": [use]}},
            {"type": "user", "cwd": str(shop), "message": {"content": [result]}},
        ]
        transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert len(contradictions(answer, str(transcript), SessionState(), ProjectContext(str(shop)))) == wrong


def test_the_last_commit_is_opened_once_for_all_names_of_an_answer(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def opening(root: str, rev: str) -> Workspace:
        opened.append(root)
        return open_workspace(root, rev)

    monkeypatch.setattr(main_stop, "open_workspace", opening)
    answer = "\n".join(f"- `frob_mac{number}()` in `app/cart.py:1`" for number in range(20))
    assert contradictions(answer, "", cast("Any", None), ProjectContext(str(shop)))
    assert opened == [str(shop)]
