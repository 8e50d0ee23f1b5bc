"""Scorecards: what the ledger and people's decisions state about one version of an agent."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date

import msgspec

#: The quantile of a 95 % interval.
_Z = 1.959963984540054


class Interval(msgspec.Struct, frozen=True):
    """A 95 % interval of a share."""

    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Return whether two intervals have a value in common."""
        return self.low <= other.high and other.low <= self.high


def wilson_interval(successes: float, trials: float) -> Interval:
    """Return the Wilson interval of a share: from 0 to 1 without trials, and never outside of that."""
    if trials <= 0:
        return Interval(0.0, 1.0)
    share, square = successes / trials, _Z * _Z
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = _Z / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    low = 0.0 if successes <= 0 else max(0.0, middle - half)
    high = 1.0 if successes >= trials else min(1.0, middle + half)
    return Interval(low, high)


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over entries of the ledger."""

    #: All entries, and those with a verdict.
    runs: int = 0
    results: int = 0
    accepted: int = 0
    first_tries: int = 0
    accepted_first: int = 0
    claims: int = 0
    invented: int = 0
    #: The results with a claimed and a supported confidence, and the sums of both.
    scored: int = 0
    claimed: float = 0.0
    supported: float = 0.0
    cost: float = 0.0
    tokens: int = 0


class Scorecard(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an agent: its name, the digest of its definition, and its model."""

    agent: str
    definition: str
    model: str
    first_day: date | None = None
    last_day: date | None = None
    sums: Sums = Sums()
    #: Its findings that a person confirmed and rejected.
    confirmed: int = 0
    rejected: int = 0

    @property
    def first_try_rate(self) -> float | None:
        """The share of first submissions that were accepted."""
        return _share(self.sums.accepted_first, self.sums.first_tries)

    @property
    def first_try_interval(self) -> Interval:
        """The interval of that share."""
        return wilson_interval(self.sums.accepted_first, self.sums.first_tries)

    @property
    def invented_per_100(self) -> float | None:
        """Claims about something that does not exist, for each 100 claims."""
        rate = _share(self.sums.invented, self.sums.claims)
        return None if rate is None else 100 * rate

    @property
    def claimed_mean(self) -> float | None:
        """The mean confidence that its results claim."""
        return _share(self.sums.claimed, self.sums.scored)

    @property
    def supported_mean(self) -> float | None:
        """The mean confidence that the evidence of the same results supports."""
        return _share(self.sums.supported, self.sums.scored)

    @property
    def precision(self) -> float | None:
        """The share of its decided findings that a person confirmed."""
        return _share(self.confirmed, self.confirmed + self.rejected)

    @property
    def precision_interval(self) -> Interval:
        """The interval of that share."""
        return wilson_interval(self.confirmed, self.confirmed + self.rejected)

    @property
    def cost_per_accepted(self) -> float | None:
        """The cost of all its runs for each accepted result, in US dollars."""
        return _share(self.sums.cost, self.sums.accepted)


class FigureChange(msgspec.Struct, frozen=True, kw_only=True):
    """How one figure differs between two versions."""

    name: str
    one: float | None
    other: float | None
    #: None if a figure is missing or the change is neither better nor worse.
    is_better: bool | None = None
    #: Whether the change is larger than chance explains: the 95 % intervals do not overlap.
    is_clear: bool = False

    @property
    def change(self) -> float | None:
        """The second figure minus the first."""
        return None if self.one is None or self.other is None else self.other - self.one


def compare(scorecard: Scorecard, other: Scorecard) -> list[FigureChange]:
    """Return how a version (`other`) differs from the one before it, figure by figure."""

    def gap(card: Scorecard) -> float | None:
        if card.claimed_mean is None or card.supported_mean is None:
            return None
        return card.claimed_mean - card.supported_mean

    def invented_interval(card: Scorecard) -> Interval:
        return wilson_interval(card.sums.invented, card.sums.claims)

    figures: list[tuple[str, Callable[[Scorecard], float | None], bool, Callable[[Scorecard], Interval] | None]] = [
        ("accepted at first try", lambda card: card.first_try_rate, True, lambda card: card.first_try_interval),
        ("invented per 100 claims", lambda card: card.invented_per_100, False, invented_interval),
        ("claimed above supported confidence", gap, False, None),
        ("confirmed findings", lambda card: card.precision, True, lambda card: card.precision_interval),
        ("cost per accepted result", lambda card: card.cost_per_accepted, False, None),
    ]
    changes = []
    for name, figure, is_more_better, interval in figures:
        before, after = figure(scorecard), figure(other)
        is_known = before is not None and after is not None and before != after
        is_better = (after > before) is is_more_better if is_known else None  # type: ignore[operator]
        is_clear = interval is not None and is_known and not interval(scorecard).overlaps(interval(other))
        changes.append(FigureChange(name=name, one=before, other=after, is_better=is_better, is_clear=is_clear))
    return changes


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
