"""Calibration: how often findings with a score were confirmed by people.

The curve is an isotonic regression (pool adjacent violators), so it needs no bins; the Brier score is split with the
same curve into reliability, resolution and uncertainty (Dimitriadis, Gneiting and Jordan, 2021). The bands come from
resampling with a fixed seed, so the same decisions give the same plot. Under `MIN_CURVE` decisions there is no curve.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from remit.evidence.support import BANDS
from remit.ledger.scorecards import Interval, wilson_interval

#: The fewest decisions for a curve, and for a recalibration.
MIN_CURVE = 50
MIN_RECALIBRATION = 200
RESAMPLES = 200
#: Scores of resamples are rounded to this share, so that the time does not grow with the number of different scores.
_STEP = 0.001
_LOW, _HIGH = 0.025, 0.975
#: From here on a Poisson variate is drawn as a rounded normal one.
_LARGE = 16.0


class Cell(NamedTuple):
    """All decisions on findings with one score: how many there are, and how many were confirmed."""

    score: float
    decisions: float
    confirmed: float


class CurvePoint(msgspec.Struct, frozen=True):
    """The estimated share of confirmed findings at a score, its 95 % band, and the decisions at exactly this score."""

    score: float
    rate: float
    low: float
    high: float
    decisions: int


class Brier(msgspec.Struct, frozen=True):
    """The mean squared error of the scores: `reliability - resolution + uncertainty`. 0 is perfect."""

    score: float
    #: What a better calibration would save; 0 is calibrated.
    reliability: float
    #: What the scores tell apart; 0 is nothing.
    resolution: float
    uncertainty: float


class ScoreBand(msgspec.Struct, frozen=True):
    """The decisions on findings whose score is in a band of the rubric. The interval is a Wilson interval."""

    name: str
    #: The lowest score of the band.
    above: float
    decisions: int
    confirmed: int
    interval: Interval


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How scores compare with people's decisions."""

    schema: Literal["remit.calibration/1"] = "remit.calibration/1"
    decisions: int
    confirmed: int
    #: Why there is no curve or no recalibration; empty if there are both.
    note: str
    #: The share of confirmed findings, at any score.
    interval: Interval
    curve: tuple[CurvePoint, ...] | None
    brier: Brier | None
    bands: tuple[ScoreBand, ...]
    #: Score -> what it should have been. None with too few decisions.
    recalibration: tuple[tuple[float, float], ...] | None


def calibrate(points: Iterable[tuple[float, bool]], *, seed: int = 0, resamples: int = RESAMPLES) -> Calibration:
    """Compare scores, each from 0 to 1, with whether the finding was confirmed."""
    cells = count_cells(points)
    decisions, confirmed = int(sum(c.decisions for c in cells)), int(sum(c.confirmed for c in cells))
    curve = _curve(cells, seed, resamples) if decisions >= MIN_CURVE else None
    return Calibration(
        decisions=decisions,
        confirmed=confirmed,
        note=_note(decisions),
        interval=wilson_interval(confirmed, decisions),
        curve=curve,
        brier=brier_score(cells) if curve else None,
        bands=tuple(_score_bands(cells)),
        recalibration=tuple((point.score, point.rate) for point in curve)
        if curve and decisions >= MIN_RECALIBRATION
        else None,
    )


def recalibrated(calibration: Calibration, score: float) -> float | None:
    """Return what a score from 0 to 1 should have been; None with too few decisions."""
    known = calibration.recalibration
    return _interpolated([point[0] for point in known], [point[1] for point in known], score) if known else None


def _note(decisions: int) -> str:
    if decisions < MIN_CURVE:
        return f"{decisions} decision{'s' * (decisions != 1)}: a curve needs at least {MIN_CURVE}"
    if decisions < MIN_RECALIBRATION:
        return f"{decisions} decisions: scores are not recalibrated under {MIN_RECALIBRATION}"
    return ""


def count_cells(points: Iterable[tuple[float, bool]]) -> list[Cell]:
    """Count the decisions at each score, in the order of the scores. A score outside 0 to 1 is moved to the edge."""
    decisions: Counter[float] = Counter()
    confirmed: Counter[float] = Counter()
    for score, is_confirmed in points:
        if math.isnan(score):
            continue
        bounded = min(1.0, max(0.0, score)) + 0.0  # without -0.0
        decisions[bounded] += 1
        confirmed[bounded] += is_confirmed
    return [Cell(score, decisions[score], confirmed[score]) for score in sorted(decisions)]


def isotonic_rates(cells: Sequence[Cell]) -> list[float]:
    """Return the non-decreasing rates with the least squared error, one for each cell. The time is linear."""
    sums: list[float] = []
    weights: list[float] = []
    sizes: list[int] = []
    for cell in cells:
        total, weight, size = cell.confirmed, cell.decisions, 1
        # Compared as products: a division would make equal means differ.
        while sums and sums[-1] * weight >= total * weights[-1]:
            total, weight, size = total + sums.pop(), weight + weights.pop(), size + sizes.pop()
        sums.append(total)
        weights.append(weight)
        sizes.append(size)
    return [total / weight for total, weight, size in zip(sums, weights, sizes, strict=True) for _ in range(size)]


