"""Scorecards and learned weights as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from remit.ledger.scorecards import FigureChange, Scorecard
from remit.merging.merge_data import LearnedNote
from remit.reports.layout import Line, Piece, escape_control

_DIGEST = 12
_NAMES_HEAD = "agent, definition, model"


class ScorecardShape(msgspec.Struct, kw_only=True):
    """A scorecard in JSON: its sums and its rates."""

    agent: str
    definition: str
    model: str
    first_day: str | None
    last_day: str | None
    sums: dict[str, float]
    confirmed: int
    rejected: int
    first_try_rate: float | None
    first_try_interval: tuple[float, float]
    invented_per_100: float | None
    claimed_mean: float | None
    supported_mean: float | None
    precision: float | None
    precision_interval: tuple[float, float]
    cost_per_accepted: float | None


def scorecard_shape(card: Scorecard) -> ScorecardShape:
    """Return a scorecard for JSON."""
    return ScorecardShape(
        agent=card.agent,
        definition=card.definition,
        model=card.model,
        first_day=card.first_day.isoformat() if card.first_day else None,
        last_day=card.last_day.isoformat() if card.last_day else None,
        sums=msgspec.structs.asdict(card.sums),
        confirmed=card.confirmed,
        rejected=card.rejected,
        first_try_rate=card.first_try_rate,
        first_try_interval=(card.first_try_interval.low, card.first_try_interval.high),
        invented_per_100=card.invented_per_100,
        claimed_mean=card.claimed_mean,
        supported_mean=card.supported_mean,
        precision=card.precision,
        precision_interval=(card.precision_interval.low, card.precision_interval.high),
        cost_per_accepted=card.cost_per_accepted,
    )


def scorecard_lines(cards: Sequence[Scorecard]) -> Iterator[Line]:
    """Yield a table with a line for each version of an agent."""
    if not cards:
        yield [Piece("no results are recorded yet")]
        return
    names = [escape_control(version_name(card)) for card in cards]
    width = min(60, max(len(_NAMES_HEAD), *map(len, names)))
    head = f"{_NAMES_HEAD:<{width}}  results  first try  invented  claimed  supported  confirmed  cost"
    yield [Piece(head, "bold")]
    for card, name in zip(cards, names, strict=True):
        decided = card.confirmed + card.rejected
        confirmed = f"{_share(card.precision)} of {decided}" if decided else "-"
        cells = (
            f"{card.sums.results:>7}",
            f"{_share(card.first_try_rate):>9}",
            f"{_number(card.invented_per_100):>8}",
            f"{_number(card.claimed_mean):>7}",
            f"{_number(card.supported_mean):>9}",
            f"{confirmed:>9}",
            f"{'-' if card.cost_per_accepted is None else f'${card.cost_per_accepted:.3f}'}",
        )
        yield [Piece(f"{name[:width]:<{width}}  {'  '.join(cells)}")]


def version_name(card: Scorecard) -> str:
    """Return the agent with the start of its definition's digest, and its model."""
    digest = card.definition.removeprefix("sha256:")[:_DIGEST]
    return " ".join(filter(None, (card.agent, digest, card.model.rpartition(":")[2])))


def difference_lines(differences: Sequence[FigureChange]) -> Iterator[Line]:
    """Yield how two versions differ; `?` marks a change that chance may explain."""
    for difference in differences:
        mark = "" if difference.is_better is None else "better" if difference.is_better else "worse"
        doubt = "" if difference.is_clear or not mark else " ?"
        style = "green" if mark == "better" else "red" if mark else "dim"
        figures = f"{difference.name:<36}{_figure(difference.one):>10} -> {_figure(difference.other):<10}"
        yield [Piece(figures), Piece(f"{mark}{doubt}", style)]


def learned_lines(note: LearnedNote) -> Iterator[Line]:
    """Yield learned weights and the worth of agreement, with their sample sizes."""
    until = f" until {note.until}" if note.until else ""
    yield [Piece(f"learned from {note.decisions} decisions{until} (digest {note.digest})", "bold")]
    yield [Piece(f"  team's mean {note.team:.2f}: the weight of an agent without decisions", "dim")]
    for weight in note.weights:
        name = escape_control(f"{weight.agent}/{weight.category}" if weight.category else weight.agent)
        yield [Piece(f"  {name:<40} weight {weight.weight:.2f}  {weight.confirmed} of {weight.decisions} confirmed")]
    for worth in note.agreement:
        agents = f"{worth.agents} agents" if worth.agents > 1 else "1 agent"
        text = f"  {agents:<40} {worth.bonus:+.0f} points  {worth.confirmed} of {worth.decisions} confirmed"
        yield [Piece(text)]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
