"""Sessions of the real Codex with multi-agent version 2: each report is a message that no hook can change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from drivers import CodexOfVersionTwo
from npm_client import Json, NpmStage, does, dumped, says, staged
from support.shop_reports import BAD, GOOD, INVENTED, cited

pytestmark = pytest.mark.process

_REJECTED = "is not accepted: do not use it."
#: A command that ends when both reports of the second session were judged; the first session has three.
_OTHER_WORK = "until [ $(ls .remit/gate/results/*/*.check.json | wc -l) -ge 5 ]; do sleep 0.05; done"


def conversations(driver: CodexOfVersionTwo) -> dict[str, list[Json]]:
    def reads(prefix: str) -> Json:
        return does(*(driver.read(f"{prefix}_{at}", path) for at, path in enumerate(cited(GOOD))))

    walks = driver.delegate("walk-good", "walk-bad")
    return {
        "wait-for-both": [*walks, says("Orders were traced.")],
        "walk-good": [reads("good"), says(GOOD)],
        "walk-bad": [reads("bad"), says(BAD), says(BAD)],
        "do-not-wait": [
            driver.delegate("trace-twice")[0],
            does(driver.shell("work", _OTHER_WORK)),
            says("Nothing was traced."),
        ],
        "trace-twice": [reads("twice"), says(BAD), says(BAD)],
    }


class Session(NamedTuple):
    stage: NpmStage
    #: What `remit gate status` printed after the first session.
    status: str


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("codex-messages")
    driver = CodexOfVersionTwo(folder / "shop")
    with staged(driver.client, folder, conversations(driver)) as stage:
        driver.configure(stage)
        stage.remit("install", driver.client, "--mode", "standard", "--yes")
        driver.approve(stage)
        driver.start(stage, "wait-for-both")
        status = stage.remit("gate", "status")
        driver.start(stage, "do-not-wait")
        stage.recorded.extend(stage.server.requests)
        yield Session(stage, status)


def requests(session: Session, marker: str) -> list[list[Json]]:
    return [body["input"] for body in session.stage.asked(marker)]


def messages(items: list[Json], sender: str) -> list[int]:
    """Return the places of the final messages of an agent in a request."""
    return [
        at
        for at, item in enumerate(items)
        if item["type"] == "agent_message" and item["author"] == sender and "FINAL_ANSWER" in dumped(item)
    ]


def test_a_second_bad_report_comes_together_with_its_mark(session: Session) -> None:
    with_report = next(items for items in requests(session, "wait-for-both") if messages(items, "/root/walk_bad"))
    assert INVENTED in dumped(with_report[messages(with_report, "/root/walk_bad")[0]])
    marks = [dumped(item) for item in with_report if _REJECTED in dumped(item)]
    assert len(marks) == 1
    assert "(/root/walk_bad)" in marks[0]
    assert "reference-missing-file" in marks[0]


def test_an_orchestrator_that_does_not_wait_gets_the_mark_no_later_than_the_report(session: Session) -> None:
    turns = requests(session, "do-not-wait")
    assert len(turns) == 3
    assert _REJECTED in dumped(turns[2])
    assert [messages(items, "/root/trace_twice") for items in turns[:2]] == [[], []]


def test_an_accepted_report_has_no_mark(session: Session) -> None:
    last = requests(session, "wait-for-both")[-1]
    assert len(messages(last, "/root/walk_good")) == 1
    assert "(/root/walk_good)" not in dumped([item for item in last if item["type"] != "agent_message"])


def test_each_report_is_judged_by_the_record_of_its_agent(session: Session) -> None:
    assert [len(requests(session, marker)) for marker in ("walk-good", "walk-bad")] == [2, 3]
    assert "1 accepted" in session.status
    assert "1 rejected" in session.status
