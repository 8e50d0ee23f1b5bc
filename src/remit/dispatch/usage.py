"""What a conversation uses: counted where the provider says it, estimated where an answer broke off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from pydantic_ai import exceptions
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from remit.contract.tokens import estimate_tokens
from remit.dispatch.models import prices
from remit.dispatch.tools.catalogue import TOOLS
from remit.registry.model import Brief
from remit.registry.tools import known
from remit.store.transcript import Sums


def sums_of(messages: list[ModelMessage]) -> Sums:
    """What a transcript has used."""
    total = Sums()
    for message in messages:
        if isinstance(message, ModelResponse):
            total = plus(total, used_by(message))
    return total


def plus(sums: Sums, used: Sums) -> Sums:
    """Both together."""
    return Sums(
        sums.turns + used.turns,
        sums.input + used.input,
        sums.output + used.output,
        sums.cached + used.cached,
        sums.cost + used.cost,
        sums.is_priced and used.is_priced,
    )


def used_by(response: ModelResponse) -> Sums:
    """What one turn has used."""
    usage = response.usage
    try:
        cost, is_priced = float(response.cost().total_price), True
    except (LookupError, ValueError, AssertionError):
        cost, is_priced = 0.0, False
    return Sums(1, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, cost, is_priced)


def input_of(brief: Brief, messages: list[ModelMessage]) -> int:
    """About how many tokens the next request sends: what was sent and got last, and what is new since."""
    for number, message in enumerate(reversed(messages)):
        if isinstance(message, ModelResponse):
            new = messages[len(messages) - number :]
            return message.usage.input_tokens + message.usage.output_tokens + _estimated(new)
    told = (brief.system, brief.contract, _tools_of(brief))
    return sum(map(estimate_tokens, told)) + _estimated(messages)


def _tools_of(brief: Brief) -> str:
    """The worker's own tools as a model is told of them, about as long as they are sent. Others' are not known yet."""
    granted = (known(written) for written in brief.tools)
    names = dict.fromkeys(tool.name for tool in granted if tool is not None and tool.name in TOOLS)
    return msgspec.json.encode([TOOLS[name].spec for name in names]).decode()


class Asked:
    """One request to a model: how far it got, and so what it took if it breaks off."""

    def __init__(self, model: str, sent: int) -> None:
        self._model = model
        self._sent = sent
        self.is_sent = False
        #: The stream of the answer, once there is one.
        self.answer: Any = None

    def taken(self, error: BaseException) -> Sums:
        """What it took although no answer came of it. It is no turn.

        The provider's own figures where it gave any, else what was sent and the words that came. Nothing, if it
        was not sent, not reached, or answered with an error at once.
        """
        response: ModelResponse | None = self.answer.response if self.answer is not None else None
        if response is not None and (response.parts or response.usage.input_tokens):
            known = response.usage
            got = max(known.output_tokens, estimate_tokens(_words(response)))
            usage = replace(known, input_tokens=known.input_tokens or self._sent, output_tokens=got)
            used = used_by(replace(response, usage=usage))._replace(turns=0)
            return used if used.is_priced else self._priced(usage.input_tokens, got)
        is_waiting = not isinstance(error, Exception) or isinstance(error.__cause__, exceptions.ModelRequestTimeout)
        return self._priced(self._sent, 0) if self.is_sent and is_waiting else Sums()

    def _priced(self, sent: int, got: int) -> Sums:
        prices_of_one = prices(self._model)
        cost = sent * prices_of_one[0] + got * prices_of_one[1]
        return Sums(input=sent, output=got, cost=cost, is_priced=prices_of_one[1] > 0)


def _words(response: ModelResponse) -> str:
    """What a model has said so far: text, and the arguments of calls."""
    said = (getattr(part, "content", None) or getattr(part, "args", None) or "" for part in response.parts)
    return "\n".join(map(str, said))


def _estimated(messages: list[ModelMessage]) -> int:
    return estimate_tokens(ModelMessagesTypeAdapter.dump_json(messages).decode())
