"""Failing slash commands in a session of the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from real_client import SPEC, Stage, under_contract
from scripts import says

_CONVERSATIONS = {
    "good-morning": [
        says("Good morning."),
        says("There is no report."),
        says("Nothing was declared."),
    ]
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("commands"), _CONVERSATIONS) as stage:
        with stage.talk() as talk:
            talk.say("good-morning")
            for typed in ("/remit:report", f"/remit:declare edit {SPEC}"):
                assert talk.say(typed)["subtype"] == "success"
        yield stage


def test_a_failing_command_prints_the_reason_in_a_sentence(stage: Stage) -> None:
    answer = json.dumps(stage.asked("good-morning")[-1]["messages"])
    assert "no checked report of a subagent yet" in answer
    assert "remit: Missing option '--why'" in answer
    assert "Shell command failed" not in answer


def test_a_command_uses_the_session_in_which_it_is_typed(stage: Stage) -> None:
    session = json.loads(stage.remit("gate", "status", "--format", "json"))["session"]
    assert f"session {session} has no checked report of a subagent" in json.dumps(
        stage.asked("good-morning")[-1]["messages"]
    )
