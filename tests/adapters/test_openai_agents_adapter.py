"""The adapter for the OpenAI Agents SDK, with the real framework and a scripted model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from adapter_scenario import BAD, GOOD, PROJECT, TASK, Script, example

from remit.adapters.answer_check import AnswerCheck, AnswerNotAccepted

pytest.importorskip("agents", reason="run `python3 dev.py frameworks` for the tests of this framework")

from agents import Agent, ModelResponse, Usage, function_tool, set_tracing_disabled
from agents.memory import SQLiteSession
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from remit.adapters.openai_agents import run


class ScriptedModel(Model):
    """A model that plays a script."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, *_: Any, **given: Any) -> ModelResponse:
        history = given["input"]
        path, answer = self._script.next(history[-1] if isinstance(history, list) else history)
        if path:
            arguments = json.dumps({"path": path})
            item: Any = ResponseFunctionToolCall(
                type="function_call", name="read_file", arguments=arguments, call_id=path
            )
        else:
            text = ResponseOutputText(type="output_text", text=answer or "", annotations=[])
            item = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def no_tracing() -> None:
    set_tracing_disabled(disabled=True)


async def answer(script: Script) -> str:
    """Run an agent whose answer is checked."""
    return str(await example("openai_agents").review(PROJECT, TASK, ScriptedModel(script)))


@pytest.mark.anyio
async def test_a_good_answer_is_accepted() -> None:
    assert await answer(Script([GOOD])) == GOOD


@pytest.mark.anyio
async def test_a_bad_answer_is_sent_back_once() -> None:
    script = Script([BAD, GOOD])
    assert await answer(script) == GOOD
    assert "app/login.py:4711" in script.received[-1]


@pytest.mark.anyio
async def test_a_second_bad_answer_raises() -> None:
    with pytest.raises(AnswerNotAccepted):
        await answer(Script([BAD, BAD]))


@pytest.mark.anyio
async def test_a_session_gets_the_correction_only_once() -> None:
    session = SQLiteSession("one")

    @function_tool
    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (PROJECT / path).read_text(encoding="utf-8")

    agent = Agent(name="reviewer", model=ScriptedModel(Script([BAD, GOOD])), tools=[read_file])
    result = await run(agent, TASK, check=AnswerCheck(repo=PROJECT), session=session)
    assert result.final_output == GOOD
    corrections = [item for item in await session.get_items() if "resend the COMPLETE" in str(item)]
    session.close()
    assert len(corrections) == 1
