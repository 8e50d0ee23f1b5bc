"""The conversation of a job: model turn, tool calls, and so on. Its only state is the transcript.

Each message and each tool call is stored before the next step starts; the output of a call that only reads is stored
with the next request. After a crash the transcript is loaded and the conversation continues: a stored step is never
repeated, a step that was running may be.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import msgspec
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
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRun
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from remit.dispatch.event_writer import EventWriter, join_surrogates
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import RunEnd, RunStopped, TransportFailed
from remit.dispatch.model_client import (
    OUTPUT_TOKENS,
    PAUSES,
    ModelClient,
    RequestUsage,
    add_usage,
    build_model,
    classify_error,
    estimate_input,
    instruction_blocks,
    least_input,
    model_settings,
    response_usage,
    retry_delay,
    sum_usage,
)
from remit.dispatch.telemetry import open_telemetry
from remit.dispatch.toolset import Calls, Moment
from remit.registry.definition import Brief
from remit.secrets.scan import redact_all
from remit.store.database import DatabaseUnavailable
from remit.store.jobs import AttemptFenced
from remit.store.storable import to_storable
from remit.store.transcript import StepRecord, Transcript, UsageSums

#: Jobs that start at the same time share one client per provider.
_BUILDING = threading.Lock()
#: The brief limits the turns, not the library.
_UNLIMITED = UsageLimits(request_limit=None)


#: In JSON text such as the arguments of a tool: an escaped surrogate without its other half, or an escaped NUL. An
#: escaped backslash and a complete pair match first, so that they stay unchanged.
_ESCAPES = re.compile(
    r"\\\\|(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<half>[dD][89a-fA-F][0-9a-fA-F]{2}|0000)"
)


class Conversation:
    """One attempt at the conversation of a job."""

    def __init__(
        self,
        brief: Brief,
        prompt: str,
        transcript: Transcript,
        calls: Calls,
        toolsets: Sequence[AbstractToolset[None]],
        model_client: ModelClient,
        events: EventWriter,
    ) -> None:
        self._brief = brief
        self._prompt = prompt
        self._transcript = transcript
        self._calls = calls
        self._toolsets = toolsets
        self._client = model_client
        self._events = events
        self._messages: list[ModelMessage] = []
        self._sums = UsageSums()
        self._output = OUTPUT_TOKENS

    async def run(self) -> RunEnd:
        """Continue from the transcript until the conversation ends."""
        stored = await self._transcript.messages()
        self._messages = read_messages(stored, instruction_blocks(self._brief)[0], self._prompt)
        self._sums = add_usage(sum_usage(self._messages), await self._transcript.broken())
        if stored:
            await self._calls.recall(f"{self._sums.turns}:{call}" for call in incomplete_calls(self._messages))
        failures = 0
        while True:
            done = self._sums.turns
            try:
                end = await self._converse()
                await self._calls.save()
                return end
            except TransportFailed as failure:
                failures = failures + 1 if done == self._sums.turns else 1
                if failures > len(PAUSES):
                    return self._ended("error", f"the provider failed {failures} times: {failure}")
                pause = retry_delay(failures - 1, failure.retry_after)
                await self._events.emit("waiting", {"why": str(failure)[:300], "seconds": round(pause, 1)})
                await self._client.pause(pause)
            except RunStopped as stopped:
                await self._calls.save()
                return self._ended(stopped.outcome, stopped.error)
            except asyncio.CancelledError:
                with suppress(AttemptFenced, DatabaseUnavailable):
                    await self._calls.save()  # another attempt need not repeat them
                raise

    def _ended(self, outcome: Any, error: str | None) -> RunEnd:
        return RunEnd(outcome, text_so_far(self._messages), error)

    async def _converse(self) -> RunEnd:
        final = self._final()
        if final is not None:
            return final
        system, contract = instruction_blocks(self._brief)
        # In a thread: the first model of a provider takes a second of imports, and the worker's heartbeat must go on.
        model = await asyncio.to_thread(_build, self._brief.model)
        telemetry = open_telemetry()
        agent: Agent[None, str] = Agent(
            model,
            name=self._brief.definition.name if self._brief.definition else None,
            capabilities=[telemetry.instrumentation()] if telemetry is not None else None,
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
            # Tools also run here, and their errors are not the provider's.
            raise classify_error(error, is_answer=Agent.is_model_request_node(node)) from error

    async def _turn(self, node: Any, run: AgentRun[None, str]) -> Any:
        """Send one request to the model: the request is stored before it, the response after it."""
        if self._sums.turns >= self._brief.max_turns + count_corrections(self._messages):
            raise RunStopped("max-turns", f"all {self._sums.turns} turns are used up and the work is not finished")
        record = await self._request_record(node.request)
        input_tokens = estimate_input(self._brief, self._messages)
        unsaved = self._calls.unsaved
        try:
            reserved = await self._client.reserve(input_tokens, record, unsaved)
        except RunStopped:  # the budget is used up, and the calls are stored
            self._calls.forget(unsaved)
            raise
        self._calls.forget(unsaved)
        failpoint("request-saved")
        self._output = reserved.output
        request = RequestUsage(self._brief.model, input_tokens, least_input(self._brief, self._messages))
        try:
            failpoint("model-asked")
            await self._client.ask(lambda: self._stream(node, run, request))
            failpoint("model-answered")
            following = await self._next(run, node)
        except BaseException as error:
            used = request.used(error)
            await self._client.settle(reserved, used, None)
            self._sums = add_usage(self._sums, used)
            raise
        response = following.model_response
        repair_surrogates(response)
        request.correct(response)
        used = response_usage(response)
        record = await self._response_record(response, used)
        confirmed = Moment()
        self._calls.start(record.begun, await self._client.settle(reserved, used, record), confirmed)
        failpoint("settled")
        failpoint("response-saved")
        return following

    async def _stream(self, node: Any, run: AgentRun[None, str], request: RequestUsage) -> None:
        request.is_sent = True
        try:
            async with node.stream(run.ctx) as stream:
                request.stream = stream
                async for event in stream:
                    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                        await self._events.add_text(event.part.content)
                    elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                        await self._events.add_text(event.delta.content_delta)
                if stream.response.finish_reason is None:
                    raise TransportFailed("the provider's answer is incomplete")
        except BaseException:
            await self._events.flush()  # a job that is ended in the middle of an answer keeps all text received so far
            raise

    async def _request_record(self, request: ModelRequest) -> StepRecord:
        """Return what is stored for a request and the start of its turn. The usage is stored with the responses."""
        events = self._events.take("turn", {"turn": self._sums.turns + 1})
        if self._messages and isinstance(self._messages[-1], ModelRequest):
            return StepRecord(events=events)  # an earlier attempt stored the request
        data = await asyncio.to_thread(stored_json, request, is_redacting=self._calls.is_redacting)
        number = len(self._messages)
        self._messages = [*self._messages, request]
        return StepRecord(number, data, events=events)

    async def _response_record(self, response: ModelResponse, used: UsageSums) -> StepRecord:
        """Return what is stored for a response and the usage up to it."""
        self._sums = sums = add_usage(self._sums, used)
        usage = {"turns": sums.turns, "input": sums.input, "output": sums.output, "cached": sums.cached}
        events = self._events.take("usage", {**usage, "cost": sums.cost})
        messages = [*self._messages, response]

        def encode() -> tuple[bytes, str]:
            data = stored_json(response, is_redacting=self._calls.is_redacting)
            return data, self._calls.redact(text_so_far(messages))

        data, partial = await asyncio.to_thread(encode)
        number, self._messages = len(self._messages), messages
        record = StepRecord(number, data, sums, partial or None, events)
        if self._final() is not None:
            return record
        begun, started = await self._calls.begin(response, sums.turns)
        return record._replace(begun=begun, events=[*events, *started])

    def _final(self) -> RunEnd | None:
        """Return the end if the last response calls no tool or was cut off, else None."""
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, ModelResponse):
            return None
        if last.finish_reason == "length":
            return self._ended("truncated", "the answer was cut off at its maximum length")
        if last.finish_reason == "content_filter":
            return self._ended("refused", "the model refused to answer")
        return None if last.tool_calls else self._ended("completed", None)


def _build(name: str) -> Model:
    with _BUILDING:
        return build_model(name)


def count_corrections(messages: list[ModelMessage]) -> int:
    """Count the messages of the caller after the task itself. Each allows one more turn."""
    prompts = (
        any(isinstance(part, UserPromptPart) for part in message.parts)
        for message in messages
        if isinstance(message, ModelRequest)
    )
    return max(0, sum(prompts) - 1)


def text_so_far(messages: list[ModelMessage]) -> str:
    """Return the text of the last response that has any."""
    for message in reversed(messages):
        if isinstance(message, ModelResponse) and (text := (message.text or "").strip()):
            return text
    return ""


#: In the metadata of a stored response: the ids of its tool calls whose arguments are incomplete.
_INCOMPLETE = "remit_incomplete_calls"


def stored_json(message: ModelMessage, *, is_redacting: bool) -> bytes:
    """Return a message as it is stored. The brief is stored once for all its jobs. For long messages, use a thread."""
    stored = _without_brief(message)
    if is_redacting:
        stored = _redacted_response(stored) if isinstance(stored, ModelResponse) else _redacted_request(stored)
    return ModelMessagesTypeAdapter.dump_json([stored])[1:-1]


def _without_brief(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
    return replace(message, parts=parts, instructions=None)


def _redacted_request(message: ModelRequest) -> ModelRequest:
    return replace(message, parts=[_with_content(part) for part in message.parts])


def _redacted_response(message: ModelResponse) -> ModelResponse:
    incomplete: list[str] = []
    parts = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            arguments = _redacted_arguments(part.args)
            if arguments != part.args:
                incomplete.append(part.tool_call_id)
            parts.append(replace(part, args=arguments))
        else:
            parts.append(_with_content(part))
    metadata = {**(message.metadata or {}), _INCOMPLETE: incomplete} if incomplete else message.metadata
    return replace(message, parts=parts, metadata=metadata)


def _with_content(part: Any) -> Any:
    """Return a part with the secrets in its text replaced. A signature of the original text becomes invalid."""
    content = getattr(part, "content", None)
    if not isinstance(content, str | list | dict):
        return part
    redacted = redact_all(content)
    if redacted == content:
        return part
    changed = replace(part, content=redacted)
    return replace(changed, signature=None) if isinstance(part, ThinkingPart) else changed


def _redacted_arguments(arguments: Any) -> Any:
    """Return the arguments of a tool call, which are JSON text or an object."""
    if not isinstance(arguments, str):
        return redact_all(arguments)
    try:
        decoded = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return redact_all(arguments)
    redacted = redact_all(decoded)
    return arguments if redacted == decoded else msgspec.json.encode(redacted).decode()


def read_messages(stored: Sequence[Any], system: tuple[str, ...], task: str) -> list[ModelMessage]:
    """Return stored messages as the model received them: with the system prompts, and with the task as it was given."""
    messages = ModelMessagesTypeAdapter.validate_python(stored)
    if not messages or not isinstance(messages[0], ModelRequest):
        return messages
    parts = list(messages[0].parts)
    for index, part in enumerate(parts):
        if isinstance(part, UserPromptPart):
            parts[index] = replace(part, content=task)
            break
    prompts = [SystemPromptPart(text) for text in system]
    return [replace(messages[0], parts=[*prompts, *parts]), *messages[1:]]


def incomplete_calls(messages: Sequence[ModelMessage]) -> frozenset[str]:
    """Return the ids of the last response's tool calls whose arguments are incomplete, because it was stored."""
    last = next((message for message in reversed(messages) if isinstance(message, ModelResponse)), None)
    call_ids = (last.metadata or {}).get(_INCOMPLETE) if last is not None else None
    return frozenset(map(str, call_ids)) if isinstance(call_ids, list) else frozenset()


def repair_surrogates(response: ModelResponse) -> None:
    """Replace lone surrogates and NULs of a model's answer in place: it is stored, run and sent back to the model."""
    for part in response.parts:
        _repair_fields(part)
        if isinstance(arguments := getattr(part, "args", None), str):
            part.args = _ESCAPES.sub(lambda match: "\\ufffd" if match["half"] else match[0], arguments)  # type: ignore[union-attr]
    _repair_fields(response, "parts")


def _repair_fields(record: Any, *excluded: str) -> None:
    for field in fields(record):
        value = getattr(record, field.name) if field.name not in excluded else None
        if isinstance(value, str | dict | list) and (repaired := _repaired(value)) != value:
            setattr(record, field.name, repaired)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return to_storable(join_surrogates(value))
    if isinstance(value, dict):
        return {_repaired(name): _repaired(inner) for name, inner in value.items()}
    return [_repaired(inner) for inner in value] if isinstance(value, list) else value
