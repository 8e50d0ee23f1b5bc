"""Parallel and nested subagents in a session of the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from real_client import Stage, text_of, under_contract
from scripts import BAD, DESIGN, DESIGN_WORDS, GOOD, GOOD_WORDS, INVENTED, cited, delegate, does, reads, says

_ARCHITECT = """---
name: code-architect
description: Designs.
tools: Read, Grep, Glob, Agent
---
You design.
"""
_CONVERSATIONS = {
    "all-at-once": [
        does(
            delegate("good", "code-explorer", "walk-good"),
            delegate("bad", "code-explorer", "walk-bad"),
            delegate("outer", "code-architect", "design-it"),
            delegate("free", "general-purpose", "talk-freely", run_in_background=False),
        ),
        says("All is known."),
    ],
    "talk-freely": [says("No form at all.")],
    "walk-good": [reads("good", GOOD), says(GOOD)],
    "walk-bad": [reads("bad", GOOD), says(BAD), says(BAD)],
    "design-it": [
        reads("design", DESIGN),
        does(delegate("mended", "code-explorer", "dig-mended"), delegate("worse", "code-explorer", "dig-worse")),
        says(DESIGN),
    ],
    "dig-mended": [reads("mended", GOOD), says(BAD), says(GOOD)],
    "dig-worse": [reads("worse", GOOD), says(BAD), says(BAD)],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    root = tmp_path_factory.mktemp("many")
    with under_contract(root, _CONVERSATIONS, agents={"code-architect": _ARCHITECT}) as stage:
        with stage.talk() as talk:
            talk.say("all-at-once")
        yield stage


def test_each_of_the_parallel_reports_gets_its_own_verdict(stage: Stage) -> None:
    results = stage.results("all-at-once")
    assert GOOD_WORDS in results["toolu_good"]
    assert DESIGN_WORDS in results["toolu_outer"]
    assert GOOD_WORDS not in results["toolu_bad"]
    assert "reference-missing-file" in results["toolu_bad"]


def test_only_the_bad_ones_are_asked_for_a_correction(stage: Stage) -> None:
    asked = {marker: len(stage.asked(marker)) for marker in _CONVERSATIONS}
    assert asked == {marker: len(turns) for marker, turns in _CONVERSATIONS.items()}


def test_a_subagent_of_a_subagent_is_held_to_the_contract(stage: Stage) -> None:
    results = stage.results("design-it")
    assert GOOD_WORDS in results["toolu_mended"]
    assert INVENTED not in results["toolu_mended"]
    assert GOOD_WORDS not in results["toolu_worse"]
    assert "reference-missing-file" in results["toolu_worse"]


def test_a_subagent_that_is_not_under_contract_is_left_alone(stage: Stage) -> None:
    assert "No form at all." in stage.results("all-at-once")["toolu_free"]
    prompt = text_of(stage.asked("talk-freely")[0]["messages"][0]["content"])
    assert prompt.rstrip().endswith("talk-freely: please.")


def test_all_delegations_of_the_orchestrator_are_settled(stage: Stage) -> None:
    status = json.loads(stage.remit("gate", "status", "--format", "json"))
    states = {entry["id"]: entry["state"] for entry in status["delegations"]}
    assert states["toolu_good"] == states["toolu_outer"] == "accepted"
    assert states["toolu_bad"] == "rejected"
    assert "open" not in states.values()


def test_no_read_of_any_subagent_was_denied(stage: Stage) -> None:
    for marker, prefix, report in (("walk-good", "good", GOOD), ("design-it", "design", DESIGN)):
        results = stage.results(marker)
        for at, path in enumerate(cited(report)):
            assert (stage.project / path).read_text(encoding="utf-8").splitlines()[0] in results[f"toolu_{prefix}_{at}"]
