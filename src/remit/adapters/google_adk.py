"""Google's Agent Development Kit: `run` sends a message to a runner and checks the answer.

answer = await run(runner, "Review the orders.", user_id="u", session_id="s", check=AnswerCheck(repo="."))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.adk.events import Event
from google.adk.runners import Runner
from google.genai import types

from remit.adapters.answer_check import AgentCall, AnswerCheck


async def run(
    runner: Runner, message: str, *, user_id: str, session_id: str, check: AnswerCheck, **options: Any
) -> str:
    """Send a message to the agent of a session and return its answer. `options` are those of `Runner.run_async`.

    The first answer that is not accepted is sent back to the agent; the second one raises AnswerNotAccepted.
    """
    events: list[Event] = []
    text, answer = message, ""
    for attempt in (1, 2):
        content = types.Content(role="user", parts=[types.Part(text=text)])
        stream = runner.run_async(user_id=user_id, session_id=session_id, new_message=content, **options)
        async for event in stream:
            events.append(event)
            if event.is_final_response():
                answer = _text(event) or answer
        correction = check.correction(answer, tool_calls(events), attempt=attempt)
        if correction is None:
            return answer
        text = correction
    return answer


def _text(event: Event) -> str:
    parts = event.content.parts if event.content and event.content.parts else []
    return "".join(part.text or "" for part in parts if not part.thought)


def tool_calls(events: list[Event]) -> Iterator[AgentCall]:
    """Yield the tool calls of a run that were answered."""
    calls: dict[str | None, Any] = {}
    for event in events:
        calls |= {call.id: call for call in event.get_function_calls()}
        for response in event.get_function_responses():
            call = calls.pop(response.id, None)
            if call is not None:
                output = response.response or {}
                yield AgentCall(
                    call.name or "", call.args, "\n".join(map(str, output.values())), failed="error" in output
                )
