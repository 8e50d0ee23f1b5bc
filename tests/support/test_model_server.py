"""The scripted model server with the real clients of both providers."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from pydantic_ai import Agent
from pydantic_ai import exceptions as errors
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from support.model_process import RemoteServer, model_process
from support.model_server import ModelServer
from support.script import Script, Unscripted

pytestmark = [pytest.mark.process, pytest.mark.rotating(5)]

T = TypeVar("T")
WIRES = ("anthropic", "responses", "chat")
KEY = "test-key"
# By default the clients try three times, and Anthropic's client streams requests that could exceed ten minutes.
ONCE: dict[str, Any] = {"max_retries": 0, "max_tokens": 1000}

every_wire = pytest.mark.parametrize("wire", WIRES)
both_ways = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


def client(wire: str, url: str) -> Model:
    if wire == "anthropic":
        return AnthropicModel("claude-opus-5", provider=AnthropicProvider(base_url=url, api_key=KEY))
    provider = OpenAIProvider(base_url=f"{url}/v1", api_key=KEY)
    return (OpenAIResponsesModel if wire == "responses" else OpenAIChatModel)("gpt-5", provider=provider)


class Conversation:
    """One run of an agent: what it streamed, and all its messages."""

    def __init__(self) -> None:
        self.deltas: list[str] = []
        self.messages: list[ModelMessage] = []

    async def run(self, model: Model, *, streamed: bool, settings: dict[str, Any]) -> None:
        agent = Agent(
            model, system_prompt="the system", instructions="the contract", model_settings=cast(ModelSettings, settings)
        )
        agent.tool_plain(read)
        async with agent.iter("go") as run:
            try:
                async for node in run:
                    if streamed and Agent.is_model_request_node(node):
                        stream: Any = node.stream(run.ctx)
                        async with stream as events:
                            async for event in events:
                                self._note(event)
            finally:
                self.messages = run.all_messages()

    def _note(self, event: object) -> None:
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            self.deltas.append(event.part.content)
        if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            self.deltas.append(event.delta.content_delta)

    @property
    def responses(self) -> list[ModelResponse]:
        return [message for message in self.messages if isinstance(message, ModelResponse)]


def read(path: str) -> str:
    """Read a file."""
    return f"what is in {path}"


@contextlib.asynccontextmanager
async def served(wire: str, *turns: dict[str, Any]) -> AsyncIterator[tuple[ModelServer, Model]]:
    async with ModelServer({"conversations": {"": list(turns)}}) as server, client(wire, server.url) as model:
        yield server, model


def converse(
    wire: str, *turns: dict[str, Any], streamed: bool, settings: dict[str, Any] | None = None
) -> tuple[Conversation, ModelServer, Exception | None]:
    """Run a conversation; an error of the agent is returned, not raised."""

    async def whole() -> tuple[Conversation, ModelServer, Exception | None]:
        conversation = Conversation()
        async with served(wire, *turns) as (server, model):
            try:
                await conversation.run(model, streamed=streamed, settings=ONCE if settings is None else settings)
            except Exception as error:  # noqa: BLE001 - its type is the subject of the tests
                return conversation, server, error
        return conversation, server, None

    return asyncio.run(whole())


# Answers


@every_wire
@both_ways
def test_text_arrives_complete_in_the_scripted_number_of_chunks(wire: str, streamed: bool) -> None:
    conversation, server, error = converse(wire, {"text": "one two three four", "chunks": 4}, streamed=streamed)
    assert error is None
    assert conversation.responses[-1].text == "one two three four"
    assert conversation.responses[-1].finish_reason == "stop"
    assert len(conversation.deltas) == (4 if streamed else 0)
    assert server.requests[0].body.get("stream", False) is streamed


@every_wire
@both_ways
def test_several_tools_are_called_in_one_turn_and_their_results_come_back(wire: str, streamed: bool) -> None:
    tools = [{"name": "read", "input": {"path": "a"}}, {"name": "read", "input": {"path": "b"}, "id": "call_mine"}]
    turns = ({"text": "let me see", "tools": tools, "chunks": 3}, {"text": "done"})
    conversation, server, error = converse(wire, *turns, streamed=streamed)
    again, _, _ = converse(wire, *turns, streamed=streamed)
    calls = [part for part in conversation.responses[0].parts if isinstance(part, ToolCallPart)]
    assert error is None
    assert [call.args_as_dict() for call in calls] == [{"path": "a"}, {"path": "b"}]
    assert [call.tool_call_id for call in calls][1] == "call_mine"
    assert (
        calls[0].tool_call_id == next(p for p in again.responses[0].parts if isinstance(p, ToolCallPart)).tool_call_id
    )
    assert conversation.responses[-1].text == "done"
    assert [request.turn for request in server.requests] == [0, 1]
    assert all(f"what is in {path}" in str(server.requests[1].body) for path in "ab")


@every_wire
@both_ways
def test_tokens_are_counted_alike_on_every_wire(wire: str, streamed: bool) -> None:
    usage = {"input": 7, "output": 3, "cache_read": 100, "cache_write": 20}
    conversation, _, _ = converse(wire, {"text": "x", "usage": usage}, streamed=streamed)
    counted = conversation.responses[0].usage
    found = (counted.input_tokens, counted.output_tokens, counted.cache_read_tokens, counted.cache_write_tokens)
    assert found == (127, 3, 100, 20)


@every_wire
def test_arguments_can_be_broken_off(wire: str) -> None:
    turn = {"tools": [{"name": "read", "raw": '{"path": "a'}], "stop": "max_tokens"}
    _, _, error = converse(wire, turn, turn, streamed=True)
    assert isinstance(error, errors.IncompleteToolCall)


# Failures

STATUSES: dict[int, type[errors.ModelAPIError]] = {
    400: errors.ModelRequestRejectedError,
    401: errors.ModelAuthenticationError,
    404: errors.ModelNotFoundError,
    429: errors.ModelRateLimitError,
    500: errors.ModelServerError,
    503: errors.ModelUnavailableError,
    529: errors.ModelOverloadedError,
}


@every_wire
@both_ways
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_becomes_its_error(wire: str, streamed: bool, status: int) -> None:
    _, server, error = converse(wire, {"fail": {"status": status, "retry_after": 7}}, streamed=streamed)
    assert isinstance(error, STATUSES[status])
    assert isinstance(error, errors.ModelHTTPError)
    assert (error.status_code, error.retry_after, error.in_stream) == (status, 7, False)
    assert len(server.requests) == 1


def test_a_turn_answers_after_its_scripted_failures() -> None:
    script = Script({"conversations": {"": [{"fail": {"status": 500, "times": 2}, "text": "fine"}]}})
    turns = [script.turn("", 0, "m") for _ in range(4)]
    assert [turn.failure is None for turn in turns] == [False, False, True, True]
    assert turns[-1].reply.text == "fine"


@every_wire
def test_an_error_can_come_inside_a_stream(wire: str) -> None:
    turn = {"text": "one two three", "chunks": 3, "fail": {"status": 529, "after": 5}}
    conversation, server, error = converse(wire, turn, streamed=True, settings={"max_tokens": 1000})
    assert isinstance(error, errors.ModelOverloadedError)
    assert error.in_stream
    assert len(server.requests) == 1, "a stream that has started is not retried"
    assert conversation.responses[-1].state == "interrupted"
    assert "one two three".startswith("".join(conversation.deltas))


@every_wire
@both_ways
def test_a_connection_can_be_cut(wire: str, streamed: bool) -> None:
    _, _, error = converse(wire, {"text": "one two three", "chunks": 3, "truncate": 5}, streamed=streamed)
    assert isinstance(error, errors.ModelConnectionError)
    assert error.phase == "read"


@every_wire
@both_ways
def test_a_stalled_answer_times_out(wire: str, streamed: bool) -> None:
    conversation, _, error = converse(
        wire,
        {"text": "one two three", "chunks": 3, "stall": True, "after": 6},
        streamed=streamed,
        settings={**ONCE, "timeout": 0.2},
    )
    assert isinstance(error, errors.ModelTimeoutError)
    assert ("".join(conversation.deltas) != "") is streamed


# Waiting


def within(seconds: float, task: Callable[[], Awaitable[T]]) -> T:
    async def whole() -> T:
        async with asyncio.timeout(seconds):
            return await task()

    return asyncio.run(whole())


@every_wire
@both_ways
def test_an_answer_waits_at_its_gate(wire: str, streamed: bool) -> None:
    async def task() -> str:
        conversation = Conversation()
        async with served(wire, {"gate": "door", "text": "in"}) as (server, model), asyncio.TaskGroup() as group:
            group.create_task(conversation.run(model, streamed=streamed, settings=ONCE))
            await server.wait("door")
            assert not conversation.deltas
            server.open("door")
        return conversation.responses[-1].text or ""

    assert within(20, task) == "in"


@every_wire
def test_a_stalled_answer_goes_on_when_released(wire: str) -> None:
    async def task() -> str:
        conversation = Conversation()
        turn = {"text": "one two three", "chunks": 3, "stall": True, "after": 5}
        async with served(wire, turn) as (server, model), asyncio.TaskGroup() as group:
            group.create_task(conversation.run(model, streamed=True, settings=ONCE))
            await server.wait("release")
            server.release()
        return "".join(conversation.deltas)

    assert within(20, task) == "one two three"


def test_a_client_that_gives_up_no_longer_waits() -> None:
    async def task() -> None:
        async with served("anthropic", {"gate": "door", "text": "in"}) as (server, model):
            for arrived in (1, 2):
                running = asyncio.create_task(Conversation().run(model, streamed=True, settings=ONCE))
                await server.wait("door", arrived=arrived)
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            while server._gates["door"].waiting:  # noqa: ASYNC110 - the system reports it, there is no event
                await asyncio.sleep(0)

    within(20, task)


# Matching of conversations


def script() -> Script:
    return Script({"conversations": {"job-1": [{"text": "1"}], "job-10": [{"text": "10"}], "": [{"text": "any"}]}})


@pytest.mark.parametrize(
    ("system", "user", "marker"),
    [
        ("you are job-1", "", "job-1"),
        ("you are job-10", "", "job-10"),
        ("", "do job-1", "job-1"),
        ("you are job-1", "ask job-10", "job-1"),
        ("", "", ""),
    ],
)
def test_a_conversation_is_identified_by_its_marker(system: str, user: str, marker: str) -> None:
    assert script().marker(system, user) == marker


def test_a_request_without_a_marker_is_not_in_the_script() -> None:
    with pytest.raises(Unscripted, match="'job-1'"):
        Script({"conversations": {"job-1": [{"text": "1"}]}}).marker("you", "hello")


@every_wire
def test_a_turn_beyond_the_script_is_refused_by_name(wire: str) -> None:
    turn = {"tools": [{"name": "read", "input": {"path": "a"}}]}
    _, _, error = converse(wire, turn, turn, streamed=True)
    assert isinstance(error, errors.ModelRequestRejectedError)
    assert "conversation '' has 2 turns, turn 2 (counted from 0) is beyond them" in str(error)


@pytest.mark.parametrize(
    "turn",
    [
        {"txt": "misspelt"},
        {"fail": {"state": 500}},
        {"tools": [{"nam": "read"}]},
        {"fail": {"status": 500, "then": {"txt": ""}}},
        {"malformed": "xml"},
        {},
    ],
)
def test_a_misspelt_script_is_refused(turn: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="conversation 'm', turn 0"):
        Script({"conversations": {"m": [turn]}})


# Recorded requests


@every_wire
def test_requests_are_recorded_without_the_key(wire: str) -> None:
    _, server, _ = converse(wire, {"text": "x"}, streamed=False)
    request = server.requests[0]
    assert (request.method, request.marker, request.turn) == ("POST", "", 0)
    assert "[redacted]" in request.headers.values()
    assert KEY not in str(request)
    assert "the system" in str(request.body)
    assert [tool.get("name") or tool["function"]["name"] for tool in request.body["tools"]] == ["read"]


# A separate process


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[RemoteServer]:
    turns = [{"gate": "door", "text": "in"}]
    with model_process({"conversations": {"held": turns, "free": [{"text": "hello"}]}}, tmp_path) as server:
        yield server


CALLER = """
import json, sys, urllib.request
body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "held"}]}).encode()
urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/v1/messages", body)).read()
"""


def test_the_server_survives_a_killed_client(remote: RemoteServer) -> None:
    for arrived in (1, 2):
        with subprocess.Popen([sys.executable, "-c", CALLER, remote.url]) as caller:
            remote.wait("door", arrived=arrived)
            if arrived == 1:
                caller.kill()
            else:
                remote.open("door")
        assert (caller.returncode == 0) is (arrived == 2)
    assert [(request["marker"], request["turn"]) for request in remote.requests] == [("held", 0), ("held", 0)]
