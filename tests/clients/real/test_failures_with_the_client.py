"""Delegations that fail in a session of the real client, and what is allowed after that."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from real_client import SPEC, Stage, under_contract
from scripts import call, delegate, does, edit, says

_WRITER = """---
name: product-manager
description: Writes specifications.
tools: Read, Edit
maxTurns: 2
---
You write specifications.
"""
_CONVERSATIONS = {
    "fix-the-word": [
        does(call("spec", "Read", file_path=SPEC)),
        does(delegate("broken", "product-manager", "break-down")),
        does(edit("too_early", SPEC, "reciept", "receipt")),
        does(delegate("endless", "product-manager", "run-out")),
        does(edit("at_last", SPEC, "reciept", "receipt")),
        says("The word is corrected."),
    ],
    "break-down": [{"fail": {"status": 400, "message": "no such model here"}}],
    "run-out": [
        {"text": f"Looking, {number} times.", "tools": [call(f"look_{number}", "Read", file_path=SPEC)]}
        for number in range(4)
    ],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    root = tmp_path_factory.mktemp("failures")
    with under_contract(root, _CONVERSATIONS, agents={"product-manager": _WRITER}) as stage:
        with stage.talk() as talk:
            talk.say("fix-the-word")
        yield stage


def result(stage: Stage, key: str) -> str:
    return stage.results("fix-the-word")[f"toolu_{key}"]


def delegations(stage: Stage) -> dict[str, str]:
    status = json.loads(stage.remit("gate", "status", "--format", "json"))
    return {entry["id"]: entry["state"] for entry in status["delegations"]}


def test_an_error_of_the_models_server_is_recorded_as_a_failed_delegation(stage: Stage) -> None:
    assert "API error" in result(stage, "broken")
    assert delegations(stage)["toolu_broken"] == "failed"


def test_a_subagent_that_ran_into_its_turn_limit_is_recorded_as_a_failed_delegation(stage: Stage) -> None:
    assert len(stage.asked("run-out")) == 2
    assert delegations(stage)["toolu_endless"] == "failed"


def test_the_output_of_a_stopped_subagent_is_not_accepted_as_a_report(stage: Stage) -> None:
    assert "Looking, 1 times." not in result(stage, "endless")
    assert "turn limit" in result(stage, "endless")


def test_the_user_is_warned_that_results_may_be_incomplete(stage: Stage) -> None:
    status = json.loads(stage.remit("gate", "status", "--format", "json"))
    assert status["warnings"] == ["Agent product-manager failed, results may be incomplete"]


def test_a_typo_is_corrected_only_when_the_delegation_and_its_retry_have_failed(stage: Stage) -> None:
    assert "trivial-edit" in result(stage, "too_early")
    assert "updated successfully" in result(stage, "at_last")
    assert "receipt" in (stage.project / SPEC).read_text(encoding="utf-8")


def test_failed_delegations_do_not_block_the_answer(stage: Stage) -> None:
    assert len(stage.asked("fix-the-word")) == 6
