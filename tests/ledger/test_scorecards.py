"""Scorecards state rates with their uncertainty; a change is clear only if chance does not explain it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.ledger.scorecards import Interval, Scorecard, Sums, compare, wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Brown, Cai and DasGupta (2001) and Wilson's formula: published values.
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 20, 0.0089, 0.2361), (0, 0, 0.0, 1.0)],
)
def test_wilson_intervals_are_the_published_ones(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson_interval(successes, trials)

    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_an_interval_contains_the_share_and_stays_between_0_and_1(one: int, other: int) -> None:
    successes, trials = sorted((one, other))
    found = wilson_interval(successes, trials)

    assert 0 <= found.low <= found.high <= 1
    if trials:
        assert found.low - 1e-12 <= successes / trials <= found.high + 1e-12


def card(**fields: object) -> Scorecard:
    counts = {name: fields.pop(name) for name in list(fields) if name in Sums.__struct_fields__}
    return Scorecard(agent="qa-engineer", definition="d", model="m", sums=Sums(**counts), **fields)  # type: ignore[arg-type]


def test_a_scorecard_has_the_figures_of_its_sums() -> None:
    found = card(
        results=10,
        accepted=8,
        first_tries=9,
        accepted_first=6,
        claims=200,
        invented=3,
        scored=2,
        claimed=180.0,
        supported=120.0,
        cost=4.0,
        confirmed=3,
        rejected=1,
    )

    assert found.first_try_rate == pytest.approx(6 / 9)
    assert found.invented_per_100 == 1.5
    assert (found.claimed_mean, found.supported_mean) == (90.0, 60.0)
    assert found.precision == 0.75
    assert found.cost_per_accepted == 0.5
    assert found.precision_interval == wilson_interval(3, 4)


def test_a_scorecard_without_results_has_no_rates() -> None:
    empty = card()

    assert [
        empty.first_try_rate,
        empty.invented_per_100,
        empty.claimed_mean,
        empty.supported_mean,
        empty.precision,
        empty.cost_per_accepted,
    ] == [None] * 6
    assert empty.first_try_interval == Interval(0.0, 1.0)


def test_a_comparison_states_what_is_better_and_what_chance_explains() -> None:
    before = card(results=100, accepted=60, first_tries=100, accepted_first=60, claims=1000, invented=50, cost=10.0)
    after = card(results=100, accepted=95, first_tries=100, accepted_first=90, claims=1000, invented=49, cost=10.0)
    found = {one.name: one for one in compare(before, after)}

    assert (found["accepted at first try"].is_better, found["accepted at first try"].is_clear) == (True, True)
    assert (found["invented per 100 claims"].is_better, found["invented per 100 claims"].is_clear) == (True, False)
    assert found["cost per accepted result"].is_better
    assert found["confirmed findings"].is_better is None
    assert found["confirmed findings"].change is None
    assert found["accepted at first try"].change == pytest.approx(0.3)


def test_equal_versions_do_not_differ() -> None:
    same = card(results=5, accepted=5, first_tries=5, accepted_first=5, scored=1, claimed=90.0, supported=80.0)

    assert all(one.is_better is None and not one.is_clear for one in compare(same, same))
