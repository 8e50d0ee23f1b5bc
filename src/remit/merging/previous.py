"""An earlier merge as an input: its opinions take part again, its conflicts are carried on.

A merge that is merged alone comes out as it went in: its findings are held together by a mark of their
own, and what was decided from facts that a merge does not keep (why scores were left apart, how sure a
whole result was) is not decided again.
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
    """A merge from its JSON form."""
    try:
        return msgspec.json.decode(data, type=Merge)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not a merge of the shape remit.merge/1: {error}") from error


def reports_of(merge: Merge) -> list[Report]:
    """The reports that an earlier merge was made of, as far as it tells."""
    by_agent: dict[str, list[ReportedFinding]] = defaultdict(list)
    for finding in (*merge.findings, *merge.dropped):
        for sighting in _sightings(finding):
            by_agent[sighting.opinion.agent].append(sighting)
    reports = []
    for agent in merge.agents:
        own = tuple(by_agent.pop(agent.agent, ()))
        reports.append(Report(agent=agent.agent, status=agent.status, verdict=agent.verdict, sightings=own))
    return reports


def _sightings(finding: MergedFinding) -> list[ReportedFinding]:
    told = (finding.path, finding.line, finding.end_line, finding.category, finding.id, finding.title, finding.agents)
    mark = _MARK + hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16]
    known = _COMPUTED.union(*(opinion.flags for opinion in finding.opinions))
    flags = tuple(flag for flag in finding.flags if flag not in known)
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


def is_settled(sightings: Sequence[ReportedFinding]) -> bool:
    """Whether a group is one finding of one earlier merge, so that its conflicts are known already."""
    marks = {sighting.fingerprint for sighting in sightings}
    return len(marks) == 1 and marks.pop().startswith(_MARK)
