"""The skill and the slash commands in a session of the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from real_client import ALLOWED, SPEC, Stage, under_contract
from scripts import call, does, says

_CONVERSATIONS = {
    "use-the-skill": [
        does(call("skill", "Skill", skill="remit")),
        says("Read."),
        says("There is no report."),
        says("Nothing was declared."),
        says("All is quiet."),
    ]
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("commands"), _CONVERSATIONS) as stage:
        with stage.talk("--model", "opus", "--allowedTools", f"{ALLOWED},Skill") as talk:
            talk.say("use-the-skill")
            for typed in ("/remit:report", f"/remit:declare edit {SPEC}", "/remit:status"):
                assert talk.say(typed)["subtype"] == "success"
        yield stage


def test_the_skill_leaves_everybody_with_their_own_model(stage: Stage) -> None:
    requests = stage.asked("use-the-skill")
    assert "Working under contract" in json.dumps(requests[1]["messages"])
    assert len({body["model"] for body in requests}) == 1
    assert "opus" in requests[0]["model"]


def test_a_command_that_cannot_be_done_says_why_in_a_sentence(stage: Stage) -> None:
    said = json.dumps(stage.asked("use-the-skill")[-1]["messages"])
    assert "no subagent under contract has reported yet" in said
    assert "remit: Missing option '--why'" in said
    assert "Shell command failed" not in said


def test_a_command_is_about_the_session_that_it_is_typed_in(stage: Stage) -> None:
    session = json.loads(stage.remit("gate", "status", "--format", "json"))["session"]
    assert f"in session {session} no subagent" in json.dumps(stage.asked("use-the-skill")[-1]["messages"])
