"""Send requests to a model within the budget and the provider's limits, and classify failures."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from pydantic_ai import exceptions
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings

from remit.contract.tokens import estimate_tokens
from remit.dispatch.finish import RunStopped, TransportFailed
from remit.dispatch.models import check_key, model_prices, need_key, provider_of
from remit.dispatch.tools.toolbox import TOOLS
from remit.errors import UsageError
from remit.registry.definition import Brief
from remit.registry.tools import find_tool
from remit.secrets.scan import redact
from remit.store import jobs, transcript, workers
from remit.store.database import Database
from remit.store.transcript import EndedCall, StepRecord, UsageSums

T = TypeVar("T")
#: Seconds until a provider must answer, or continue its answer.
REQUEST_SECONDS = 600.0
#: The maximum number of tokens of one answer; the budget may allow fewer.
OUTPUT_TOKENS = 8_192
#: The models of this process, to be closed at its end.
_built: list[Model] = []
#: With less output than this, no request is sent.
_MIN_OUTPUT = 64
#: Seconds before each retry after a transport failure.
PAUSES = (2.0, 4.0, 8.0)
#: The longest `Retry-After` that is honoured. Less than the time after which a job counts as hung.
MAX_PAUSE = 600.0
_SLOT_PAUSE = 0.2
#: A job that waits for a provider marks itself as alive this often, or it would count as hung.
_TOUCH_SECONDS = 10.0
#: Characters of a provider's error text that are searched for secrets, and characters of it that are kept.
_MAX_SEARCHED, _MAX_KEPT = 20_000, 1_000
#: Failures that do not depend on the request.
_TRANSPORT_ERRORS = (
    exceptions.ModelConnectionError,
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelRequestTimeout,
)
_REQUEST_TIMEOUT = 408
#: Least share of an estimate that a provider's own count is. The error of an estimate is 15 %.
_LEAST = 0.85
#: Parts of the library's messages for an answer that is incomplete or does not come from a model.
_INCOMPLETE_ANSWER = ("Failed to decode", "ended without content")


class ModelClient:
    """Sends the requests of one attempt at a job. `limit` bounds the provider's concurrent requests of all workers."""

    def __init__(self, database: Database, job: int, attempt: int, model: str, limit: int | None) -> None:
        self._database = database
        self._job = job
        self._attempt = attempt
        self._model = model
        self._limit = limit
        #: The seconds until the provider may get requests again, known from the last reservation.
        self._wait = 0.0
        #: The provider, if it has answered since the last settlement.
        self._answered = ""

    async def reserve(
        self, input_tokens: int, request: StepRecord, calls: Sequence[EndedCall] = ()
    ) -> transcript.Reservation:
        """Reserve the cost of the next request, and store it with the calls whose outputs it has.

        Raises RunStopped if the budget does not allow a request.
        """
        wanted = transcript.BudgetRequest(
            input_tokens, OUTPUT_TOKENS, _MIN_OUTPUT, *model_prices(self._model), provider_of(self._model)
        )
        reserved = await transcript.reserve(self._database, self._job, self._attempt, wanted, request, calls)
        if isinstance(reserved, transcript.BudgetExhausted):
            raise RunStopped("budget", reserved.reason)
        self._wait = reserved.wait
        return reserved

    async def settle(
        self, reserved: transcript.Reservation, used: UsageSums, response: StepRecord | None
    ) -> frozenset[str]:
        """Count the actual usage of a request, and store its response; None: it was interrupted.

        Return which of the calls that start with the response are new.
        """
        actual = transcript.ActualUsage(used.input, used.output, used.cost, used.is_priced)
        request = (self._database, self._job, self._attempt, reserved, actual)
        answered, self._answered = self._answered, ""
        if response is None:
            await transcript.settle_broken(*request, answered=answered)
            return frozenset()
        return await transcript.settle(*request, response, answered=answered)

    async def ask(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send a request after its reservation, as soon as the provider is available.

        Raises TransportFailed if a retry makes sense.
        """
        provider = provider_of(self._model)
        if self._wait > 0:
            await self.pause(self._wait + random.uniform(0, 0.5))  # noqa: S311 (spreads load, not cryptographic)
        await self._wait_for_slot(provider)
        try:
            answer = await request()
        except Exception as error:
            failure = classify_error(error)
            if isinstance(failure, TransportFailed):
                await workers.provider_failed(self._database, provider)
            raise failure from error
        finally:
            if self._limit is not None:
                await workers.leave_slot(self._database, provider, self._job, self._attempt)
        self._answered = provider
        return answer

    async def pause(self, seconds: float) -> None:
        """Wait, and mark the job as alive meanwhile. Raises AttemptFenced if another attempt owns it."""
        left = seconds
        while left > _TOUCH_SECONDS:
            await asyncio.sleep(_TOUCH_SECONDS)
            left -= _TOUCH_SECONDS
            await jobs.touch(self._database, self._job, self._attempt)
        await asyncio.sleep(left)

    async def _wait_for_slot(self, provider: str) -> None:
        limit, touched = self._limit, time.monotonic()
        while limit is not None:
            if await workers.take_slot(self._database, provider, self._job, self._attempt, limit, REQUEST_SECONDS):
                return
            if time.monotonic() - touched > _TOUCH_SECONDS:
                await jobs.touch(self._database, self._job, self._attempt)
                touched = time.monotonic()
            await asyncio.sleep(_SLOT_PAUSE * random.uniform(0.5, 1.5))  # noqa: S311 (as above)


def classify_error(error: Exception, *, is_answer: bool = True) -> Exception:
    """Return the exception that an error means for the job; `is_answer`: it occurred while an answer was read."""
    # Some providers repeat an invalid key in the error. Redact before cutting, or a part of the key could stay.
    error_text = redact(" ".join(_error_text(error)[:_MAX_SEARCHED].split()))[:_MAX_KEPT]
    if isinstance(error, RunStopped | TransportFailed):
        return error
    if _is_transport(error):
        return TransportFailed(error_text, getattr(error, "retry_after", None))
    if isinstance(error, exceptions.ContentFilterError):
        return RunStopped("refused", error_text)
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return RunStopped("truncated", f"the conversation no longer fits into the model's context: {error_text}")
    if isinstance(error, exceptions.IncompleteToolCall):
        return RunStopped("truncated", error_text)
    if isinstance(error, exceptions.AgentRunError | exceptions.UserError):
        kind = "the provider refused" if isinstance(error, exceptions.ModelHTTPError) else type(error).__name__
        return RunStopped("error", f"{kind}: {error_text}")
    if is_answer and isinstance(error, TypeError | KeyError | AttributeError | ValueError):
        return RunStopped("error", f"the provider's answer cannot be parsed: {error_text}")
    return error


def _error_text(error: Exception) -> str:
    """Return the provider's message and the status code if the body has the usual form, else the whole error."""
    if not isinstance(error, exceptions.ModelHTTPError):
        return str(error)
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else inner
    return f"{message} ({error.status_code})" if isinstance(message, str) and message.strip() else str(error)


def _is_transport(error: Exception) -> bool:
    """Return whether an error does not depend on the request, so that a retry makes sense."""
    if isinstance(error, _TRANSPORT_ERRORS):
        return True
    if isinstance(error, exceptions.ModelHTTPError):
        return error.status_code == _REQUEST_TIMEOUT
    is_answer_error = type(error) in (exceptions.ModelAPIError, exceptions.UnexpectedModelBehavior)
    return is_answer_error and any(text in str(error) for text in _INCOMPLETE_ANSWER)


def retry_delay(attempt: int, retry_after: float | None) -> float:
    """Return the seconds to wait before try `attempt` + 1. A longer `Retry-After` of the provider takes precedence."""
    usual = PAUSES[attempt] * random.uniform(0.75, 1.25)  # noqa: S311 (spreads load, not cryptographic)
    return max(usual, min(retry_after or 0.0, MAX_PAUSE))


def sum_usage(messages: list[ModelMessage]) -> UsageSums:
    """Return the usage of a transcript."""
    total = UsageSums()
    for message in messages:
        if isinstance(message, ModelResponse):
            total = add_usage(total, response_usage(message))
    return total


def add_usage(sums: UsageSums, used: UsageSums) -> UsageSums:
    """Return the sum of two usages."""
    return UsageSums(
        sums.turns + used.turns,
        sums.input + used.input,
        sums.output + used.output,
        sums.cached + used.cached,
        sums.cost + used.cost,
        sums.is_priced and used.is_priced,
    )


def response_usage(response: ModelResponse) -> UsageSums:
    """Return the usage of one turn."""
    usage = response.usage
    try:
        cost, is_priced = float(response.cost().total_price), True
    except (LookupError, ValueError, AssertionError):
        cost, is_priced = 0.0, False
    return UsageSums(1, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, cost, is_priced)


def estimate_input(brief: Brief, messages: list[ModelMessage]) -> int:
    """Estimate the input tokens of the next request: the tokens of the last turn, and the messages since then."""
    for number, message in enumerate(reversed(messages)):
        if isinstance(message, ModelResponse):
            new = messages[len(messages) - number :]
            return message.usage.input_tokens + message.usage.output_tokens + _estimate(new)
    texts = (brief.system, brief.contract, _tool_specs(brief))
    return sum(map(estimate_tokens, texts)) + _estimate(messages)


def least_input(brief: Brief, messages: list[ModelMessage]) -> int:
    """Return a lower bound of the input tokens of the next request: its texts, less the error of the estimate."""
    parts = (part for message in messages for part in message.parts)
    texts = itertools.chain((brief.system, brief.contract), map(_part_text, parts))
    return int(_LEAST * sum(map(estimate_tokens, texts)))


def _tool_specs(brief: Brief) -> str:
    """Return the specs of the worker's own tools, about as long as they are sent. MCP tools are not known yet."""
    granted = (find_tool(written) for written in brief.tools)
    names = dict.fromkeys(tool.name for tool in granted if tool is not None and tool.name in TOOLS)
    return msgspec.json.encode([TOOLS[name].spec for name in names]).decode()


class RequestUsage:
    """One request to a model, and what it used if it is interrupted."""

    def __init__(self, model: str, input_tokens: int, least_input_tokens: int) -> None:
        self._model = model
        self._input_tokens = input_tokens
        self._least_input = least_input_tokens
        self.is_sent = False
        #: The stream of the answer, once it has started.
        self.stream: Any = None

    def correct(self, response: ModelResponse) -> None:
        """Replace numbers of tokens that are missing or too small by estimates: otherwise no budget would end."""
        reported = response.usage
        output_tokens = max(reported.output_tokens, _least_output(response))
        if reported.input_tokens <= 0:
            reported = replace(reported, input_tokens=self._input_tokens, cache_read_tokens=0)
        input_tokens = max(reported.input_tokens, self._least_input)
        response.usage = replace(reported, input_tokens=input_tokens, output_tokens=output_tokens)

    def used(self, error: BaseException) -> UsageSums:
        """Return the usage of an interrupted request. It does not count as a turn.

        These are the provider's own figures if there are any, else the estimated input and the text received. The
        usage is zero if the request was not sent, did not reach the provider, or was answered with an error at once.
        """
        response: ModelResponse | None = self.stream.response if self.stream is not None else None
        if response is not None and (response.parts or response.usage.input_tokens):
            reported = response.usage
            output = max(reported.output_tokens, _least_output(response))
            sent = max(reported.input_tokens or self._input_tokens, self._least_input)
            usage = replace(reported, input_tokens=sent, output_tokens=output)
            used = response_usage(replace(response, usage=usage))._replace(turns=0)
            return used if used.is_priced else self._priced(usage.input_tokens, output)
        is_waiting = not isinstance(error, Exception) or isinstance(error.__cause__, exceptions.ModelRequestTimeout)
        return self._priced(self._input_tokens, 0) if self.is_sent and is_waiting else UsageSums()

    def _priced(self, input_tokens: int, output_tokens: int) -> UsageSums:
        input_price, output_price = model_prices(self._model)
        cost = input_tokens * input_price + output_tokens * output_price
        return UsageSums(input=input_tokens, output=output_tokens, cost=cost, is_priced=output_price > 0)


def _least_output(response: ModelResponse) -> int:
    """Return a lower bound of the tokens of an answer: its texts and the arguments of its tool calls, so far."""
    return math.ceil(_LEAST * estimate_tokens("\n".join(map(_part_text, response.parts))))


def _part_text(part: Any) -> str:
    """Return the text or the arguments of a part of a message; "" for files and pictures."""
    content = getattr(part, "content", None) or getattr(part, "args", None)
    if isinstance(content, list):
        return "\n".join(text for text in content if isinstance(text, str))
    return "" if content is None or isinstance(content, BinaryContent) else str(content)


def _estimate(messages: list[ModelMessage]) -> int:
    return estimate_tokens(ModelMessagesTypeAdapter.dump_json(messages).decode())


@lru_cache(maxsize=32)
def build_model(name: str) -> Model:
    """Return the model. There is one client per process, so that all jobs share its connections."""
    check_key(provider_of(name))
    try:
        model = infer_model(name)
        _built.append(model)
    except exceptions.UserError as error:
        need_key(name)
        raise UsageError(f"the model {name!r} cannot be used: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise UsageError(f"the model {name!r} cannot be used: {' '.join(str(error).split())}") from error
    if provider_of(name) == "anthropic" and not model.profile.get("supports_inline_system_prompts"):
        # Otherwise the library adds a paragraph on later system prompts, which Remit never sends.
        from pydantic_ai.models.anthropic import AnthropicModel

        if isinstance(model, AnthropicModel):
            inline = {"supports_inline_system_prompts": True}
            return AnthropicModel(model.model_name, provider=model.provider, profile=inline)  # type: ignore[arg-type]
    if provider_of(name) != "anthropic":
        model.continuation_delay = _no_continuation  # type: ignore[method-assign]
    return model


async def close_models() -> None:
    """Close the connections of this process's models. The next call of `build_model` opens new ones."""
    built, _built[:] = list(_built), []
    build_model.cache_clear()
    for model in built:
        async with model:
            pass  # the last exit from a model closes its client


def _no_continuation(response: ModelResponse) -> float | None:
    """Raise for an answer that looks like work in the background: Remit never requests that."""
    if response.state == "suspended":
        raise exceptions.UnexpectedModelBehavior(
            "the provider's answer cannot be parsed: it has neither text nor an end"
        )
    return None


def instruction_blocks(brief: Brief) -> tuple[tuple[str, ...], str | None]:
    """Return the brief as system prompts and instructions, so that its text and the contract are sent separately."""
    texts = tuple(text for text in (brief.system, brief.contract) if text)
    if provider_of(brief.model) == "openai":
        return texts, None
    return (brief.system,) if brief.system else (), brief.contract or None


def model_settings(name: str, output: int) -> ModelSettings:
    """Return the settings of one request: without the library's retries, with the provider's cache."""
    if provider_of(name) == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModelSettings

        return AnthropicModelSettings(
            max_tokens=output,
            timeout=REQUEST_SECONDS,
            request_timeout=REQUEST_SECONDS,
            max_retries=0,
            anthropic_cache_instructions=True,
            anthropic_cache_tool_definitions=True,
            anthropic_cache_messages=True,
        )
    return ModelSettings(max_tokens=output, timeout=REQUEST_SECONDS, request_timeout=REQUEST_SECONDS, max_retries=0)
