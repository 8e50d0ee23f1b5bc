"""Combine the rows of one finding into one merged finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec

from remit.contract.findings import Severity
from remit.lazy import lazy_pattern
from remit.merging.merge_data import (
    FLAT_BONUS,
    LOW_SCORE,
    SCALE,
    Member,
    Merge,
    MergedFinding,
    MergeSettings,
    Opinion,
    ReportedFinding,
)

#: The score of a finding whose tool gives none; a result's row without a score gets less.
UNSCORED_TOOL = 80.0
#: Before a second statement of an agent on the same finding.
ALSO = "Also: "
_SEVERITY_RANKS: dict[Severity | None, int] = {severity: rank for rank, severity in enumerate((None, *SCALE))}
#: The flag of a finding that this many agents report; more have that of three.
_AGREEMENT_FLAGS: tuple[tuple[str, ...], ...] = ((), (), ("agreed",), ("confirmed",))
_AGENT = attrgetter("agent")
#: The reason of `_low`.
_UNDER = lazy_pattern(rf"{re.escape(LOW_SCORE)}[\d.e+-]+ is under (\d{{1,3}}(?:\.\d{{1,9}})?)(?!\d)")
#: The most agents that a reason names.
_MAX_NAMED = 3


def combine(rows: Sequence[ReportedFinding], settings: MergeSettings, answered: int) -> MergedFinding:
    """Combine rows into one finding; `answered` is the number of agents that took part in the merge."""
    per_agent = _by_agent(rows)
    # One loop: each comprehension is a call, which takes longer than what it does for two rows.
    opinions: list[Opinion] = []
    agents: list[str] = []
    scores: list[float] = []
    severities: list[Severity | None] = []
    is_plain = len(per_agent) == len(rows)
    for row in per_agent:
        opinion = row.opinion
        opinions.append(opinion)
        agents.append(opinion.agent)
        scores.append(opinion.confidence)
        severities.append(opinion.severity)
        if row.flags or opinion.flags or row.members:
            is_plain = False
    leader = per_agent[scores.index(max(scores))]  # of equal scores, that of the first agent
    best = leader.opinion
    mean = _weighted(opinions, leader.category, settings) if settings.weights else sum(scores) / len(scores)
    located = leader if best.line is not None else _best_location(per_agent, best)
    severity = worst(tuple(severities))
    confidence = _agreed(mean, best.confidence, len(opinions), settings)
    line = located.opinion.line
    # By position: keywords take half as long again.
    return MergedFinding(
        best.id,
        located.path,
        line,
        located.end_line,
        leader.category,
        severity,
        best.title,
        confidence,
        best.confidence,  # max
        mean,
        _share(len(opinions), answered),  # agreement
        tuple(agents),
        tuple(opinions),
        _verified(rows),
        _AGREEMENT_FLAGS[min(len(opinions), 3)] if is_plain else _flags(rows, per_agent, len(opinions)),
        tuple([_member(opinion, line) for opinion in opinions]) if is_plain else _members(rows, line),
        "",  # fingerprint
        rows[0].reason or _reason(opinions, confidence, severity, settings.threshold),
    )


def _by_agent(rows: Sequence[ReportedFinding]) -> list[ReportedFinding]:
    """Return one row for each agent, sorted by agent."""
    first, other = rows[0], rows[1]
    if len(rows) == 2 and first.opinion.agent != other.opinion.agent:
        return [first, other] if first.opinion.agent < other.opinion.agent else [other, first]
    by_agent: dict[str, list[ReportedFinding]] = defaultdict(list)
    for row in rows:
        by_agent[row.opinion.agent].append(row)
    return [_combine_agent(by_agent[agent]) for agent in sorted(by_agent)]


def _member(opinion: Opinion, line: int | None) -> Member:
    """Return a row of a finding; it has its line if the finding has another."""
    return Member(opinion.agent, opinion.id, msgspec.UNSET if opinion.line == line else opinion.line)


def _members(rows: Sequence[ReportedFinding], line: int | None) -> tuple[Member, ...]:
    """Return every row, sorted."""
    members: list[Member] = []
    for row in rows:
        members += row.members or (_member(row.opinion, line),)
    is_one_each = len({member.agent for member in members}) == len(members)
    return tuple(sorted(members, key=_AGENT if is_one_each else _member_order))


def _member_order(member: Member) -> tuple[str, str, bool, int]:
    line = member.line if isinstance(member.line, int) else 0
    return member.agent, member.id, member.line is msgspec.UNSET, line


def _is_unscored_tool(opinions: Sequence[Opinion]) -> bool:
    """Return whether tools that give no scores report it, and their evidence holds: no threshold drops it then."""
    return all("unscored" in opinion.flags and opinion.confidence >= UNSCORED_TOOL for opinion in opinions)


class Singles:
    """Makes the findings of a single row. Most findings have one row, and there is nothing to weigh."""

    def __init__(self, settings: MergeSettings, answered: int) -> None:
        self._threshold = settings.threshold
        self._share = _share(1, answered)
        #: The agents of a finding by agent, and its members by id; one for all findings.
        self._names: dict[str, tuple[tuple[str, ...], dict[str, tuple[Member, ...]]]] = {}

    def combine(self, rows: Sequence[ReportedFinding]) -> list[MergedFinding]:
        """Return the finding of each row."""
        threshold, share, unset = self._threshold, self._share, msgspec.UNSET
        last: str | None = None
        agents: tuple[str, ...] = ()
        known: dict[str, tuple[Member, ...]] = {}
        findings = []
        for row in rows:
            opinion = row.opinion
            score, severity, agent, own_id = opinion.confidence, opinion.severity, opinion.agent, opinion.id
            reason: str | msgspec.UnsetType = unset
            if row.reason:
                reason = row.reason
            elif score < threshold and severity != "critical":
                reason = _low(score, threshold)
                if opinion.flags or opinion.evidence or opinion.claimed_confidence is not None:
                    reason = unset if _is_unscored_tool((opinion,)) else reason + failure_causes((opinion,))
            if agent != last:  # the rows of a report follow each other
                last = agent
                agents, known = self._names.setdefault(agent, ((agent,), {}))
            members = known.get(own_id)
            if members is None:
                members = known[own_id] = (Member(agent, own_id),)
            flags = _flags((row,), (row,), 1) if row.flags or opinion.flags else ()
            # By position: keywords take half as long again.
            finding = MergedFinding(
                own_id,
                row.path,
                opinion.line,
                row.end_line,
                row.category,
                severity,
                opinion.title,
                score,
                score,  # max
                score,  # mean
                share,  # agreement
                agents,
                (opinion,),
                row.verified,
                flags,
                row.members or members,
                "",  # fingerprint
                reason,
            )
            findings.append(finding)
        return findings


def is_disputed(finding: MergedFinding) -> MergedFinding:
    """Return the finding with the flag `disputed`."""
    return msgspec.structs.replace(finding, flags=tuple(sorted({*finding.flags, "disputed"})))


def _reason(
    opinions: Sequence[Opinion], confidence: float, severity: Severity | None, threshold: float
) -> str | msgspec.UnsetType:
    """Return why a finding is dropped: its confidence is too low and it is not critical."""
    if confidence >= threshold or severity == "critical" or _is_unscored_tool(opinions):
        return msgspec.UNSET
    return _low(confidence, threshold) + failure_causes(opinions)


@lru_cache(maxsize=1024)
def _low(confidence: float, threshold: float) -> str:
    # The cache treats 0.0 and -0.0 as equal; adding 0 makes their text equal as well.
    return f"{LOW_SCORE}{confidence + 0:g} is under {threshold:g}"


def threshold_of(merge: Merge, default: float) -> float:
    """Return the threshold that an earlier merge had: its JSON states it only with the findings that it dropped."""
    for finding in merge.dropped:
        if isinstance(finding.reason, str) and (stated := _UNDER.match(finding.reason)):
            return float(stated[1])
    scores = (finding.confidence for finding in merge.findings if finding.severity != "critical")
    return min(default, *scores, default)


@lru_cache(maxsize=1024)
def _share(agents: int, answered: int) -> float:
    return round(agents / max(answered, agents), 4)


@lru_cache(maxsize=1024)
def worst(severities: tuple[Severity | None, ...]) -> Severity | None:
    """Return the highest severity; None without any."""
    return max(severities, key=_SEVERITY_RANKS.__getitem__, default=None)


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
        severity=worst(tuple([row.opinion.severity for row in rows])),
        line=located.opinion.line,
        claimed_path=located.opinion.claimed_path,
        claimed_line=located.opinion.claimed_line,
        details=merge_texts([row.opinion for row in ordered]),
        flags=tuple(sorted(flags if best.unscored else flags - {"unscored"})),
    )
    return msgspec.structs.replace(best, opinion=opinion, path=located.path, end_line=located.end_line)


def _weighted(opinions: Sequence[Opinion], category: str, settings: MergeSettings) -> float:
    scores = [opinion.confidence for opinion in opinions]
    weights = [settings.weight(opinion.agent, category) for opinion in opinions]
    total = sum(weights)
    if total <= 0:
        return sum(scores) / len(scores)
    return sum([score * weight for score, weight in zip(scores, weights, strict=True)]) / total


def _agreed(mean: float, best: float, agents: int, settings: MergeSettings) -> float:
    if agents == 1:
        return mean
    if settings.policy == "max":
        return min(100.0, best + FLAT_BONUS)
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
    verified = None
    for row in rows:
        if row.verified:
            return True
        verified = row.verified if verified is None else verified
    return verified


def _flags(rows: Sequence[ReportedFinding], per_agent: Sequence[ReportedFinding], agents: int) -> tuple[str, ...]:
    agreement = _AGREEMENT_FLAGS[min(agents, 3)]
    flags = {flag for row in rows for flag in row.flags}
    flags.update([flag for row in per_agent for flag in row.opinion.flags])
    return tuple(sorted(flags.union(agreement))) if flags else agreement


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
