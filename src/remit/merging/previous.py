"""Read an earlier merge as an input: its opinions take part again, its conflicts are kept.

Merging a single merge returns it unchanged: a fingerprint keeps each of its findings together, and decisions based on
facts that a merge does not store (which scores were excluded, the confidence of a whole result) are not made again.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from remit.errors import UsageError
from remit.merging.merge_data import (
    LOW_SCORE,
    MERGE_MARK,
    Conflict,
    Member,
    Merge,
    MergedFinding,
    Report,
    ReportedFinding,
)

_COMPUTED = frozenset({"agreed", "confirmed", "dismissed"})


def read_merge(data: bytes, name: str) -> Merge:
    """Decode a merge from JSON."""
    try:
        return msgspec.json.decode(data, type=Merge)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not a valid remit.merge/1 document: {error}") from error


def reports_of(merge: Merge) -> list[Report]:
    """Return the reports that an earlier merge was made from, as far as it records them."""
    by_agent: dict[str, list[ReportedFinding]] = defaultdict(list)
    name = _merge_name(merge)
    for finding in (*merge.findings, *merge.dropped):
        for row in _rows_of(finding, name):
            by_agent[row.opinion.agent].append(row)
    reports = []
    for agent in merge.agents:
        agent_rows = tuple(by_agent.pop(agent.agent, ()))
        reports.append(
            Report(
                agent=agent.agent,
                status=agent.status,
                verdict=agent.verdict,
                rows=agent_rows,
                confidence=agent.confidence,
                kind=agent.kind,
                looked=agent.looked,
                problem=agent.problem,
            )
        )
    return reports


def renamed_conflicts(earlier: Sequence[Merge], new: Mapping[str, str]) -> list[Conflict]:
    """Return the conflicts of earlier merges with the new ids of their findings, by the marks of their rows."""
    disputed = [merge for merge in earlier if merge.conflicts]
    conflicts: list[Conflict] = []
    for merge in disputed:
        name = _merge_name(merge)
        ids: dict[str, set[str]] = defaultdict(set)
        for finding in (*merge.findings, *merge.dropped):
            ids[finding.id].add(new.get(_mark(finding, name), finding.id))
        for conflict in merge.conflicts:
            new_ids = [] if conflict.kind == "compliance" else list(ids.get(conflict.finding, ()))
            conflicts.append(msgspec.structs.replace(conflict, finding=new_ids[0]) if len(new_ids) == 1 else conflict)
    return conflicts


def _merge_name(merge: Merge) -> str:
    everything = [_identity(finding) for finding in (*merge.findings, *merge.dropped)]
    return hashlib.sha256(msgspec.json.encode(everything)).hexdigest()[:16]


def _mark(finding: MergedFinding, name: str) -> str:
    return f"{MERGE_MARK}{name}:{hashlib.sha256(msgspec.json.encode(_identity(finding))).hexdigest()[:16]}"


def _identity(finding: MergedFinding) -> tuple[object, ...]:
    return (
        finding.path,
        finding.line,
        finding.end_line,
        finding.category,
        finding.id,
        finding.title,
        finding.agents,
        finding.reason if isinstance(finding.reason, str) else None,
        [opinion.rule for opinion in finding.opinions],
    )


def _rows_of(finding: MergedFinding, name: str) -> list[ReportedFinding]:
    mark = _mark(finding, name)
    computed = _COMPUTED.union(*(opinion.flags for opinion in finding.opinions))
    flags = tuple(flag for flag in finding.flags if flag not in computed)
    by_agent: dict[str, list[Member]] = defaultdict(list)
    for member in finding.members:
        by_agent[member.agent].append(member)
    return [
        ReportedFinding(
            opinion=opinion,
            path=finding.path,
            end_line=finding.end_line if opinion.line == finding.line else None,
            category=finding.category,
            verified=finding.verified,
            flags=flags,
            fingerprint=mark,
            reason=_lasting(finding),
            members=tuple(by_agent[opinion.agent]),
        )
        for opinion in finding.opinions
    ]


def _lasting(finding: MergedFinding) -> str:
    """Return why a finding stays dropped. A score and a dismissal are judged again."""
    if not isinstance(finding.reason, str) or "dismissed" in finding.flags or finding.reason.startswith(LOW_SCORE):
        return ""
    return finding.reason


def is_settled(rows: Sequence[ReportedFinding]) -> bool:
    """Return whether a group is one finding of one earlier merge, so that its conflicts are already listed."""
    return rows[0].is_merged and len({row.fingerprint for row in rows}) == 1