def brier_score(cells: Sequence[Cell]) -> Brier:
    """Return the Brier score and its three parts."""
    total = sum(cell.decisions for cell in cells)
    if not total:
        return Brier(0.0, 0.0, 0.0, 0.0)
    mean = sum(cell.confirmed for cell in cells) / total
    score = _squared_error(cells, [cell.score for cell in cells]) / total
    recalibrated = _squared_error(cells, isotonic_rates(cells)) / total
    uncertainty = mean * (1 - mean)
    return Brier(score, max(0.0, score - recalibrated), max(0.0, uncertainty - recalibrated), uncertainty)


def _squared_error(cells: Sequence[Cell], forecasts: Sequence[float]) -> float:
    return math.fsum(
        cell.confirmed * (1 - forecast) ** 2 + (cell.decisions - cell.confirmed) * forecast**2
        for cell, forecast in zip(cells, forecasts, strict=True)
    )


def _curve(cells: Sequence[Cell], seed: int, resamples: int) -> tuple[CurvePoint, ...]:
    bands = resampling_bands(cells, seed, resamples)
    points = []
    for cell, rate in zip(cells, isotonic_rates(cells), strict=True):
        low, high = bands[_rounded_score(cell.score)]
        points.append(CurvePoint(cell.score, rate, min(rate, low), max(rate, high), int(cell.decisions)))
    return tuple(points)


def resampling_bands(cells: Sequence[Cell], seed: int, resamples: int) -> dict[float, tuple[float, float]]:
    """Return the 2.5 % and 97.5 % quantiles of the curve over resamples, at each rounded score.

    Each decision occurs in a resample as often as a Poisson variate with mean 1 (the Poisson bootstrap), so a cell
    needs two variates, not one for each decision.
    """
    coarse = _rounded(cells)
    chance = random.Random(seed)  # noqa: S311 (not a secret: the same seed gives the same bands)
    drawn: list[list[float]] = [[] for _ in coarse]
    for _ in range(resamples):
        sample = [_resampled(cell, chance) for cell in coarse]
        kept = [cell for cell in sample if cell.decisions]
        if not kept:
            continue
        scores, rates = [cell.score for cell in kept], isotonic_rates(kept)
        for position, cell in enumerate(coarse):
            drawn[position].append(_interpolated(scores, rates, cell.score))
    bands = {}
    for cell, values in zip(coarse, map(sorted, drawn), strict=True):
        bands[cell.score] = (_quantile(values, _LOW), _quantile(values, _HIGH))
    return bands


def _rounded(cells: Sequence[Cell]) -> list[Cell]:
    decisions: Counter[float] = Counter()
    confirmed: Counter[float] = Counter()
    for cell in cells:
        score = _rounded_score(cell.score)
        decisions[score] += cell.decisions  # type: ignore[assignment]  # whole numbers
        confirmed[score] += cell.confirmed  # type: ignore[assignment]
    return [Cell(score, decisions[score], confirmed[score]) for score in sorted(decisions)]


def _rounded_score(score: float) -> float:
    return round(score / _STEP) * _STEP


def _resampled(cell: Cell, chance: random.Random) -> Cell:
    confirmed = _poisson(cell.confirmed, chance)
    return Cell(cell.score, confirmed + _poisson(cell.decisions - cell.confirmed, chance), confirmed)


def _poisson(mean: float, chance: random.Random) -> int:
    if mean <= 0:
        return 0
    if mean > _LARGE:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def _interpolated(scores: Sequence[float], rates: Sequence[float], score: float) -> float:
    """Return the curve at a score: linear between the cells, constant outside of them."""
    right_index = bisect_right(scores, score)
    if right_index == 0:
        return rates[0]
    if right_index == len(scores):
        return rates[-1]
    left, right = scores[right_index - 1], scores[right_index]
    return rates[right_index - 1] + (rates[right_index] - rates[right_index - 1]) * (score - left) / (right - left)


def _quantile(values: Sequence[float], share: float) -> float:
    if not values:
        return 0.0 if share < 0.5 else 1.0
    return values[min(len(values) - 1, max(0, round(share * (len(values) - 1))))]


def _score_bands(cells: Sequence[Cell]) -> Iterable[ScoreBand]:
    highest = math.inf
    for edge, name in BANDS:
        band = [cell for cell in cells if edge <= cell.score * 100 < highest or (edge == 0 and cell.score == 0)]
        decisions, confirmed = int(sum(c.decisions for c in band)), int(sum(c.confirmed for c in band))
        yield ScoreBand(name, edge, decisions, confirmed, wilson_interval(confirmed, decisions))
        highest = edge
