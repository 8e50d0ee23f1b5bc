"""How a run ends. The eight outcomes are different things, and none of them loses what there was."""

from __future__ import annotations

from typing import NamedTuple

from remit.store.jobs import Outcome


class Ended(NamedTuple):
    """The end of a run, and its last words."""

    outcome: Outcome
    text: str
    error: str | None = None


class Stopped(Exception):
    """The run ends here, with this outcome."""

    def __init__(self, outcome: Outcome, error: str) -> None:
        super().__init__(error)
        self.outcome: Outcome = outcome
        self.error = error


class TransportFailed(Exception):
    """The provider could not be reached or could not answer: worth another try later."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
