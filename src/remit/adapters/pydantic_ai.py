"""Pydantic AI: an output validator that checks the answer of an agent.

agent.output_validator(check_output(AnswerCheck(repo=".")))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, RetryPromptPart, ToolCallPart, ToolReturnPart

from remit.adapters.answer_check import AgentCall, AnswerCheck

T = TypeVar("T")


def check_output(check: AnswerCheck) -> Callable[[RunContext[Any], T], T]:
    """Return an output validator.

    The first answer that is not accepted is sent back to the model; the second one raises AnswerNotAccepted.
    """

    def validate(context: RunContext[Any], answer: T) -> T:
        if context.partial_output:
            return answer
        correction = check.correction(answer, tool_calls(context.messages), attempt=context.retry + 1)
        if correction is not None:
            raise ModelRetry(correction)
        return answer

    return validate


def tool_calls(messages: Iterable[ModelMessage]) -> Iterator[AgentCall]:
    """Yield the tool calls of a history that were answered."""
    calls: dict[str, ToolCallPart] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id in calls:
                call = calls.pop(part.tool_call_id)
                if isinstance(part, RetryPromptPart):
                    yield AgentCall(call.tool_name, call.args, str(part.content), failed=True)
                else:
                    failed = part.outcome != "success"
                    yield AgentCall(call.tool_name, call.args, part.model_response_str(), failed=failed)
