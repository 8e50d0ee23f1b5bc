"""Read an earlier merge as an input: its opinions take part again, and what only it knows is kept."""

from __future__ import annotations

import hashlib
from collections import defaultdict

import msgspec

from remit.errors import UsageError
from remit.merging.findings import COMPUTED, is_kept
from remit.merging.merge_data import (
    DISMISSED,
    DISMISSED_BEFORE,
    NOT_COUNTED,
    SCHEMA,
    Conflict,
    Member,
    Merge,
    MergedFinding,
    Report,
    ReportedFinding,
)

#: Conflicts that are not found again from the opinions and sections of a merge.
_KEPT = ("presence", "self")


def read_merge(data: bytes, name: str) -> Merge:
    """Decode a merge from JSON."""
    try:
        return msgspec.json.decode(data, type=Merge)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not a valid {SCHEMA} document: {error}") from error


def reports_of(merge: Merge) -> list[Report]:
    """Return the reports that an earlier merge was made from, as far as it records them; without their sections."""
    rows: dict[str, list[ReportedFinding]] = defaultdict(list)
    accepted = {agent.agent for agent in merge.agents if agent.verdict in (None, "accept")}
    members: dict[str, tuple[Member, ...]] = {}
    for finding in (*merge.findings, *merge.dropped):
        members[finding.id] = finding.members
        for row in _rows(finding, merge.threshold, accepted):
            rows[row.opinion.agent].append(row)
    reports = []
    looked = merge.counts.looked
    for agent in merge.agents:
        has_looked = looked > 0 and agent.status not in ("FAILED", *NOT_COUNTED)
        looked -= has_looked
        reports.append(
            Report(
                agent=agent.agent,
                status=agent.status,
                verdict=agent.verdict,
                rows=tuple(rows.pop(agent.agent, ())),
                looked=has_looked,
            )
        )
    if reports:
        kept = (_conflict(conflict, members) for conflict in merge.conflicts if conflict.kind in _KEPT)
        reports[0] = msgspec.structs.replace(reports[0], failed=merge.failed, conflicts=tuple(kept))
    return reports


def _conflict(conflict: Conflict, members: dict[str, tuple[Member, ...]]) -> Conflict:
    """Return a conflict that names a row of its finding, so that the finding is found again."""
    own = (member.id for member in members.get(conflict.finding, ()) if member.agent in conflict.agents and member.id)
    return msgspec.structs.replace(conflict, finding=next(own, conflict.finding))


def _rows(finding: MergedFinding, threshold: float, accepted: set[str]) -> list[ReportedFinding]:
    # The rows of a finding were at one place, which their opinions alone do not show.
    mark = hashlib.sha256(msgspec.json.encode(finding)).hexdigest()[:16]
    flags = tuple(flag for flag in finding.flags if flag not in {*COMPUTED, DISMISSED, DISMISSED_BEFORE})
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
            accepted=opinion.agent in accepted,
            fingerprint=f"merge:{mark}",
            reason=_lasting_reason(finding, threshold),
            members=tuple(by_agent[opinion.agent]),
        )
        for opinion in finding.opinions
    ]


def _lasting_reason(finding: MergedFinding, threshold: float) -> str:
    """Return why a finding stays dropped. A score and a dismissal are judged again."""
    if not isinstance(finding.reason, str) or DISMISSED in finding.flags or not is_kept(finding, threshold):
        return ""
    return finding.reason
