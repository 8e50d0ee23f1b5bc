"""OpenAI Agents SDK: `run`, in place of `Runner.run`, checks the answer of an agent.

    result = await run(agent, "Review the orders.", check=AnswerCheck(repo="."))

An output guardrail of the SDK can stop a run, but not send the answer back; therefore this is a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agents import Agent, Runner, RunResult, TResponseInputItem
from agents.items import RunItem, ToolCallItem, ToolCallOutputItem

from remit.adapters.answer_check import AgentCall, AnswerCheck


async def run(
    agent: Agent[Any], task: str | list[TResponseInputItem], *, check: AnswerCheck, **options: Any
) -> RunResult:
    """Run an agent and return its result. `options` are those of `Runner.run`.

    The first answer that is not accepted is sent back to the agent; the second one raises AnswerNotAccepted.
    """
    result = await Runner.run(agent, task, **options)
    correction = check.correction(result.final_output, tool_calls(result.new_items), attempt=1)
    if correction is None:
        return result
    calls = list(tool_calls(result.new_items))
    message: TResponseInputItem = {"role": "user", "content": correction}
    # A session keeps the history itself.
    history = [message] if options.get("session") is not None else [*result.to_input_list(), message]
    result = await Runner.run(result.last_agent, history, **options)
    check.correction(result.final_output, [*calls, *tool_calls(result.new_items)], attempt=2)
    return result


def tool_calls(items: Iterable[RunItem]) -> Iterator[AgentCall]:
    """Yield the tool calls of a run that were answered."""
    calls: dict[str | None, ToolCallItem] = {}
    for item in items:
        if isinstance(item, ToolCallItem):
            calls[item.call_id] = item
        elif isinstance(item, ToolCallOutputItem) and item.call_id in calls:
            call = calls.pop(item.call_id)
            arguments = _field(call.raw_item, "arguments") or _field(call.raw_item, "action")
            yield AgentCall(call.tool_name or "", _plain(arguments), str(item.output))


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _plain(arguments: Any) -> Any:
    return arguments.model_dump() if hasattr(arguments, "model_dump") else arguments
