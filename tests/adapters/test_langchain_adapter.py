"""The adapter for LangChain, with the real framework and a scripted model."""

from __future__ import annotations

from typing import Any

import pytest
from adapter_scenario import BAD, GOOD, PROJECT, TASK, Script, example

from remit.adapters.answer_check import AnswerCheck, AnswerNotAccepted

pytest.importorskip("langchain", reason="run `python3 dev.py frameworks` for the tests of this framework")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from remit.adapters.langchain import CheckedAnswer


class ScriptedModel(BaseChatModel):
    """A chat model that plays a script."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        path, answer = self.script.next(messages[-1].text)
        calls = [{"name": "read_file", "args": {"path": path}, "id": path}] if path else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer or "", tool_calls=calls))])


def run(script: Script) -> str:
    """Run an agent whose answer is checked."""
    return str(example("langchain").review(PROJECT, TASK, ScriptedModel(script=script)))


def converse(script: Script, messages: list[Any], **options: Any) -> list[BaseMessage]:
    """Continue a conversation with an agent whose answers are checked."""

    def read_file(path: str) -> str:
        """Read a file of the project."""
        return (PROJECT / path).read_text(encoding="utf-8")

    middleware = CheckedAnswer(AnswerCheck(repo=PROJECT, **options))
    agent = create_agent(ScriptedModel(script=script), [read_file], middleware=[middleware])
    continued: list[BaseMessage] = agent.invoke({"messages": messages})["messages"]
    return continued


def test_a_good_answer_is_accepted() -> None:
    assert run(Script([GOOD])) == GOOD


def test_a_bad_answer_is_sent_back_once() -> None:
    script = Script([BAD, GOOD])
    assert run(script) == GOOD
    assert "app/login.py:4711" in script.received[-1]


def test_a_second_bad_answer_raises() -> None:
    with pytest.raises(AnswerNotAccepted):
        run(Script([BAD, BAD]))


def test_without_raising_a_second_bad_answer_is_passed_on() -> None:
    script = Script([BAD, BAD])
    assert converse(script, [("user", TASK)], raises=False)[-1].text == BAD
    assert script.is_finished


def test_each_question_of_a_conversation_has_its_own_correction() -> None:
    messages = converse(Script([BAD, GOOD]), [("user", TASK)])
    assert converse(Script([BAD, GOOD]), [*messages, ("user", "Once more.")])[-1].text == GOOD
