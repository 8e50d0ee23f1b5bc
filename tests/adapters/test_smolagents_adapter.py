"""The adapter for smolagents, with the real framework and a scripted model."""

from __future__ import annotations

from typing import Any

import pytest
from adapter_scenario import BAD, GOOD, PROJECT, TASK, Script, example

from remit.adapters.answer_check import AnswerCheck

pytest.importorskip("smolagents", reason="run `python3 dev.py frameworks` for the tests of this framework")

from smolagents import AgentError, ChatMessage, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from remit.adapters.smolagents import FinalAnswerCheck


class ScriptedModel(Model):
    """A model that plays a script."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    def generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatMessage:
        path, answer = self._script.next(messages[-1].content)
        name, arguments = ("read_file", {"path": path}) if path else ("final_answer", {"answer": answer})
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        return ChatMessage(role="assistant", tool_calls=[ChatMessageToolCall(function, "1", "function")])


def run(script: Script) -> str:
    """Run an agent whose final answer is checked."""
    return str(example("smolagents").review(PROJECT, TASK, ScriptedModel(script)))


def test_a_good_answer_is_accepted() -> None:
    assert run(Script([GOOD])) == GOOD


def test_a_bad_answer_is_sent_back_once() -> None:
    script = Script([BAD, GOOD])
    assert run(script) == GOOD
    assert "app/login.py:4711" in script.received[-1]


def test_a_second_bad_answer_ends_the_run_with_the_reason() -> None:
    check = FinalAnswerCheck(AnswerCheck(repo=PROJECT))
    agent = ToolCallingAgent([], ScriptedModel(Script([BAD, BAD], reads=False)), final_answer_checks=[check])
    with pytest.raises(AgentError, match="interrupted"):
        agent.run(TASK)
    assert check.rejected is not None
    assert not check.rejected.verdict.accepted


def test_an_answer_without_reading_is_sent_back() -> None:
    script = Script([GOOD, GOOD], reads=False)
    with pytest.raises(AgentError, match="interrupted"):
        run(script)
    assert "no-tool-calls" in script.received[-1]
