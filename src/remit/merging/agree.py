"""From sightings of one finding to what all agents say of it together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from remit.contract.findings import Severity
from remit.merging.model import SCALE, MergedFinding, Opinion, Settings, Sighting

#: Added once, however many agree.
BONUS = 10.0


def combine(sightings: Sequence[Sighting], settings: Settings, answered: int) -> MergedFinding:
    """One finding out of its sightings; `answered` is how many agents took part in the merge."""
    if len(sightings) == 1:
        return _alone(sightings[0], answered)
    by_agent: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        by_agent[sighting.opinion.agent].append(sighting)
    voices = {agent: _one_voice(said) for agent, said in sorted(by_agent.items())}
    own = {agent: voice.opinion for agent, voice in voices.items()}
    category = sightings[0].category
    scores = {agent: opinion.confidence for agent, opinion in own.items()}
    mean = _weighted(scores, category, settings)
    best = min(own.values(), key=lambda opinion: (-opinion.confidence, opinion.agent, opinion.id))
    place = _place(voices.values(), best)
    return MergedFinding(
        id=best.id,
        path=place.path,
        line=place.opinion.line,
        end_line=place.end_line,
        category=category,
        severity=worst(opinion.severity for opinion in own.values()),
        title=best.title,
        confidence=_agreed(mean, max(scores.values()), len(own), settings),
        max=max(scores.values()),
        mean=mean,
        agreement=round(len(own) / max(answered, len(own)), 4),
        agents=tuple(own),
        opinions=tuple(own.values()),
        verified=_verified(sightings),
        flags=_flags(sightings, len(own)),
    )


def _alone(sighting: Sighting, answered: int) -> MergedFinding:
    """A finding that only one agent has, once: most are, and there is nothing to weigh."""
    said = sighting.opinion
    return MergedFinding(
        id=said.id,
        path=sighting.path,
        line=said.line,
        end_line=sighting.end_line,
        category=sighting.category,
        severity=said.severity,
        title=said.title,
        confidence=said.confidence,
        max=said.confidence,
        mean=said.confidence,
        agreement=round(1 / max(answered, 1), 4),
        agents=(said.agent,),
        opinions=(said,),
        verified=sighting.verified,
        flags=tuple(sorted({*sighting.flags, "unscored"})) if sighting.unscored else tuple(sorted(sighting.flags)),
    )


def worst(severities: Iterable[Severity | None]) -> Severity | None:
    """The highest severity, None if nobody gives one."""
    return max((severity for severity in severities if severity), key=SCALE.index, default=None)


def _one_voice(said: list[Sighting]) -> Sighting:
    """An agent that says it twice counts once: its best score and place, and all its words."""
    best, *_ = ordered = sorted(
        said, key=lambda s: (-s.opinion.confidence, s.opinion.id, s.opinion.title, s.opinion.details)
    )
    placed = next((sighting for sighting in ordered if sighting.opinion.line is not None), best)
    others = sorted({_words(sighting.opinion) for sighting in ordered[1:]} - {_words(best.opinion)})
    opinion = msgspec.structs.replace(
        best.opinion,
        severity=best.opinion.severity or worst(sighting.opinion.severity for sighting in said),
        line=placed.opinion.line,
        details="\n\n".join(filter(None, [best.opinion.details, *others])),
    )
    return msgspec.structs.replace(best, opinion=opinion, path=placed.path, end_line=placed.end_line)


def _words(opinion: Opinion) -> str:
    head = f"{opinion.id}: {opinion.title}" if opinion.id else opinion.title
    return f"{head}\n{opinion.details}".strip()


def _weighted(scores: dict[str, float], category: str, settings: Settings) -> float:
    weights = {agent: settings.weight(agent, category) for agent in scores}
    total = sum(weights.values())
    if total <= 0:
        return sum(scores.values()) / len(scores)
    return sum(scores[agent] * weights[agent] for agent in scores) / total


def _agreed(mean: float, best: float, agents: int, settings: Settings) -> float:
    if agents == 1:
        return mean
    if settings.policy == "max":
        return min(100.0, best + BONUS)
    lifted = min(100.0, mean + BONUS)
    return max(lifted, best) if settings.policy == "floor" else lifted


def _place(voices: Iterable[Sighting], best: Opinion) -> Sighting:
    """The place the surest agent gives, else the surest of those that give one."""
    return min(
        voices,
        key=lambda voice: (
            voice.opinion.line is None,
            voice.opinion.agent != best.agent,
            -voice.opinion.confidence,
            voice.opinion.agent,
        ),
    )


def _verified(sightings: Sequence[Sighting]) -> bool | None:
    known = [sighting.verified for sighting in sightings if sighting.verified is not None]
    return any(known) if known else None


def _flags(sightings: Sequence[Sighting], agents: int) -> tuple[str, ...]:
    flags = {flag for sighting in sightings for flag in sighting.flags}
    flags |= {"unscored"} if any(sighting.unscored for sighting in sightings) else set()
    if agents >= 3:
        flags.add("confirmed")
    elif agents == 2:
        flags.add("agreed")
    return tuple(sorted(flags))
