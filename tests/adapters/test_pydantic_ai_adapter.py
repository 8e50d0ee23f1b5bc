"""The adapter for Pydantic AI, with the real framework and a scripted model."""

from __future__ import annotations

import pytest
from adapter_scenario import BAD, GOOD, PROJECT, TASK, Script, example

from remit.adapters.answer_check import AnswerNotAccepted

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402


async def run(script: Script) -> str:
    """Run an agent whose output is checked."""

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        path, answer = script.next(messages[-1])
        part = ToolCallPart("read_file", {"path": path}) if path else TextPart(answer or "")
        return ModelResponse(parts=[part])

    return str(await example("pydantic_ai").review(PROJECT, TASK, FunctionModel(model)))


@pytest.mark.anyio
async def test_a_good_answer_is_accepted() -> None:
    assert await run(Script([GOOD])) == GOOD


@pytest.mark.anyio
async def test_a_bad_answer_is_sent_back_once() -> None:
    script = Script([BAD, GOOD])
    assert await run(script) == GOOD
    assert "app/login.py:4711" in script.received[-1]


@pytest.mark.anyio
async def test_a_second_bad_answer_raises() -> None:
    with pytest.raises(AnswerNotAccepted):
        await run(Script([BAD, BAD]))


@pytest.mark.anyio
async def test_an_answer_without_reading_is_sent_back() -> None:
    script = Script([GOOD, GOOD], reads=False)
    with pytest.raises(AnswerNotAccepted, match="no-tool-calls"):
        await run(script)
