"""One request to a model: within the budget, in its turn, and with a failure that is understood."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from pydantic_ai import exceptions
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from remit.contract.tokens import estimate_tokens
from remit.dispatch.finish import RunStopped, TransportFailed
from remit.dispatch.models import OUTPUT_TOKENS, REQUEST_SECONDS, model_prices, provider_of
from remit.dispatch.redact import redact
from remit.dispatch.tools.catalogue import TOOLS
from remit.registry.model import Brief
from remit.registry.tools import find_tool
from remit.store import budgets, jobs, workers
from remit.store.database import Database
from remit.store.transcript import UsageSums

T = TypeVar("T")
#: An answer that could not be longer than this is not worth asking for.
_LEAST_OUTPUT = 64
#: Pauses before each further try at a provider that could not be reached.
PAUSES = (2.0, 4.0, 8.0)
#: What a provider may ask for (`Retry-After`): longer is not waited. Less than what a job takes to be taken for hung.
MOST_PAUSE = 600.0
_SLOT_PAUSE = 0.2
#: Who waits for a provider says so now and then, or would be taken for one that hangs.
_TELL_SECONDS = 10.0
#: So much of what a provider says is read for secrets, and so much of that is told.
_READ, _TOLD = 20_000, 1_000
#: Failures that say nothing about the request itself.
_TRANSPORT = (
    exceptions.ModelConnectionError,
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelRequestTimeout,
)
_REQUEST_TIMEOUT = 408
_BROKEN = ("Failed to decode", "ended without content")


class ModelClient:
    """Asks the model of one attempt at a job."""

    def __init__(self, database: Database, job: int, attempt: int, model: str, most: int | None) -> None:
        self._database = database
        self._job = job
        self._attempt = attempt
        self._model = model
        self._most = most

    async def reserve(self, sent: int) -> budgets.Reservation:
        """Set the cost of the next request aside; Stopped if the budget does not allow one."""
        wanted = budgets.BudgetRequest(sent, OUTPUT_TOKENS, _LEAST_OUTPUT, *model_prices(self._model))
        held = await budgets.reserve(self._database, self._job, self._attempt, wanted)
        if isinstance(held, budgets.BudgetExhausted):
            raise RunStopped("budget", held.what)
        return held

    async def settle(self, held: budgets.Reservation, used: UsageSums, *, is_broken: bool = False) -> None:
        """Count what the request really took; `is_broken`: no turn came of it."""
        taken = budgets.ActualUsage(used.input, used.output, used.cost)
        await budgets.settle(self._database, self._job, self._attempt, held, taken, is_broken=is_broken)

    async def ask(self, request: Callable[[], Awaitable[T]]) -> T:
        """Do a request when the provider may be asked. Raises TransportFailed where another try makes sense."""
        provider = provider_of(self._model)
        wait = await workers.circuit_wait(self._database, provider)
        if wait > 0:
            await self.pause(wait + random.uniform(0, 0.5))  # noqa: S311 (spreading load, not guarding anything)
        await self._wait_for_slot(provider)
        try:
            answer = await request()
        except Exception as error:
            failure = classify_error(error)
            if isinstance(failure, TransportFailed):
                await workers.provider_failed(self._database, provider)
            raise failure from error
        finally:
            if self._most is not None:
                await workers.leave_slot(self._database, provider, self._job, self._attempt)
        await workers.provider_answered(self._database, provider)
        return answer

    async def pause(self, seconds: float) -> None:
        """Wait, and say now and then that the job does not hang. Raises Fenced if it is somebody else's."""
        left = seconds
        while left > _TELL_SECONDS:
            await asyncio.sleep(_TELL_SECONDS)
            left -= _TELL_SECONDS
            await jobs.touch(self._database, self._job, self._attempt)
        await asyncio.sleep(left)

    async def _wait_for_slot(self, provider: str) -> None:
        most, told = self._most, time.monotonic()
        while most is not None:
            if await workers.take_slot(self._database, provider, self._job, self._attempt, most, REQUEST_SECONDS):
                return
            if time.monotonic() - told > _TELL_SECONDS:
                await jobs.touch(self._database, self._job, self._attempt)
                told = time.monotonic()
            await asyncio.sleep(_SLOT_PAUSE * random.uniform(0.5, 1.5))  # noqa: S311 (as above)


def classify_error(error: Exception, *, is_answer: bool = True) -> Exception:
    """A provider's failure as what it means for the job; `is_answer`: it came while its answer was read."""
    # Some providers repeat the key that they do not like: it must not be cut before it is looked for.
    said = redact(" ".join(_said(error)[:_READ].split()))[:_TOLD]
    if isinstance(error, RunStopped | TransportFailed):
        return error
    if _is_transport(error):
        return TransportFailed(said, getattr(error, "retry_after", None))
    if isinstance(error, exceptions.ContentFilterError):
        return RunStopped("refused", said)
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return RunStopped("truncated", f"the conversation no longer fits into the model: {said}")
    if isinstance(error, exceptions.IncompleteToolCall):
        return RunStopped("truncated", said)
    if isinstance(error, exceptions.AgentRunError | exceptions.UserError):
        who = "the provider refused" if isinstance(error, exceptions.ModelHTTPError) else type(error).__name__
        return RunStopped("error", f"{who}: {said}")
    if is_answer and isinstance(error, TypeError | KeyError | AttributeError | ValueError):
        return RunStopped("error", f"the provider's answer cannot be understood: {said}")
    return error


