"""A subagent's report in a session of the real client: sent back, corrected, replaced."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_client import Stage, text_of, under_contract
from scripts import BAD, GOOD, GOOD_WORDS, INVENTED, call, cited, delegate, does, reads, says

#: `trace-once` is corrected after it was sent back, `trace-twice` sends the same again.
_CONVERSATIONS = {
    "begin-tracing": [
        does(delegate("once", "code-explorer", "trace-once", run_in_background=True)),
        does(call("again", "Read", file_path="shop/orders.py")),
        does(delegate("twice", "code-explorer", "trace-twice")),
        says("That is how an order travels."),
    ],
    "trace-once": [reads("once", GOOD), says(BAD), says(GOOD)],
    "trace-twice": [reads("twice", GOOD), says(BAD), says(BAD)],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("reports"), _CONVERSATIONS) as stage:
        with stage.talk() as talk:
            talk.say("begin-tracing")
        yield stage


def test_an_invented_reference_is_sent_back_and_the_corrected_report_arrives(stage: Stage) -> None:
    correction = text_of(stage.asked("trace-once")[2]["messages"][-1]["content"])
    assert INVENTED in correction
    assert "COMPLETE result" in correction

    arrived = stage.results("begin-tracing")["toolu_once"]
    assert GOOD_WORDS in arrived
    assert INVENTED not in arrived


def test_a_second_bad_report_never_arrives(stage: Stage) -> None:
    assert len(stage.asked("trace-twice")) == 3  # one correction was requested, not two
    arrived = stage.results("begin-tracing")["toolu_twice"]
    assert GOOD_WORDS not in arrived
    assert "reference-missing-file" in arrived
    assert "code-explorer" in arrived
    assert "not accepted" in arrived


def test_the_replaced_report_is_stored(stage: Stage) -> None:
    kept = [path.read_text(encoding="utf-8") for path in (stage.project / ".remit/gate/results").rglob("*.md")]
    assert any(INVENTED in text and GOOD_WORDS in text for text in kept)
    notice = stage.results("begin-tracing")["toolu_twice"]
    assert ".remit/gate/results" in notice


def test_the_subagents_prompt_contains_the_contract_once(stage: Stage) -> None:
    prompt = text_of(stage.asked("trace-once")[0]["messages"][0]["content"])
    assert "trace-once: please." in prompt
    assert prompt.count("#### Execution Flow") == 1
    assert prompt.count("# How to answer") == 1


def test_a_background_launch_is_changed_to_the_foreground(stage: Stage) -> None:
    begin = stage.asked("begin-tracing")
    assert GOOD_WORDS in str(begin[1]["messages"][-1])  # the very next request has the report, so it was waited for
    assert "task-notification" not in str([body["messages"] for body in begin])


def test_a_subagent_reads_as_many_files_as_it_needs(stage: Stage) -> None:
    results = stage.results("trace-once")
    assert len(cited(GOOD)) > 3
    for at, path in enumerate(cited(GOOD)):
        assert (stage.project / path).read_text(encoding="utf-8").splitlines()[0] in results[f"toolu_once_{at}"]


def test_a_file_that_an_accepted_report_covers_is_not_read_again(stage: Stage) -> None:
    assert "reread-analysed" in stage.results("begin-tracing")["toolu_again"]


def test_the_session_is_merged_into_one_report(stage: Stage) -> None:
    assert "code-explorer" in stage.remit("merge", "--session", "last")


def test_the_session_shows_what_was_denied_and_which_delegation_failed(stage: Stage) -> None:
    assert "reread-analysed" in stage.remit("gate", "log", "--session", "last", "--denied")
    status = stage.remit("gate", "status")
    assert "Agent code-explorer failed, results may be incomplete" in " ".join(status.split())
