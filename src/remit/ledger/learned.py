"""Learned weights: how often each agent was right in each category, and what the agreement of agents is worth.

Only people's decisions count. A share with few decisions is shrunk to the team's mean (Beta-Binomial: the mean counts
as `STRENGTH` decisions), so an agent without decisions has the team's weight; in a category, to what the agent's
decisions in other categories state. The same decisions give the same weights; `digest` names them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from remit.merging.merge_data import FLAT_BONUS, AgreementWorth, LearnedNote, LearnedWeight, Merge, MergeSettings

#: How many decisions the mean counts as.
STRENGTH = 10.0
#: From this number on, agents that agree are counted together.
MAX_AGREEING = 5


class DecidedOpinion(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent stated about a finding that a person confirmed or rejected."""

    item: int
    agent: str
    definition: str = ""
    model: str = ""
    category: str = ""
    severity: str | None = None
    #: The score after the check of its evidence, and the score that the agent gave; None if it gave none.
    confidence: float
    claimed: float | None = None
    #: How many agents reported the finding.
    agents: int = 1
    is_confirmed: bool
    at: datetime | None = None


def learn(opinions: Iterable[DecidedOpinion]) -> LearnedNote:
    """Return weights and the worth of agreement, with their sample sizes."""
    ordered = sorted(opinions, key=lambda opinion: (opinion.item, opinion.agent))
    decided: Counter[tuple[str, str]] = Counter()
    confirmed: Counter[tuple[str, str]] = Counter()
    for opinion in ordered:
        for category in {"", opinion.category}:
            decided[opinion.agent, category] += 1
            confirmed[opinion.agent, category] += opinion.is_confirmed
    team = _mean(sum(opinion.is_confirmed for opinion in ordered), len(ordered))
    weights = []
    for agent, category in sorted(decided):
        decisions, right = decided[agent, category], confirmed[agent, category]
        # The agent's other decisions state what to expect of it in a category. No decision counts twice.
        others = decided[agent, ""] - decisions if category else 0
        expected = shrunk_share(confirmed[agent, ""] - right, others, team) if others else team
        weight = round(shrunk_share(right, decisions, expected), 4)
        weights.append(
            LearnedWeight(agent=agent, category=category, weight=weight, decisions=decisions, confirmed=right)
        )
    return LearnedNote(
        decisions=len({opinion.item for opinion in ordered}),
        until=max((opinion.at.isoformat() for opinion in ordered if opinion.at), default=""),
        digest=_digest(ordered),
        team=round(team, 4),
        weights=tuple(weights),
        agreement=tuple(_agreement(ordered)),
    )


def decision_points(
    opinions: Iterable[DecidedOpinion], *, agent: str | None = None, is_checked: bool = False
) -> list[tuple[float, bool]]:
    """Return a point for each decision, for a calibration: the score from 0 to 1, and whether it was confirmed.

    The score is the mean of what the agents gave the finding, or with `is_checked` of their scores after the check of
    their evidence. With `agent` it is that of one agent. A finding that no agent scored has no point.
    """
    scores: dict[int, list[float]] = defaultdict(list)
    outcomes: dict[int, bool] = {}
    for opinion in opinions:
        score = opinion.confidence if is_checked else opinion.claimed
        if score is not None and agent in (None, opinion.agent):
            scores[opinion.item].append(score / 100)
            outcomes[opinion.item] = opinion.is_confirmed
    return [(sum(item_scores) / len(item_scores), outcomes[item]) for item, item_scores in scores.items()]


def shrunk_share(successes: float, trials: float, mean: float) -> float:
    """Return a share that is shrunk to a mean: the posterior mean of a Beta-Binomial model."""
    return (successes + STRENGTH * mean) / (trials + STRENGTH)


def _mean(successes: float, trials: float) -> float:
    """Return the team's mean; one half without decisions."""
    return (successes + 1) / (trials + 2)


def _agreement(ordered: Sequence[DecidedOpinion]) -> Iterable[AgreementWorth]:
    """Yield how often findings of one, two and more agents were right, and the points that agreement adds.

    Without decisions, two agents add as much as the default policy does, and one more agent adds nothing.
    """
    items = {opinion.item: opinion for opinion in ordered}.values()
    decided: Counter[int] = Counter(min(MAX_AGREEING, max(1, item.agents)) for item in items)
    confirmed: Counter[int] = Counter(min(MAX_AGREEING, max(1, item.agents)) for item in items if item.is_confirmed)
    alone = shrunk_share(confirmed[1], decided[1], _mean(sum(confirmed.values()), sum(decided.values())))
    rate = alone
    for agents in range(1, MAX_AGREEING + 1):
        expected = min(1.0, alone + FLAT_BONUS / 100) if agents == 2 else rate
        rate = alone if agents == 1 else shrunk_share(confirmed[agents], decided[agents], expected)
        yield AgreementWorth(
            agents=agents,
            rate=round(rate, 4),
            bonus=round(100 * (rate - alone), 2),
            decisions=decided[agents],
            confirmed=confirmed[agents],
        )


def _digest(ordered: Sequence[DecidedOpinion]) -> str:
    """Return a digest of everything that the weights depend on."""
    whole = hashlib.sha256()
    for opinion in ordered:
        whole.update(
            msgspec.json.encode([opinion.item, opinion.agent, opinion.category, opinion.agents, opinion.is_confirmed])
        )
    return whole.hexdigest()[:16]


def with_learned(settings: MergeSettings, note: LearnedNote, *, has_weights: bool = True) -> MergeSettings:
    """Return the settings of a merge that uses what was learned: the weights, and the bonus of the policy `learned`."""
    weights = {
        f"{learned.agent}/{learned.category}" if learned.category else learned.agent: learned.weight
        for learned in note.weights
    }
    bonuses = tuple(worth.bonus for worth in note.agreement if worth.agents > 1)
    return msgspec.structs.replace(
        settings,
        weights=weights if has_weights else settings.weights,
        default_weight=note.team if has_weights else settings.default_weight,
        bonuses=bonuses if settings.policy == "learned" else (),
    )


def explained(merge: Merge, note: LearnedNote) -> Merge:
    """Return a merge with what was learned about its agents, so that its report explains the scores."""
    agents = {report.agent for report in merge.agents}
    weights = tuple(weight for weight in note.weights if weight.agent in agents)
    return msgspec.structs.replace(merge, learned=msgspec.structs.replace(note, weights=weights))
