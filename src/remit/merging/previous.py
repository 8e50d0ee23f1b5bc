"""Read an earlier merge as an input: its opinions take part again, its conflicts are kept.

Merging a single merge returns it unchanged: a fingerprint keeps each of its findings together, and decisions based on
facts that a merge does not store (which scores were excluded, the confidence of a whole result) are not made again.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from remit.errors import UsageError
from remit.merging.model import Merge, MergedFinding, Report, ReportedFinding

_COMPUTED = frozenset({"agreed", "confirmed"})
_MARK = "merge:"


def read_merge(data: bytes, name: str) -> Merge:
    """Decode a merge from JSON."""
    try:
        return msgspec.json.decode(data, type=Merge)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not a valid remit.merge/1 document: {error}") from error


def reports_of(merge: Merge) -> list[Report]:
    """Return the reports that an earlier merge was made from, as far as it records them."""
    by_agent: dict[str, list[ReportedFinding]] = defaultdict(list)
    for finding in (*merge.findings, *merge.dropped):
        for row in _rows_of(finding):
            by_agent[row.opinion.agent].append(row)
    reports = []
    for agent in merge.agents:
        own = tuple(by_agent.pop(agent.agent, ()))
        reports.append(
            Report(
                agent=agent.agent,
                status=agent.status,
                verdict=agent.verdict,
                rows=own,
                confidence=agent.confidence,
                kind=agent.kind,
                looked=agent.looked,
            )
        )
    return reports


def _rows_of(finding: MergedFinding) -> list[ReportedFinding]:
    identity = (
        finding.path,
        finding.line,
        finding.end_line,
        finding.category,
        finding.id,
        finding.title,
        finding.agents,
    )
    mark = _MARK + hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:16]
    computed = _COMPUTED.union(*(opinion.flags for opinion in finding.opinions))
    flags = tuple(flag for flag in finding.flags if flag not in computed)
    return [
        ReportedFinding(
            opinion=opinion,
            path=finding.path,
            end_line=finding.end_line if opinion.line == finding.line else None,
            category=finding.category,
            verified=finding.verified,
            flags=flags,
            fingerprint=mark,
        )
        for opinion in finding.opinions
    ]


def is_settled(rows: Sequence[ReportedFinding]) -> bool:
    """Return whether a group is one finding of one earlier merge, so that its conflicts are already listed."""
    marks = {row.fingerprint for row in rows}
    return len(marks) == 1 and marks.pop().startswith(_MARK)
