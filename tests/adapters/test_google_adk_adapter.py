"""The adapter for Google's Agent Development Kit, with the real framework and a scripted model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from adapter_scenario import BAD, GOOD, PROJECT, TASK, Script, example

from remit.adapters.answer_check import AnswerNotAccepted

pytest.importorskip("google.adk", reason="run `python3 dev.py frameworks` for the tests of this framework")

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class ScriptedModel(BaseLlm):
    """A model that plays a script."""

    model: str = "scripted"
    script: Any = None

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[Any, None]:
        path, answer = self.script.next(llm_request.contents[-1])
        part = (
            types.Part(function_call=types.FunctionCall(id=path, name="read_file", args={"path": path}))
            if path
            else types.Part(text=answer)
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def answer(script: Script) -> str:
    """Run an agent whose answer is checked."""
    return str(await example("google_adk").review(PROJECT, TASK, ScriptedModel(script=script)))


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
async def test_an_answer_without_reading_is_sent_back() -> None:
    script = Script([GOOD, GOOD], reads=False)
    with pytest.raises(AnswerNotAccepted, match="no-tool-calls"):
        await answer(script)
