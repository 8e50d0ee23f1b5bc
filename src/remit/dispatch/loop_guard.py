"""A conversation that goes round in circles ends: the same error five times, or three rounds that change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from remit.dispatch.finish import RunStopped
from remit.registry.model import digest_of
from remit.store.transcript import FinishedCall

MAX_SAME_ERRORS = 5
MAX_SAME_ROUNDS = 3


class LoopGuard:
    """Watches the tool calls of one conversation. A round is what the model asks for in one turn."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._error = ""
        self._errors = 0
        self._turn = 0
        self._round: set[str] = set()
        self._earlier: set[str] = set()
        #: How many rounds in a row were the same as the last one that is over.
        self._rounds = 0

    def note(self, turn: int, name: str, arguments: Mapping[str, Any], text: str, *, failed: bool) -> None:
        """A call has been answered. Raises Stopped if this leads nowhere."""
        # The database keeps arguments in another order than the model gave them.
        given = msgspec.json.encode(arguments, order="sorted")
        call = digest_of(repr((name, given, text, failed)))
        if turn != self._turn:
            self._begin_round(turn)
        self._round.add(call)
        if self._rounds >= MAX_SAME_ROUNDS and call in self._earlier:
            raise RunStopped(
                "error", f"{self._rounds} rounds of the same calls, {name} among them, brought nothing new"
            )
        self._errors = (self._errors + 1 if call == self._error else 1) if failed else 0
        self._error = call if failed else ""
        if self._errors >= MAX_SAME_ERRORS:
            said = " ".join(text.split())[:300]
            raise RunStopped("error", f"{name} failed {self._errors} times in the same way: {said}")

    def recall(self, calls: Iterable[FinishedCall]) -> None:
        """The calls up to here, of a conversation that goes on. If it ended by them, somebody wants it to go on."""
        for call in calls:
            try:
                self.note(call.turn, call.name, call.arguments, call.output, failed=call.is_failed)
            except RunStopped:
                self._begin()

    def _begin_round(self, turn: int) -> None:
        self._rounds = self._rounds + 1 if self._round and self._round == self._earlier else int(bool(self._round))
        self._turn, self._earlier, self._round = turn, self._round, set()
