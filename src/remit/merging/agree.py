"""Combine the rows of one finding into one merged finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from remit.contract.findings import Severity
from remit.merging.model import (
    FLAT_BONUS,
    LOW_SCORE,
    SCALE,
    Member,
    MergedFinding,
    MergeSettings,
    Opinion,
    ReportedFinding,
)

#: The score of a finding whose tool gives none; a result's row without a score gets less.
UNSCORED_TOOL = 80.0
#: Before a second statement of an agent on the same finding.
ALSO = "Also: "
_SEVERITY_RANKS: dict[Severity, int] = {severity: at for at, severity in enumerate(SCALE)}
#: The flag of a finding that this many agents report; more have that of three.
_AGREEMENT_FLAGS: tuple[tuple[str, ...], ...] = ((), (), ("agreed",), ("confirmed",))
#: The most agents that a reason names.
_MAX_NAMED = 3


def combine(rows: Sequence[ReportedFinding], settings: MergeSettings, answered: int) -> MergedFinding:
    """Combine rows into one finding; `answered` is the number of agents that took part in the merge."""
    if len(rows) == 1:
        return _single(rows[0], settings, answered)
    per_agent = _by_agent(rows)
    opinions = tuple(row.opinion for row in per_agent)
    leader = min(per_agent, key=lambda row: (-row.opinion.confidence, row.opinion.agent, row.opinion.id))
    best = leader.opinion
    mean = _weighted(opinions, leader.category, settings)
    located = leader if best.line is not None else _best_location(per_agent, best)
    severity = worst(opinion.severity for opinion in opinions)
    confidence = _agreed(mean, best.confidence, len(opinions), settings)
    reason = rows[0].reason or _reason(confidence, severity, settings.threshold)
    if not rows[0].reason and isinstance(reason, str):
        reason = msgspec.UNSET if _is_unscored_tool(opinions) else f"{reason}{failure_causes(opinions)}"
    return MergedFinding(
        best.id,
        located.path,
        located.opinion.line,
        located.end_line,
        leader.category,
        severity=severity,
        title=best.title,
        confidence=confidence,
        max=best.confidence,
        mean=mean,
        agreement=_share(len(opinions), answered),
        agents=tuple(opinion.agent for opinion in opinions),
        opinions=opinions,
        verified=_verified(rows),
        flags=_flags(rows, per_agent, len(opinions)),
        members=_members(rows, located.opinion.line),
        reason=reason,
    )


def _by_agent(rows: Sequence[ReportedFinding]) -> list[ReportedFinding]:
    """Return one row for each agent, sorted by agent."""
    one, other = rows[0], rows[1]
    if len(rows) == 2 and one.opinion.agent != other.opinion.agent:
        return [one, other] if one.opinion.agent < other.opinion.agent else [other, one]
    found: dict[str, list[ReportedFinding]] = defaultdict(list)
    for row in rows:
        found[row.opinion.agent].append(row)
    return [_combine_agent(found[agent]) for agent in sorted(found)]


def _members(rows: Sequence[ReportedFinding], line: int | None) -> tuple[Member, ...]:
    """Return every row, sorted; each has its line if the finding has another."""
    found: list[Member] = []
    for row in rows:
        opinion = row.opinion
        own = msgspec.UNSET if opinion.line == line else opinion.line
        found += row.members or (Member(opinion.agent, opinion.id, own),)
    return tuple(sorted(found, key=_member_order))


def _member_order(member: Member) -> tuple[str, str, bool, int]:
    line = member.line if isinstance(member.line, int) else 0
    return member.agent, member.id, member.line is msgspec.UNSET, line


def _is_unscored_tool(opinions: Sequence[Opinion]) -> bool:
    """Return whether tools that give no scores report it, and their evidence holds: no threshold drops it then."""
    return all("unscored" in opinion.flags and opinion.confidence >= UNSCORED_TOOL for opinion in opinions)


def _single(row: ReportedFinding, settings: MergeSettings, answered: int) -> MergedFinding:
    """Return the finding of a single row. Most findings have one row, and there is nothing to weigh."""
    opinion = row.opinion
    score = opinion.confidence
    reason = row.reason or _reason(score, opinion.severity, settings.threshold)
    if not row.reason and isinstance(reason, str):
        if _is_unscored_tool((opinion,)):
            reason = msgspec.UNSET
        elif opinion.flags or opinion.evidence or opinion.claimed_confidence is not None:
            reason += failure_causes((opinion,))
    # Some by position: a call with more than 15 keyword arguments builds a dict, which takes four times as long.
    return MergedFinding(
        opinion.id,
        row.path,
        opinion.line,
        row.end_line,
        row.category,
        severity=opinion.severity,
        title=opinion.title,
        confidence=score,
        max=score,
        mean=score,
        agreement=_share(1, answered),
        agents=_only(opinion.agent),
        opinions=(opinion,),
        verified=row.verified,
        flags=_flags((row,), (row,), 1) if row.flags or opinion.flags else (),
        members=row.members or _only_member(opinion.agent, opinion.id),
        reason=reason,
    )


def is_disputed(finding: MergedFinding) -> MergedFinding:
    """Return the finding with the flag `disputed`."""
    return msgspec.structs.replace(finding, flags=tuple(sorted({*finding.flags, "disputed"})))


@lru_cache(maxsize=1024)
def _reason(confidence: float, severity: Severity | None, threshold: float) -> str | msgspec.UnsetType:
    """Return why a finding is dropped: its confidence is too low and it is not critical."""
    if confidence >= threshold or severity == "critical":
        return msgspec.UNSET
    # The cache treats 0.0 and -0.0 as equal; adding 0 makes their text equal as well.
    return f"{LOW_SCORE}{confidence + 0:g} is under {threshold:g}"


@lru_cache(maxsize=1024)
def _only(agent: str) -> tuple[str, ...]:
    """Return one shared tuple for all findings that only this agent reports."""
    return (agent,)


@lru_cache(maxsize=1024)
def _only_member(agent: str, name: str) -> tuple[Member, ...]:
    """Return one shared tuple for all findings of one row with this agent and id."""
    return (Member(agent, name),)


@lru_cache(maxsize=1024)
def _share(agents: int, answered: int) -> float:
    return round(agents / max(answered, agents), 4)


def worst(severities: Iterable[Severity | None]) -> Severity | None:
    """Return the highest severity; None without any."""
    return max((one for one in severities if one), key=_SEVERITY_RANKS.__getitem__, default=None)


def _combine_agent(rows: list[ReportedFinding]) -> ReportedFinding:
    """Combine the rows of one agent on one problem: its best score, its worst severity, and all its texts.

    A row without a score does not hide the score of another row.
    """
    if len(rows) == 1:
        return rows[0]
    ordered = sorted(
        rows, key=lambda s: (s.unscored, -s.opinion.confidence, s.opinion.id, s.opinion.title, s.opinion.details)
    )
    best = ordered[0]
    located = next((row for row in ordered if row.opinion.line is not None), best)
    flags = {flag for row in rows for flag in row.opinion.flags}
    opinion = msgspec.structs.replace(
        best.opinion,
        severity=worst(row.opinion.severity for row in rows),
        line=located.opinion.line,
        claimed_path=located.opinion.claimed_path,
        claimed_line=located.opinion.claimed_line,
        details=merge_texts([row.opinion for row in ordered]),
        flags=tuple(sorted(flags if best.unscored else flags - {"unscored"})),
    )
    return msgspec.structs.replace(best, opinion=opinion, path=located.path, end_line=located.end_line)


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
        return min(100.0, best + FLAT_BONUS)
    if settings.policy == "learned":
        return min(100.0, max(0.0, mean + settings.bonus(agents)))
    lifted = min(100.0, mean + FLAT_BONUS)
    return max(lifted, best) if settings.policy == "floor" else lifted


def _best_location(rows: Iterable[ReportedFinding], best: Opinion) -> ReportedFinding:
    """Return the row of the agent with the best score, else the best-scored row with a line."""
    return min(
        rows,
        key=lambda row: (
            row.opinion.line is None,
            row.opinion.agent != best.agent,
            -row.opinion.confidence,
            row.opinion.agent,
        ),
    )


def _verified(rows: Sequence[ReportedFinding]) -> bool | None:
    checked = [row.verified for row in rows if row.verified is not None]
    return any(checked) if checked else None


def _flags(rows: Sequence[ReportedFinding], per_agent: Sequence[ReportedFinding], agents: int) -> tuple[str, ...]:
    agreement = _AGREEMENT_FLAGS[min(agents, 3)]
    if not any(row.flags or row.opinion.flags for row in rows):
        return agreement
    flags = {flag for row in rows for flag in row.flags}
    flags.update(flag for row in per_agent for flag in row.opinion.flags)
    return tuple(sorted(flags.union(agreement)))


def merge_texts(ordered: Sequence[Opinion]) -> str:
    """Return the details of the first opinion and what the others add; each title and paragraph occurs once."""
    best, *others = ordered
    texts = [best.details] if best.details else []
    seen = {_head(best), *_paragraphs(best.details)}
    for other in sorted(others, key=lambda other: (other.id, other.title, other.details, other.evidence)):
        parts = [_head(other), *_paragraphs(other.details)]
        parts += [f"Evidence failed: {other.evidence}"] if other.evidence and other.evidence != best.evidence else []
        new = [part for part in dict.fromkeys(parts) if part not in seen]
        seen.update(new)
        texts += new
    return "\n\n".join(texts)


def _head(opinion: Opinion) -> str:
    return ALSO + (f"{opinion.id}: {opinion.title}" if opinion.id else opinion.title)


def _paragraphs(details: str) -> list[str]:
    """Split details into parts that can be omitted; fenced code may have empty lines, so it stays whole."""
    if "```" in details or "~~~" in details:
        return [details]
    return [part for part in details.split("\n\n") if part.strip()]


def failure_causes(opinions: Sequence[Opinion]) -> str:
    """Return why scores differ from what agents stated, in brackets; empty if they do not."""
    causes = [(opinion.agent, cause) for opinion in opinions if (cause := ", ".join(_cause(opinion)))]
    if not causes:
        return ""
    if len(opinions) == 1:
        return f" ({causes[0][1]})"
    more = f"; and {len(causes) - _MAX_NAMED} more" if len(causes) > _MAX_NAMED else ""
    return f" ({'; '.join(f'{agent}: {cause}' for agent, cause in causes[:_MAX_NAMED])}{more})"


def _cause(opinion: Opinion) -> Iterator[str]:
    if "unscored" in opinion.flags:
        yield "no score given"
    if opinion.claimed_confidence is not None:
        yield f"claimed {opinion.claimed_confidence:g}"
    if opinion.evidence:
        yield f"evidence failed: {opinion.evidence}"
    elif "relocated" in opinion.flags:
        yield "location corrected"
