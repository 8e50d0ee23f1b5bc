"""A session of the real client in the mode `verify`: no call is denied, and what is not true is sent back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_client import Stage, text_of, under_contract
from scripts import INVENTED, call, delegate, does, says

_LIE = "The security-auditor confirmed it."
_FILES = ("shop/orders.py", "shop/cart.py", "shop/auth.py", "README.md")
_AGENT = "---\nname: mine\ndescription: d\n---\nHelp.\n"

_CONVERSATIONS = {
    "code-as-usual": [
        *(does(call(f"read{number}", "Read", file_path=name)) for number, name in enumerate(_FILES)),
        does(call("grep", "Grep", pattern="def ", path="shop")),
        does(
            call(
                "edit",
                "Edit",
                file_path="shop/cart.py",
                old_string="import sqlite3",
                new_string="import sqlite3 as sql",
            )
        ),
        does(call("bash", "Bash", command="sed -i s/cart/card/ README.md; git status --short", description="d")),
        does(call("own", "Write", file_path=".claude/commands/mine.md", content=_AGENT)),
        does(delegate("prose", "general-purpose", "look-around")),
        says(_LIE),
        says(_LIE),
    ],
    "look-around": [
        does(call("one", "Read", file_path="shop/orders.py")),
        says(f"The refund is at {INVENTED}."),
        says("There is no refund."),
    ],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("verify"), _CONVERSATIONS, mode="verify") as stage:
        with stage.talk() as talk:
            talk.say("code-as-usual")
        yield stage


def test_no_call_is_denied(stage: Stage) -> None:
    results = stage.results("code-as-usual")
    assert len(results) == 9
    assert "has been updated" in results["toolu_edit"], results["toolu_edit"]
    assert "remit (" not in "".join(results.values())


def test_a_false_report_is_sent_back_and_the_subagent_gets_no_form(stage: Stage) -> None:
    asked = stage.asked("look-around")
    assert len(asked) == 3
    assert "How to answer" not in text_of(asked[0]["messages"][0]["content"])
    assert INVENTED in text_of(asked[2]["messages"][-1]["content"])


def test_a_false_answer_is_sent_back_once_and_counted(stage: Stage) -> None:
    asked = stage.asked("code-as-usual")
    assert "security-auditor was not asked" in str(asked[-1]["messages"])
    shown = stage.remit("gate", "status", "--since", "1d")
    assert shown.startswith("1 untrue statement was stopped, 1 got through")


@pytest.mark.usefixtures("client")
def test_twenty_ordinary_calls_start_no_process(tmp_path: Path) -> None:
    reads = [
        does(call(f"read{number}", "Read", file_path=_FILES[number % 4], offset=number + 1)) for number in range(10)
    ]
    runs = [does(call(f"run{number}", "Bash", command=f"echo {number}", description="d")) for number in range(10)]
    with under_contract(tmp_path, {"twenty-calls": [*reads, *runs, says("Done.")]}, mode="verify") as stage:
        settings, log, program = stage.project / ".claude/settings.local.json", tmp_path / "events", tmp_path / "hook"
        program.write_text(f'#!/bin/sh\necho "$4" >> {log}\nexec {sys.executable} "$@"\n')
        program.chmod(0o755)
        written = settings.read_text()
        assert json.dumps(sys.executable) in written
        settings.write_text(written.replace(json.dumps(sys.executable), json.dumps(str(program))))
        with stage.talk() as talk:
            talk.say("twenty-calls")
        assert len(stage.results("twenty-calls")) == 20
        events = log.read_text().split()
    assert {"SessionStart", "UserPromptSubmit", "Stop"} <= set(events)
    assert not [event for event in events if "ToolUse" in event]
