"""LangChain: a middleware that checks the answer of an agent.

create_agent(model, tools, middleware=[CheckedAnswer(AnswerCheck(repo="."))])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, Runtime, hook_config
from langchain.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages import AnyMessage

from remit.adapters.answer_check import AgentCall, AnswerCheck

#: The name of the message with the correction; it shows that the answer was sent back once.
CORRECTION = "remit"


class CheckedAnswer(AgentMiddleware[AgentState[Any], Any]):
    """Checks the answer of an agent.

    The first answer that is not accepted is sent back to the model; the second one raises AnswerNotAccepted.
    """

    def __init__(self, check: AnswerCheck) -> None:
        super().__init__()
        self._check = check

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Check the last message, if it is an answer and not a tool call."""
        messages = state["messages"]
        last = messages[-1] if messages else None
        if not isinstance(last, AIMessage) or last.tool_calls:
            return None
        turn = _current_turn(messages)
        attempt = 1 + sum(isinstance(message, HumanMessage) and message.name == CORRECTION for message in turn)
        correction = self._check.correction(last.text, tool_calls(turn), attempt=attempt)
        if correction is None:
            return None
        return {"messages": [HumanMessage(correction, name=CORRECTION)], "jump_to": "model"}


def _current_turn(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Return the messages since the last one of a person."""
    starts = [
        index
        for index, message in enumerate(messages)
        if isinstance(message, HumanMessage) and message.name != CORRECTION
    ]
    return messages[starts[-1] :] if starts else messages


def tool_calls(messages: Iterable[AnyMessage]) -> Iterator[AgentCall]:
    """Yield the tool calls of a history that were answered."""
    calls: dict[str | None, Any] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls |= {call["id"]: call for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.tool_call_id in calls:
            call = calls.pop(message.tool_call_id)
            yield AgentCall(call["name"], call["args"], message.text, failed=message.status == "error")
