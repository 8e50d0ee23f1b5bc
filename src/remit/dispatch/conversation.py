"""The loop of a job: model turn, tool calls, and again, with the transcript as the only state.

Each message and each tool call is written down before the next step. Going on after a crash is loading the
transcript and going on: a finished step is never run again, the one in flight may be.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRun
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from remit.dispatch.events import EventWriter, repair_surrogates
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import RunEnd, RunStopped, TransportFailed
from remit.dispatch.model_client import (
    PAUSES,
    ModelClient,
    RequestUsage,
    add_usage,
    classify_error,
    estimate_input,
    response_usage,
    retry_delay,
    sum_usage,
)
from remit.dispatch.models import OUTPUT_TOKENS, build_model, instruction_blocks, model_settings
from remit.dispatch.toolset import Calls
from remit.registry.model import Brief
from remit.store.transcript import Transcript, UsageSums

#: Jobs that begin together share one client of a provider.
_BUILDING = threading.Lock()
#: How many turns there are is for the brief to say.
_UNLIMITED = UsageLimits(request_limit=None)


class Conversation:
    """One attempt at the conversation of a job."""

    def __init__(
        self,
        brief: Brief,
        prompt: str,
        transcript: Transcript,
        calls: Calls,
        toolsets: Sequence[AbstractToolset[None]],
        asker: ModelClient,
        narrator: EventWriter,
    ) -> None:
        self._brief = brief
        self._prompt = prompt
        self._transcript = transcript
        self._calls = calls
        self._toolsets = toolsets
        self._asker = asker
        self._narrator = narrator
        self._messages: list[ModelMessage] = []
        self._sums = UsageSums()
        self._output = OUTPUT_TOKENS

    async def run(self) -> RunEnd:
        """Go on from the transcript until the end, however it comes."""
        stored = ModelMessagesTypeAdapter.validate_python(await self._transcript.messages())
        self._messages = with_system(stored, instruction_blocks(self._brief)[0])
        self._sums = add_usage(sum_usage(self._messages), await self._transcript.broken())
        if stored:
            await self._calls.recall()
        failures = 0
        while True:
            done = self._sums.turns
            try:
                return await self._converse()
            except TransportFailed as failure:
                failures = failures + 1 if done == self._sums.turns else 1
                if failures > len(PAUSES):
                    return self._ended("error", f"the provider failed {failures} times: {failure}")
                pause = retry_delay(failures - 1, failure.retry_after)
                await self._narrator.tell("waiting", {"why": str(failure)[:300], "seconds": round(pause, 1)})
                await self._asker.pause(pause)
            except RunStopped as stopped:
                return self._ended(stopped.outcome, stopped.error)

    def _ended(self, outcome: Any, error: str | None) -> RunEnd:
        return RunEnd(outcome, text_so_far(self._messages), error)

    async def _converse(self) -> RunEnd:
        final = self._final()
        if final is not None:
            return final
        system, contract = instruction_blocks(self._brief)
        # The first of a provider takes a second of imports: meanwhile the worker has to say that it lives.
        model = await asyncio.to_thread(_built, self._brief.model)
        agent: Agent[None, str] = Agent(
            model,
            system_prompt=system,
            instructions=contract,
            toolsets=self._toolsets,
            model_settings=lambda _: model_settings(self._brief.model, self._output),
            retries=5,
        )
        history = self._messages or None
        prompt = None if history else self._prompt
        async with agent.iter(prompt, message_history=history, usage_limits=_UNLIMITED) as run:
            node: Any = run.next_node
            while True:
                if Agent.is_model_request_node(node):
                    node = await self._turn(node, run)
                    final = self._final()
                    if final is not None:
                        return final
                elif Agent.is_end_node(node):
                    return self._ended("error", "the conversation ended without an answer")
                else:
                    self._calls.turn = self._sums.turns
                    node = await self._next(run, node)

    async def _next(self, run: AgentRun[None, str], node: Any) -> Any:
        try:
            return await run.next(node)
        except Exception as error:
            # Our own tools run here: a fault of theirs is not the provider's.
            raise classify_error(error, is_answer=Agent.is_model_request_node(node)) from error

    async def _turn(self, node: Any, run: AgentRun[None, str]) -> Any:
        """Ask the model once: the request is written down before it, the response after it."""
        if self._sums.turns >= self._brief.max_turns + count_corrections(self._messages):
            raise RunStopped("max-turns", f"{self._sums.turns} turns are used up and the work is not finished")
        await self._save_request(node.request)
        await self._narrator.tell("turn", {"turn": self._sums.turns + 1})
        sent = estimate_input(self._brief, self._messages)
        held = await self._asker.reserve(sent)
        self._output = held.output
        asked = RequestUsage(self._brief.model, sent)
        try:
            failpoint("model-asked")
            await self._asker.ask(lambda: self._stream(node, run, asked))
            failpoint("model-answered")
            following = await self._next(run, node)
        except BaseException as error:
            taken = asked.taken(error)
            await self._asker.settle(held, taken, is_broken=True)
            self._sums = add_usage(self._sums, taken)
            raise
        response = following.model_response
        repair_surrogates(response)
        await self._asker.settle(held, response_usage(response))
        failpoint("settled")
        await self._save_response(response)
        return following

    async def _stream(self, node: Any, run: AgentRun[None, str], asked: RequestUsage) -> None:
        asked.is_sent = True
        try:
            async with node.stream(run.ctx) as stream:
                asked.answer = stream
                async for event in stream:
                    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                        await self._narrator.text(event.part.content)
                    elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                        await self._narrator.text(event.delta.content_delta)
                if stream.response.finish_reason is None:
                    raise TransportFailed("the provider's answer broke off")
        finally:
            await self._narrator.flush()  # whoever ends a job in the middle of an answer finds all of it

    async def _save_request(self, request: ModelRequest) -> None:
        if self._messages and isinstance(self._messages[-1], ModelRequest):
            return  # this one was written down by an earlier attempt
        await self._save(request)
        failpoint("request-saved")

    async def _save_response(self, response: ModelResponse) -> None:
        self._sums = add_usage(self._sums, response_usage(response))
        await self._save(response)
        failpoint("response-saved")
        sums = self._sums
        await self._narrator.tell(
            "usage",
            {"turns": sums.turns, "input": sums.input, "output": sums.output, "cached": sums.cached, "cost": sums.cost},
        )

    async def _save(self, message: ModelMessage) -> None:
        data = ModelMessagesTypeAdapter.dump_json([without_brief(message)])[1:-1]
        messages = [*self._messages, message]
        await self._transcript.save_message(len(self._messages), data, self._sums, text_so_far(messages) or None)
        self._messages = messages

    def _final(self) -> RunEnd | None:
        """The end, if the last response is one: it calls no tool, or it was cut off."""
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, ModelResponse):
            return None
        if last.finish_reason == "length":
            return self._ended("truncated", "the answer was cut off at its longest length")
        if last.finish_reason == "content_filter":
            return self._ended("refused", "the model refused to answer")
        return None if last.tool_calls else self._ended("completed", None)


def _built(name: str) -> Model:
    with _BUILDING:
        return build_model(name)


def without_brief(message: ModelMessage) -> ModelMessage:
    """A message as it is stored: what the brief says is in the brief, once for all jobs that share it."""
    if isinstance(message, ModelResponse):
        return message
    parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
    return replace(message, parts=parts, instructions=None)


def with_system(messages: list[ModelMessage], system: tuple[str, ...]) -> list[ModelMessage]:
    """Stored messages with the system prompts in their place."""
    if not messages or not isinstance(messages[0], ModelRequest):
        return messages
    prompts = [SystemPromptPart(text) for text in system]
    return [replace(messages[0], parts=[*prompts, *messages[0].parts]), *messages[1:]]


def count_corrections(messages: list[ModelMessage]) -> int:
    """How often the caller came back with something after the task itself; each time there is a turn for it."""
    prompts = (
        any(isinstance(part, UserPromptPart) for part in message.parts)
        for message in messages
        if isinstance(message, ModelRequest)
    )
    return max(0, sum(prompts) - 1)


def text_so_far(messages: list[ModelMessage]) -> str:
    """The text of the last response that has any."""
    for message in reversed(messages):
        if isinstance(message, ModelResponse) and (text := (message.text or "").strip()):
            return text
    return ""
