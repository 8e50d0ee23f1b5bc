"""Learned weights follow people's decisions, are shrunk where there are few, and can be reproduced."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.ledger.learned import STRENGTH, DecidedOpinion, decision_points, learn, shrunk_share

AT = datetime(2026, 3, 2, tzinfo=UTC)


def opinion(item: int, agent: str, *, right: bool, category: str = "security", agents: int = 1) -> DecidedOpinion:
    return DecidedOpinion(
        item=item, agent=agent, category=category, confidence=80, agents=agents, is_confirmed=right, at=AT
    )


OPINIONS = st.lists(
    st.builds(
        opinion,
        item=st.integers(1, 60),
        agent=st.sampled_from(["a", "b", "c"]),
        right=st.booleans(),
        category=st.sampled_from(["security", "error-handling", ""]),
        agents=st.integers(0, 9),
    ),
    max_size=80,
)


def weights(opinions: list[DecidedOpinion]) -> dict[tuple[str, str], float]:
    return {(one.agent, one.category): one.weight for one in learn(opinions).weights}


def test_an_agent_that_is_right_more_often_has_more_weight() -> None:
    found = weights(
        [opinion(n, "good", right=n % 10 != 0) for n in range(100)]
        + [opinion(100 + n, "bad", right=n % 10 == 0) for n in range(100)]
    )

    assert found["good", ""] > 0.85
    assert found["bad", ""] < 0.15
    assert found["good", "security"] == found["good", ""]


def test_one_decision_hardly_moves_an_agent_from_the_teams_mean() -> None:
    found = learn([opinion(n, "team", right=n % 2 == 0) for n in range(200)] + [opinion(900, "new", right=True)])
    new = next(one for one in found.weights if (one.agent, one.category) == ("new", ""))

    assert (new.decisions, new.confirmed) == (1, 1)
    assert found.team < new.weight < found.team + 1 / STRENGTH


def test_an_agent_is_expected_to_be_in_a_new_category_as_it_is_in_others() -> None:
    known = [opinion(n, "good", right=True) for n in range(100)] + [
        opinion(200 + n, "bad", right=False) for n in range(100)
    ]
    found = weights([*known, opinion(900, "good", right=False, category="style")])

    assert 0.5 < found["good", "style"] < found["good", ""]


def test_the_agreement_of_a_public_benchmark_is_found_again() -> None:
    """Of findings that 1, 2, 3, 4 and 5 tools reported there, 15, 29, 53, 71 and 82 percent were right."""
    rates = {1: 15, 2: 29, 3: 53, 4: 71, 5: 82}
    opinions = [
        opinion(1000 * agents + n, "tool", right=n % 100 < rate, agents=agents)
        for agents, rate in rates.items()
        for n in range(1000)
    ]
    found = {one.agents: one for one in learn(opinions).agreement}

    assert {agents: 100 * one.rate for agents, one in found.items()} == pytest.approx(rates, abs=0.7)
    assert [found[agents].bonus for agents in (1, 2, 3, 4, 5)] == pytest.approx([0, 14, 38, 56, 67], abs=1)
    assert all(one.decisions == 1000 for one in found.values())


def test_without_decisions_agreement_adds_what_the_default_policy_adds() -> None:
    found = learn([])

    assert [one.bonus for one in found.agreement] == [0.0, 10.0, 10.0, 10.0, 10.0]
    assert (found.decisions, found.weights, found.team, found.until) == (0, (), 0.5, "")


def test_more_agents_than_ever_agreed_add_what_the_most_agents_added() -> None:
    alone = [opinion(n, "a", right=n % 4 == 0) for n in range(100)]
    found = learn([*alone, *(opinion(500 + n, "a", right=True, agents=3) for n in range(100))])
    bonus = {one.agents: one.bonus for one in found.agreement}

    assert bonus[3] > 50
    assert bonus[5] == bonus[4] == bonus[3]


def test_a_calibration_has_a_point_for_each_decision() -> None:
    both = [
        DecidedOpinion(item=1, agent="a", confidence=70, claimed=90, is_confirmed=True),
        DecidedOpinion(item=1, agent="b", confidence=50, claimed=70, is_confirmed=True),
        DecidedOpinion(item=2, agent="ruff", confidence=80, claimed=None, is_confirmed=False),
    ]

    assert decision_points(both) == [(pytest.approx(0.8), True)]
    assert decision_points(both, agent="b") == [(pytest.approx(0.7), True)]
    assert decision_points(both, is_checked=True) == [(pytest.approx(0.6), True), (pytest.approx(0.8), False)]


def test_a_finding_of_two_agents_counts_once_for_agreement_and_once_for_each_agent() -> None:
    found = learn([opinion(1, "a", right=True, agents=2), opinion(1, "b", right=True, agents=2)])

    assert [(one.agents, one.decisions) for one in found.agreement if one.decisions] == [(2, 1)]
    assert [(one.agent, one.decisions) for one in found.weights if not one.category] == [("a", 1), ("b", 1)]
    assert found.decisions == 1


@given(OPINIONS)
def test_the_order_of_the_decisions_does_not_matter(opinions: list[DecidedOpinion]) -> None:
    unique = list({(one.item, one.agent): one for one in opinions}.values())
    shuffled = unique[:]
    random.Random(5).shuffle(shuffled)

    assert learn(unique) == learn(shuffled)


@given(OPINIONS)
def test_weights_are_shares(opinions: list[DecidedOpinion]) -> None:
    found = learn(opinions)

    assert all(0 < one.weight < 1 for one in found.weights)
    assert all(0 <= one.rate <= 1 and -100 <= one.bonus <= 100 for one in found.agreement)


def test_another_decision_has_another_digest() -> None:
    one, other = learn([opinion(1, "a", right=True)]), learn([opinion(1, "a", right=False)])

    assert one.digest != other.digest
    assert one.until == AT.isoformat()


def test_shrinking_moves_a_share_towards_the_mean() -> None:
    assert shrunk_share(0, 0, 0.3) == pytest.approx(0.3)
    assert shrunk_share(10, 10, 0.5) == pytest.approx(0.75)
