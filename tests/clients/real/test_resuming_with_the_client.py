"""A subagent that receives a message continues in the background of a session of the real client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_client import Stage, text_of, under_contract
from scripts import BAD, GOOD, GOOD_WORDS, INVENTED, call, delegate, does, reads, says

_CONVERSATIONS = {
    "trace-and-resume": [
        does(delegate("trace", "code-explorer", "trace-twice", name="tracer")),
        does(call("load", "ToolSearch", query="select:SendMessage")),
        does(call("send", "SendMessage", to="tracer", message="Trace once more.", summary="once more")),
        says("This is how it works, I think."),
        says("I wait."),
        says("What came is of no use."),
    ],
    "trace-twice": [reads("trace", GOOD), says(GOOD), {"gate": "answered", **says(BAD)}, says(BAD)],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("resuming"), _CONVERSATIONS) as stage:
        with stage.talk() as talk:
            talk.say("trace-and-resume")
            stage.server.open("answered")
            talk.until_result()
        yield stage


def test_a_resumed_subagent_is_asked_for_a_correction_again(stage: Stage) -> None:
    assert GOOD_WORDS in stage.results("trace-and-resume")["toolu_trace"]
    assert len(stage.asked("trace-twice")) == len(_CONVERSATIONS["trace-twice"])
    assert INVENTED in text_of(stage.asked("trace-twice")[3]["messages"][-1]["content"])


def test_the_answer_is_blocked_once_while_a_subagent_is_running(stage: Stage) -> None:
    asked = stage.asked("trace-and-resume")
    assert "synthesize-early" in text_of(asked[4]["messages"][-1]["content"])
    assert len(asked) == len(_CONVERSATIONS["trace-and-resume"])


def test_a_bad_report_in_a_notification_comes_with_a_warning(stage: Stage) -> None:
    *_, notification, context = stage.asked("trace-and-resume")[5]["messages"]
    assert INVENTED in text_of(notification["content"])  # the client offers no way to remove it
    assert "is not accepted" in text_of(context["content"])
    assert "reference-missing-file" in text_of(context["content"])
