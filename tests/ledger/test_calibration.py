"""The calibration is that of a reference implementation, and too few decisions give no curve."""

from __future__ import annotations

import itertools
import random
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.ledger.calibration import (
    MIN_CURVE,
    MIN_RECALIBRATION,
    Cell,
    brier_score,
    calibrate,
    count_cells,
    isotonic_rates,
)

POINTS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=120)


def drawn(number: int, seed: int = 1) -> list[tuple[float, bool]]:
    """Return decisions on findings whose scores are too high by a third."""
    chance = random.Random(seed)
    scores = [chance.randrange(101) / 100 for _ in range(number)]
    return [(score, chance.random() < score * 0.67) for score in scores]


@given(POINTS)
def test_the_rates_are_those_of_scikit_learn(points: list[tuple[float, bool]]) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    cells = count_cells(points)
    scores = [cell.score for cell in cells]
    if len({float(score) for score in scores}) < 1 or any(b - a < 1e-12 for a, b in itertools.pairwise(scores)):
        return  # scikit-learn treats scores that are nearly equal as one
    fitted = isotonic.IsotonicRegression(y_min=0, y_max=1).fit(
        scores, [cell.confirmed / cell.decisions for cell in cells], [cell.decisions for cell in cells]
    )

    assert isotonic_rates(cells) == pytest.approx(list(fitted.predict(scores)), abs=1e-9)


@given(POINTS.filter(bool))
def test_the_brier_score_is_the_mean_squared_error_and_the_sum_of_its_parts(points: list[tuple[float, bool]]) -> None:
    brier = brier_score(count_cells(points))
    expected = sum((score - outcome) ** 2 for score, outcome in points) / len(points)

    assert brier.score == pytest.approx(expected, abs=1e-9)
    assert brier.score == pytest.approx(brier.reliability - brier.resolution + brier.uncertainty, abs=1e-9)


@given(POINTS)
def test_the_rates_never_decrease_and_keep_the_mean(points: list[tuple[float, bool]]) -> None:
    cells = count_cells(points)
    rates = isotonic_rates(cells)

    assert rates == sorted(rates)
    assert all(0 <= rate <= 1 for rate in rates)
    weighted = sum(rate * cell.decisions for rate, cell in zip(rates, cells, strict=True))
    assert weighted == pytest.approx(sum(cell.confirmed for cell in cells))


@given(POINTS.filter(bool))
def test_no_non_decreasing_line_has_a_smaller_error(points: list[tuple[float, bool]]) -> None:
    """The parts of the score are never negative: the curve is at least as good as the scores and as the mean."""
    brier = brier_score(count_cells(points))

    assert brier.reliability >= 0
    assert brier.resolution >= 0
    assert 0 <= brier.uncertainty <= 0.25


def test_pooling_works_on_a_case_done_by_hand() -> None:
    cells = [Cell(0.1, 1, 1), Cell(0.2, 1, 0), Cell(0.3, 2, 1), Cell(0.9, 1, 1)]

    assert isotonic_rates(cells) == [0.5, 0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("number", "has_curve", "has_recalibration", "note"),
    [
        (0, False, False, "0 decisions: a curve needs at least 50"),
        (MIN_CURVE - 1, False, False, "49 decisions: a curve needs at least 50"),
        (MIN_CURVE, True, False, "50 decisions: scores are not recalibrated under 200"),
        (MIN_RECALIBRATION - 1, True, False, "199 decisions: scores are not recalibrated under 200"),
        (MIN_RECALIBRATION, True, True, ""),
    ],
)
def test_few_decisions_give_no_curve_and_no_recalibration(
    number: int, has_curve: bool, has_recalibration: bool, note: str
) -> None:
    found = calibrate(drawn(number))

    assert found.decisions == number
    assert (found.curve is not None, found.brier is not None) == (has_curve, has_curve)
    assert (found.recalibration is not None) is has_recalibration
    assert found.note == note


def test_the_same_decisions_give_the_same_bands_and_the_bands_contain_the_curve() -> None:
    points = drawn(300)
    one, other = calibrate(points), calibrate(points[::-1])

    assert msgspec.json.encode(one) == msgspec.json.encode(other)
    assert one.curve is not None
    assert all(0 <= point.low <= point.rate <= point.high <= 1 for point in one.curve)
    assert calibrate(points, seed=2) != one


def test_bands_narrow_with_more_decisions() -> None:
    def width(number: int) -> float:
        curve = calibrate(drawn(number)).curve
        assert curve is not None
        return sum(point.high - point.low for point in curve) / len(curve)

    assert width(5000) < width(500) < width(60)


def test_bands_cover_the_true_rate() -> None:
    """Decisions are drawn with a known rate, so the bands should contain it nearly everywhere."""
    curve = calibrate(drawn(4000)).curve
    assert curve is not None
    inner = [point for point in curve if 0.05 < point.score < 0.95]
    covered = sum(point.low <= point.score * 0.67 <= point.high for point in inner)

    assert covered / len(inner) > 0.8


def test_scores_outside_the_range_and_missing_ones_do_no_harm() -> None:
    cells = count_cells([(-1.0, True), (2.0, False), (float("nan"), True), (-0.0, False)])

    assert cells == [Cell(0.0, 2, 1), Cell(1.0, 1, 0)]


def test_the_bands_of_the_rubric_count_every_decision_once() -> None:
    found = calibrate([(score / 100, score % 2 == 0) for score in range(101)])

    assert [(band.name, band.decisions) for band in found.bands] == [
        ("certain", 6),
        ("high", 10),
        ("moderate", 10),
        ("low", 15),
        ("ask for clarification", 60),
    ]
    assert sum(band.confirmed for band in found.bands) == found.confirmed


def test_the_time_does_not_grow_with_the_square_of_the_decisions() -> None:
    def seconds(number: int) -> float:
        chance = random.Random(3)
        points = [(score := chance.random(), chance.random() < score) for _ in range(number)]
        started = time.process_time()
        assert calibrate(points, resamples=2).decisions == number
        return time.process_time() - started

    assert seconds(30_000) < 30 * max(seconds(3_000), 0.01)