def _said(error: Exception) -> str:
    """What a provider says of its failure: its own sentence and the status, where its answer has the usual form."""
    if not isinstance(error, exceptions.ModelHTTPError):
        return str(error)
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    words = inner.get("message") if isinstance(inner, dict) else inner
    return f"{words} ({error.status_code})" if isinstance(words, str) and words.strip() else str(error)


def _is_transport(error: Exception) -> bool:
    """Whether a failure says nothing about the request itself, so that another try makes sense."""
    if isinstance(error, _TRANSPORT):
        return True
    if isinstance(error, exceptions.ModelHTTPError):
        return error.status_code == _REQUEST_TIMEOUT
    # An answer that broke off, or was no answer of a model at all.
    broken = type(error) in (exceptions.ModelAPIError, exceptions.UnexpectedModelBehavior)
    return broken and any(words in str(error) for words in _BROKEN)


def retry_delay(attempt: int, retry_after: float | None) -> float:
    """How long to wait before try number `attempt` + 1; what the provider asks for counts if it is more."""
    usual = PAUSES[attempt] * random.uniform(0.75, 1.25)  # noqa: S311 (spreading load, not guarding anything)
    return max(usual, min(retry_after or 0.0, MOST_PAUSE))


def sum_usage(messages: list[ModelMessage]) -> UsageSums:
    """What a transcript has used."""
    total = UsageSums()
    for message in messages:
        if isinstance(message, ModelResponse):
            total = add_usage(total, response_usage(message))
    return total


def add_usage(sums: UsageSums, used: UsageSums) -> UsageSums:
    """Both together."""
    return UsageSums(
        sums.turns + used.turns,
        sums.input + used.input,
        sums.output + used.output,
        sums.cached + used.cached,
        sums.cost + used.cost,
        sums.is_priced and used.is_priced,
    )


def response_usage(response: ModelResponse) -> UsageSums:
    """What one turn has used."""
    usage = response.usage
    try:
        cost, is_priced = float(response.cost().total_price), True
    except (LookupError, ValueError, AssertionError):
        cost, is_priced = 0.0, False
    return UsageSums(1, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, cost, is_priced)


def estimate_input(brief: Brief, messages: list[ModelMessage]) -> int:
    """About how many tokens the next request sends: what was sent and got last, and what is new since."""
    for number, message in enumerate(reversed(messages)):
        if isinstance(message, ModelResponse):
            new = messages[len(messages) - number :]
            return message.usage.input_tokens + message.usage.output_tokens + _estimated(new)
    told = (brief.system, brief.contract, _tools_of(brief))
    return sum(map(estimate_tokens, told)) + _estimated(messages)


def _tools_of(brief: Brief) -> str:
    """The worker's own tools as a model is told of them, about as long as they are sent. Others' are not known yet."""
    granted = (find_tool(written) for written in brief.tools)
    names = dict.fromkeys(tool.name for tool in granted if tool is not None and tool.name in TOOLS)
    return msgspec.json.encode([TOOLS[name].spec for name in names]).decode()


class RequestUsage:
    """One request to a model: how far it got, and so what it took if it breaks off."""

    def __init__(self, model: str, sent: int) -> None:
        self._model = model
        self._sent = sent
        self.is_sent = False
        #: The stream of the answer, once there is one.
        self.answer: Any = None

    def taken(self, error: BaseException) -> UsageSums:
        """What it took although no answer came of it. It is no turn.

        The provider's own figures where it gave any, else what was sent and the words that came. Nothing, if it
        was not sent, not reached, or answered with an error at once.
        """
        response: ModelResponse | None = self.answer.response if self.answer is not None else None
        if response is not None and (response.parts or response.usage.input_tokens):
            known = response.usage
            got = max(known.output_tokens, estimate_tokens(_words(response)))
            usage = replace(known, input_tokens=known.input_tokens or self._sent, output_tokens=got)
            used = response_usage(replace(response, usage=usage))._replace(turns=0)
            return used if used.is_priced else self._priced(usage.input_tokens, got)
        is_waiting = not isinstance(error, Exception) or isinstance(error.__cause__, exceptions.ModelRequestTimeout)
        return self._priced(self._sent, 0) if self.is_sent and is_waiting else UsageSums()

    def _priced(self, sent: int, got: int) -> UsageSums:
        prices_of_one = model_prices(self._model)
        cost = sent * prices_of_one[0] + got * prices_of_one[1]
        return UsageSums(input=sent, output=got, cost=cost, is_priced=prices_of_one[1] > 0)


def _words(response: ModelResponse) -> str:
    """What a model has said so far: text, and the arguments of calls."""
    said = (getattr(part, "content", None) or getattr(part, "args", None) or "" for part in response.parts)
    return "\n".join(map(str, said))


def _estimated(messages: list[ModelMessage]) -> int:
    return estimate_tokens(ModelMessagesTypeAdapter.dump_json(messages).decode())
