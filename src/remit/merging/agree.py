"""From sightings of one finding to what all agents say of it together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from remit.contract.findings import Severity
from remit.merging.model import SCALE, MergedFinding, MergeSettings, Opinion, ReportedFinding

#: Added once, however many agree.
BONUS = 10.0
#: Before what an agent says of the same finding a second time.
ALSO = "Also: "
#: Agents that are named in a reason; one that more share has more than one reader can weigh.
_MAX_NAMED = 3


def combine(sightings: Sequence[ReportedFinding], settings: MergeSettings, answered: int) -> MergedFinding:
    """One finding out of its sightings; `answered` is how many agents took part in the merge."""
    if len(sightings) == 1:
        return _alone(sightings[0], settings, answered)
    by_agent: dict[str, list[ReportedFinding]] = defaultdict(list)
    for sighting in sightings:
        by_agent[sighting.opinion.agent].append(sighting)
    voices = [_one_voice(said) for _, said in sorted(by_agent.items())]
    opinions = tuple(voice.opinion for voice in voices)
    category = sightings[0].category
    mean = _weighted(opinions, category, settings)
    best = min(opinions, key=lambda opinion: (-opinion.confidence, opinion.agent, opinion.id))
    place = _place(voices, best)
    severity = worst(opinion.severity for opinion in opinions)
    confidence = _agreed(mean, best.confidence, len(opinions), settings)
    reason = _reason(confidence, severity, settings.threshold)
    return MergedFinding(
        best.id,
        place.path,
        place.opinion.line,
        place.end_line,
        category,
        severity=severity,
        title=best.title,
        confidence=confidence,
        max=best.confidence,
        mean=mean,
        agreement=_share(len(opinions), answered),
        agents=tuple(opinion.agent for opinion in opinions),
        opinions=opinions,
        verified=_verified(sightings),
        flags=_flags(sightings, len(opinions)),
        reason=f"{reason}{failure_causes(opinions)}" if isinstance(reason, str) else reason,
    )


def _alone(sighting: ReportedFinding, settings: MergeSettings, answered: int) -> MergedFinding:
    """A finding that only one agent has, once: most are, and there is nothing to weigh."""
    said = sighting.opinion
    score = said.confidence
    reason = _reason(score, said.severity, settings.threshold)
    if isinstance(reason, str) and (said.flags or said.evidence or said.claimed_confidence is not None):
        reason += failure_causes((said,))
    # Not all by name: Python makes a call with more than 15 names through a dict, which takes four times as long.
    return MergedFinding(
        said.id,
        sighting.path,
        said.line,
        sighting.end_line,
        sighting.category,
        severity=said.severity,
        title=said.title,
        confidence=score,
        max=score,
        mean=score,
        agreement=_share(1, answered),
        agents=_only(said.agent),
        opinions=(said,),
        verified=sighting.verified,
        flags=_flags((sighting,), 1) if sighting.flags or said.flags else (),
        reason=reason,
    )


def is_disputed(finding: MergedFinding) -> MergedFinding:
    """A finding on which agents disagree."""
    return msgspec.structs.replace(finding, flags=tuple(sorted({*finding.flags, "disputed"})))


@lru_cache(maxsize=1024)
def _reason(confidence: float, severity: Severity | None, threshold: float) -> str | msgspec.UnsetType:
    """Why a finding is left out: it is not sure enough, and not critical."""
    if confidence >= threshold or severity == "critical":
        return msgspec.UNSET
    # To the cache 0.0 and -0.0 are the same: with 0 added they are so in words, too.
    return f"confidence {confidence + 0:g} is under {threshold:g}"


@lru_cache(maxsize=1024)
def _only(agent: str) -> tuple[str, ...]:
    """One tuple for all findings that an agent has alone."""
    return (agent,)


@lru_cache(maxsize=1024)
def _share(agents: int, answered: int) -> float:
    return round(agents / max(answered, agents), 4)


def worst(severities: Iterable[Severity | None]) -> Severity | None:
    """The highest severity, None if nobody gives one."""
    return max((severity for severity in severities if severity), key=SCALE.index, default=None)


def _one_voice(said: list[ReportedFinding]) -> ReportedFinding:
    """An agent that says it twice counts once: its best score and place, and all its words."""
    if len(said) == 1:
        return said[0]
    best, *_ = ordered = sorted(
        said, key=lambda s: (-s.opinion.confidence, s.opinion.id, s.opinion.title, s.opinion.details)
    )
    placed = next((sighting for sighting in ordered if sighting.opinion.line is not None), best)
    opinion = msgspec.structs.replace(
        best.opinion,
        severity=best.opinion.severity or worst(sighting.opinion.severity for sighting in said),
        line=placed.opinion.line,
        claimed_path=placed.opinion.claimed_path,
        claimed_line=placed.opinion.claimed_line,
        details=merge_texts([sighting.opinion for sighting in ordered]),
        flags=tuple(sorted({flag for sighting in said for flag in sighting.opinion.flags})),
    )
    return msgspec.structs.replace(best, opinion=opinion, path=placed.path, end_line=placed.end_line)


def _weighted(opinions: Sequence[Opinion], category: str, settings: MergeSettings) -> float:
    weights = [settings.weight(opinion.agent, category) for opinion in opinions] if settings.weights else []
    total = sum(weights)
    if total <= 0:
        return sum(opinion.confidence for opinion in opinions) / len(opinions)
    return sum(opinion.confidence * weight for opinion, weight in zip(opinions, weights, strict=True)) / total


def _agreed(mean: float, best: float, agents: int, settings: MergeSettings) -> float:
    if agents == 1:
        return mean
    if settings.policy == "max":
        return min(100.0, best + BONUS)
    lifted = min(100.0, mean + BONUS)
    return max(lifted, best) if settings.policy == "floor" else lifted


def _place(voices: Iterable[ReportedFinding], best: Opinion) -> ReportedFinding:
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


def _verified(sightings: Sequence[ReportedFinding]) -> bool | None:
    known = [sighting.verified for sighting in sightings if sighting.verified is not None]
    return any(known) if known else None


def _flags(sightings: Sequence[ReportedFinding], agents: int) -> tuple[str, ...]:
    flags = {flag for sighting in sightings for flag in (*sighting.flags, *sighting.opinion.flags)}
    if agents >= 3:
        flags.add("confirmed")
    elif agents == 2:
        flags.add("agreed")
    return tuple(sorted(flags))


def merge_texts(ordered: Sequence[Opinion]) -> str:
    """The details of the first opinion, and what the others add: a title or a paragraph is told once."""
    best, *others = ordered
    told = [best.details] if best.details else []
    seen = {_head(best), *_paragraphs(best.details)}
    for other in sorted(others, key=lambda other: (other.id, other.title, other.details, other.evidence)):
        parts = [_head(other), *_paragraphs(other.details)]
        parts += [f"Evidence failed: {other.evidence}"] if other.evidence and other.evidence != best.evidence else []
        new = [part for part in dict.fromkeys(parts) if part not in seen]
        seen.update(new)
        told += new
    return "\n\n".join(told)


def _head(opinion: Opinion) -> str:
    return ALSO + (f"{opinion.id}: {opinion.title}" if opinion.id else opinion.title)


def _paragraphs(details: str) -> list[str]:
    """The parts that can be left out alone; code that is fenced may have empty lines, so it stays whole."""
    if "```" in details or "~~~" in details:
        return [details]
    return [part for part in details.split("\n\n") if part.strip()]


def failure_causes(opinions: Sequence[Opinion]) -> str:
    """Why scores are lower than claimed, or were taken for granted, in brackets; empty if they are as given."""
    told = [(opinion.agent, cause) for opinion in opinions if (cause := ", ".join(_cause(opinion)))]
    if not told:
        return ""
    if len(opinions) == 1:
        return f" ({told[0][1]})"
    more = f"; and {len(told) - _MAX_NAMED} more" if len(told) > _MAX_NAMED else ""
    return f" ({'; '.join(f'{agent}: {cause}' for agent, cause in told[:_MAX_NAMED])}{more})"


def _cause(opinion: Opinion) -> Iterator[str]:
    if "unscored" in opinion.flags:
        yield "no score given"
    if opinion.claimed_confidence is not None:
        yield f"claimed {opinion.claimed_confidence:g}"
    if opinion.evidence:
        yield f"evidence failed: {opinion.evidence}"
    elif "relocated" in opinion.flags:
        yield "its place had to be corrected"
