"""CrewAI: a guardrail of a task that checks its output.

Task(description=..., expected_output=..., agent=agent, guardrail=check_task(AnswerCheck(repo=".")))
"""

# No annotations as text here: CrewAI reads those of a guardrail.
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from crewai.tasks.task_output import TaskOutput

from remit.adapters.answer_check import AgentCall, AnswerCheck


def check_task(check: AnswerCheck) -> Callable[[TaskOutput], tuple[bool, Any]]:
    """Return a guardrail for one task.

    The first output that is not accepted is sent back to the agent; the second one raises AnswerNotAccepted.
    """
    earlier: list[AgentCall] = []
    attempt = 0

    def guardrail(output: TaskOutput) -> tuple[bool, Any]:
        nonlocal attempt
        attempt += 1
        earlier.extend(tool_calls(output.messages))
        is_last = True
        try:
            correction = check.correction(output.raw, earlier, attempt=attempt)
            is_last = correction is None
            return (True, output.raw) if correction is None else (False, correction)
        finally:
            if is_last:
                attempt = 0
                earlier.clear()

    return guardrail


def tool_calls(messages: Iterable[Mapping[str, Any]]) -> Iterator[AgentCall]:
    """Yield the tool calls of a task that were answered."""
    calls: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = call["function"]
        called = calls.pop(message.get("tool_call_id") or "", None)
        if called is not None:
            yield AgentCall(called["name"], called["arguments"], str(message.get("content") or ""))
