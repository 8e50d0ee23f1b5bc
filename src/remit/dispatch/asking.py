"""One request to a model: within the budget, in its turn, and with a failure that is understood."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic_ai import exceptions

from remit.dispatch.models import OUTPUT_TOKENS, REQUEST_SECONDS, prices, provider_of
from remit.dispatch.outcome import Stopped, TransportFailed
from remit.dispatch.redact import redacted
from remit.store import budgets, fleet, jobs
from remit.store.database import Database
from remit.store.transcript import Sums

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


class Asker:
    """Asks the model of one attempt at a job."""

    def __init__(self, database: Database, job: int, attempt: int, model: str, most: int | None) -> None:
        self._database = database
        self._job = job
        self._attempt = attempt
        self._model = model
        self._most = most

    async def reserve(self, sent: int) -> budgets.Reservation:
        """Set the cost of the next request aside; Stopped if the budget does not allow one."""
        wanted = budgets.Wanted(sent, OUTPUT_TOKENS, _LEAST_OUTPUT, *prices(self._model))
        held = await budgets.reserve(self._database, self._job, self._attempt, wanted)
        if isinstance(held, budgets.Exhausted):
            raise Stopped("budget", held.what)
        return held

    async def settle(self, held: budgets.Reservation, used: Sums, *, is_broken: bool = False) -> None:
        """Count what the request really took; `is_broken`: no turn came of it."""
        taken = budgets.Taken(used.input, used.output, used.cost)
        await budgets.settle(self._database, self._job, self._attempt, held, taken, is_broken=is_broken)

    async def ask(self, request: Callable[[], Awaitable[T]]) -> T:
        """Do a request when the provider may be asked. Raises TransportFailed where another try makes sense."""
        provider = provider_of(self._model)
        wait = await fleet.circuit_wait(self._database, provider)
        if wait > 0:
            await self.pause(wait + random.uniform(0, 0.5))  # noqa: S311 (spreading load, not guarding anything)
        await self._wait_for_slot(provider)
        try:
            answer = await request()
        except Exception as error:
            failure = understood(error)
            if isinstance(failure, TransportFailed):
                await fleet.provider_failed(self._database, provider)
            raise failure from error
        finally:
            if self._most is not None:
                await fleet.leave_slot(self._database, provider, self._job, self._attempt)
        await fleet.provider_answered(self._database, provider)
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
            if await fleet.take_slot(self._database, provider, self._job, self._attempt, most, REQUEST_SECONDS):
                return
            if time.monotonic() - told > _TELL_SECONDS:
                await jobs.touch(self._database, self._job, self._attempt)
                told = time.monotonic()
            await asyncio.sleep(_SLOT_PAUSE * random.uniform(0.5, 1.5))  # noqa: S311 (as above)


def understood(error: Exception, *, is_answer: bool = True) -> Exception:
    """A provider's failure as what it means for the job; `is_answer`: it came while its answer was read."""
    # Some providers repeat the key that they do not like: it must not be cut before it is looked for.
    said = redacted(" ".join(_said(error)[:_READ].split()))[:_TOLD]
    if isinstance(error, Stopped | TransportFailed):
        return error
    if _is_transport(error):
        return TransportFailed(said, getattr(error, "retry_after", None))
    if isinstance(error, exceptions.ContentFilterError):
        return Stopped("refused", said)
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return Stopped("truncated", f"the conversation no longer fits into the model: {said}")
    if isinstance(error, exceptions.IncompleteToolCall):
        return Stopped("truncated", said)
    if isinstance(error, exceptions.AgentRunError | exceptions.UserError):
        who = "the provider refused" if isinstance(error, exceptions.ModelHTTPError) else type(error).__name__
        return Stopped("error", f"{who}: {said}")
    if is_answer and isinstance(error, TypeError | KeyError | AttributeError | ValueError):
        return Stopped("error", f"the provider's answer cannot be understood: {said}")
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


def pause_before(attempt: int, retry_after: float | None) -> float:
    """How long to wait before try number `attempt` + 1; what the provider asks for counts if it is more."""
    usual = PAUSES[attempt] * random.uniform(0.75, 1.25)  # noqa: S311 (spreading load, not guarding anything)
    return max(usual, min(retry_after or 0.0, MOST_PAUSE))
