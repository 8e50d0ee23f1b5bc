"""The adapter for CrewAI, with the real framework and a scripted model."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import Any

import pytest
from adapter_scenario import BAD, GOOD, PROJECT, TASK, Script, example

from remit.adapters.answer_check import AnswerNotAccepted

if find_spec("crewai") is None:
    pytest.skip("run `python3 dev.py frameworks` for the tests of this framework", allow_module_level=True)
# It sends figures to its makers otherwise.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}

from crewai.llms.base_llm import BaseLLM


class ScriptedModel(BaseLLM):
    """A model that plays a script."""

    script: Any = None

    def call(self, messages: Any, *_: Any, **given: Any) -> Any:
        path, answer = self.script.next(messages[-1] if isinstance(messages, list) else messages)
        if path is None:
            return answer
        function = {"name": "read_file", "arguments": json.dumps({"path": path})}
        return [{"id": path, "type": "function", "function": function}]

    def supports_function_calling(self) -> bool:
        return True


def run(script: Script) -> str:
    """Run a task whose output is checked."""
    return str(example("crewai").review(PROJECT, TASK, ScriptedModel(model="scripted", script=script)))


def test_a_good_answer_is_accepted() -> None:
    assert run(Script([GOOD])) == GOOD


def test_a_bad_answer_is_sent_back_once() -> None:
    script = Script([BAD, GOOD])
    assert run(script) == GOOD
    assert "app/login.py:4711" in script.received[-1]


def test_a_second_bad_answer_raises() -> None:
    with pytest.raises(AnswerNotAccepted):
        run(Script([BAD, BAD]))


def test_an_answer_without_reading_is_sent_back() -> None:
    script = Script([GOOD, GOOD], reads=False)
    with pytest.raises(AnswerNotAccepted, match="no-tool-calls"):
        run(script)
