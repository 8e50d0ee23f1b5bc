"""The main agent's final answer in a session of the real client: sent back once, corrected, and never in a loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_client import Stage, text_of, under_contract
from scripts import GOOD, INVENTED, call, cited, delegate, does, reads, says

_LIE = f"The security-auditor confirmed it. The refund is at {INVENTED}."
_HONEST = "I read `shop/orders.py:26`. No tests were run, and nobody reviewed it."
_PLAIN = "The order is written at shop/orders.py:26."

_CONVERSATIONS = {
    "begin-inventing": [does(call("look", "Read", file_path="shop/orders.py")), says(_LIE), says(_HONEST)],
    "begin-insisting": [does(call("look", "Read", file_path="shop/orders.py")), says(_LIE), says(_LIE)],
    "begin-plainly": [
        does(delegate("trace", "code-explorer", "trace-well")),
        says(f"{_PLAIN} The code-explorer traced it."),
    ],
    "begin-exploring": [
        does(delegate("quick", "Explore", "explore-well")),
        does(delegate("prose", "general-purpose", "look-around")),
        says("Done."),
    ],
    "trace-well": [reads("well", GOOD), says(GOOD)],
    "explore-well": [
        reads("quick", GOOD),
        says("at src/nope.py:99, all good."),
        says(GOOD.replace("Code Explorer", "Explore")),
    ],
    "look-around": [
        does(call("one", "Read", file_path="shop/orders.py")),
        says(f"The refund is at {INVENTED}."),
        says(f"The refund is at {INVENTED}, really."),
    ],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("final"), _CONVERSATIONS) as stage:
        for prompt in ("begin-inventing", "begin-insisting", "begin-plainly", "begin-exploring"):
            with stage.talk() as talk:
                talk.say(prompt)
        yield stage


def test_an_invented_delegation_and_line_are_sent_back_once_and_corrected(stage: Stage) -> None:
    asked = stage.asked("begin-inventing")
    assert len(asked) == 3
    sent_back = text_of(asked[2]["messages"][-1]["content"])
    assert "final-claims" in sent_back
    assert INVENTED in sent_back
    assert "security-auditor was not asked" in sent_back


def test_an_orchestrator_that_insists_is_sent_back_only_once(stage: Stage) -> None:
    assert len(stage.asked("begin-insisting")) == 3


def test_an_honest_orchestrator_is_not_touched(stage: Stage) -> None:
    assert len(stage.asked("begin-plainly")) == 2


def test_the_clients_own_explore_is_under_contract(stage: Stage) -> None:
    first = text_of(stage.asked("explore-well")[0]["messages"][0]["content"])
    assert "## Explore Result" in first
    assert len(cited(GOOD)) > 3
    assert "title-missing" in text_of(stage.asked("explore-well")[2]["messages"][-1]["content"])


def test_another_subagent_is_sent_back_once_and_then_reported(stage: Stage) -> None:
    asked = stage.asked("look-around")
    assert len(asked) == 3
    assert "How to answer" not in text_of(asked[0]["messages"][0]["content"])
    assert INVENTED in text_of(asked[2]["messages"][-1]["content"])
    last = str(stage.asked("begin-exploring")[-1]["messages"])
    assert "these claims still do not hold" in last


def test_the_session_is_in_the_progress_file(stage: Stage) -> None:
    shown = stage.remit("plan", "progress")
    assert "Explore" in shown
    assert "Agent general-purpose failed, results may be incomplete" in " ".join(shown.split())
