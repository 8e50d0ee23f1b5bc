"""The adapter for the Claude Agent SDK, with the real client and a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from real_client import ALLOWED, Stage, binary, staged, text_of
from scripts import GOOD, INVENTED, call, delegate, does, reads, says

from remit import Verdict

_BAD = f"The refund is at {INVENTED}."
_PLAIN = "The order is written at shop/orders.py:26."
_LOOK = does(call("look", "Read", file_path="shop/orders.py"))
_CONVERSATIONS = {
    "begin-well": [_LOOK, says(_PLAIN)],
    "begin-inventing": [_LOOK, says(_BAD), says(_PLAIN)],
    "begin-insisting": [_LOOK, says(_BAD), says(_BAD), says("never asked")],
    "begin-delegating": [does(delegate("trace", "general-purpose", "trace-badly")), says("Done."), says("Done.")],
    "trace-badly": [reads("badly", GOOD), says(_BAD), says(_PLAIN)],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp("sdk"), _CONVERSATIONS) as stage:
        yield stage


async def ask(stage: Stage, prompt: str, **options: Any) -> list[Verdict]:
    """Run a session whose answers are checked, and return the verdicts."""
    from claude_agent_sdk import ClaudeAgentOptions, query

    from remit.adapters.answer_check import AnswerCheck
    from remit.adapters.claude_agent_sdk import check_hooks

    verdicts: list[Verdict] = []
    check = AnswerCheck(repo=stage.project, profile="claims", on_verdict=verdicts.append)
    hooks = check_hooks(check, **options)
    session = ClaudeAgentOptions(
        cwd=stage.project,
        env=stage.environment,
        cli_path=binary(),
        hooks=hooks,  # type: ignore[arg-type] (the SDK wants the names of its events)
        allowed_tools=ALLOWED.split(","),
    )
    async for _ in query(prompt=prompt, options=session):
        pass
    return verdicts


@pytest.mark.anyio
async def test_a_good_answer_is_accepted(stage: Stage) -> None:
    verdicts = await ask(stage, "begin-well")
    assert [one.accepted for one in verdicts] == [True]
    assert verdicts[0].evidence.tool_calls == 1


@pytest.mark.anyio
async def test_a_bad_answer_is_sent_back_once(stage: Stage) -> None:
    assert [one.accepted for one in await ask(stage, "begin-inventing")] == [False, True]
    assert INVENTED in text_of(stage.asked("begin-inventing")[-1]["messages"][-1]["content"])


@pytest.mark.anyio
async def test_a_second_bad_answer_ends_the_session(stage: Stage) -> None:
    assert [one.accepted for one in await ask(stage, "begin-insisting")] == [False, False]
    assert len(stage.asked("begin-insisting")) == 3


@pytest.mark.anyio
async def test_the_answer_of_a_subagent_is_sent_back(stage: Stage) -> None:
    verdicts = await ask(stage, "begin-delegating", subagents_only=True)
    assert [one.accepted for one in verdicts] == [False, True]
