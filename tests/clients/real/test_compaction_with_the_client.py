"""`/compact` in a session of the real client: it works as usual, and the gate's state survives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from real_client import Stage, under_contract
from scripts import GOOD, call, delegate, does, reads, says

#: The answer to the prompt, and to the request for a summary, which is sent without that answer.
_SUMMARY = "<analysis>All was said.</analysis><summary>this-goes-on-after-the-summary: orders were traced.</summary>"
_CONVERSATIONS = {
    "trace-then-compact": [does(delegate("trace", "code-explorer", "trace-it")), says(_SUMMARY)],
    "trace-it": [reads("trace", GOOD), says(GOOD)],
    "this-goes-on-after-the-summary": [
        says("Never asked for: the last answer from before stands behind the summary and counts as a turn."),
        does(call("again", "Read", file_path="shop/orders.py")),
        says("Done."),
    ],
}


@pytest.fixture(scope="module")
def session(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, list[dict[str, Any]]]]:
    with under_contract(tmp_path_factory.mktemp("compaction"), _CONVERSATIONS) as stage:
        with stage.talk() as talk:
            for prompt in ("trace-then-compact", "/compact", "go on"):
                talk.say(prompt)
        yield stage, talk.events


def test_the_compaction_succeeds(session: tuple[Stage, list[dict[str, Any]]]) -> None:
    _, events = session
    assert [event["compact_result"] for event in events if "compact_result" in event] == ["success"]


def test_the_summary_of_a_compaction_is_not_checked(session: tuple[Stage, list[dict[str, Any]]]) -> None:
    stage, _ = session
    for marker in _CONVERSATIONS:
        reply = str([body["messages"] for body in stage.asked(marker)])
        assert "blocking error" not in reply
        assert "completed successfully:" not in reply  # the client would quote there what a hook prints at PreCompact


def test_files_that_an_accepted_report_covers_are_still_recorded_afterwards(
    session: tuple[Stage, list[dict[str, Any]]],
) -> None:
    stage, _ = session
    assert "reread-analysed" in stage.results("this-goes-on-after-the-summary")["toolu_again"]


def test_the_model_receives_a_summary_of_the_state(session: tuple[Stage, list[dict[str, Any]]]) -> None:
    stage, _ = session
    assert "SessionStart hook additional context" in str(stage.asked("this-goes-on-after-the-summary")[0])
