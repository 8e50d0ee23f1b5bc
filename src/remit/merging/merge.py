"""The merge itself: group → agree → conflict → filter → status. Reports come adjusted by their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from remit.merging.again import is_settled
from remit.merging.agree import combine
from remit.merging.conflict import compliance, conflicts_of, presence
from remit.merging.model import (
    SCALE,
    AgentReport,
    Conflict,
    Counts,
    Merge,
    MergeDecision,
    MergedFinding,
    MergeStatus,
    Report,
    Settings,
    Sighting,
)
from remit.merging.same_place import group

#: A result this unsure asks for a person.
CLARIFY_BELOW = 60.0


def merge_reports(reports: Sequence[Report], settings: Settings, earlier: Sequence[Merge] = ()) -> Merge:
    """One answer out of many reports. The order of the reports does not change a byte of it.

    `earlier` are the merges that some of the reports come from: their conflicts are carried on.
    """
    reports = sorted([*reports, *_missing(reports, settings)], key=_order)
    answered = len({report.agent for report in reports if report.status != "FAILED"})
    sightings = [sighting for report in reports for sighting in report.sightings]
    merged: list[MergedFinding] = []
    conflicts: list[Conflict] = []
    for members in group(sightings, settings.window):
        if len(members) > 1:
            members.sort(key=sighting_order)
        finding = combine(members, settings, answered)
        merged.append(finding)
        if len(finding.opinions) > 1 and not is_settled(members):
            unscored = frozenset(sighting.opinion.agent for sighting in members if sighting.unscored)
            conflicts.extend(conflicts_of(finding, unscored))
    statements = [statement for report in reports for statement in report.statements]
    conflicts.extend(compliance(statements))
    conflicts.extend(presence(merged, statements))
    conflicts.extend(conflict for merge in earlier for conflict in merge.conflicts)
    kept, dropped = _filtered(merged, settings)
    decision = _decision(reports, conflicts, earlier)
    return _assemble(reports, decision, kept, dropped, conflicts)


def _assemble(
    reports: Sequence[Report],
    decision: MergeDecision,
    kept: Iterable[MergedFinding],
    dropped: Iterable[MergedFinding],
    conflicts: Iterable[Conflict],
) -> Merge:
    """Everything in its one order, with status, decision and counts."""
    findings, rest = tuple(sorted(kept, key=finding_order)), tuple(sorted(dropped, key=finding_order))
    disputes = tuple(sorted(set(conflicts), key=lambda c: (c.kind, c.finding, c.agents, c.why)))
    return Merge(
        status=_status(reports),
        decision=decision,
        agents=tuple(AgentReport(report.agent, report.status, report.verdict) for report in reports),
        findings=findings,
        conflicts=disputes,
        dropped=rest,
        counts=_counts(len(reports), findings, rest, disputes),
    )


def recount(merge: Merge, kept: Iterable[MergedFinding], dropped: Iterable[MergedFinding]) -> Merge:
    """The same merge with other findings kept and dropped."""
    findings, rest = tuple(sorted(kept, key=finding_order)), tuple(sorted(dropped, key=finding_order))
    counts = _counts(merge.counts.inputs, findings, rest, merge.conflicts)
    return msgspec.structs.replace(merge, findings=findings, dropped=rest, counts=counts)


def _counts(
    inputs: int, findings: Sequence[MergedFinding], dropped: Sequence[MergedFinding], conflicts: Sequence[Conflict]
) -> Counts:
    severities = [finding.severity for finding in findings]
    return Counts(
        inputs=inputs,
        findings=len(findings),
        dropped=len(dropped),
        conflicts=len(conflicts),
        critical=severities.count("critical"),
        important=severities.count("important"),
        minor=severities.count("minor"),
    )


def _missing(reports: Sequence[Report], settings: Settings) -> list[Report]:
    there = {report.agent for report in reports}
    return [Report(agent=agent, status="FAILED", verdict=None) for agent in sorted(set(settings.expect) - there)]


def _order(report: Report) -> tuple[str, str, str, bytes]:
    return report.agent, report.status, report.verdict or "", msgspec.json.encode(report)


def sighting_order(sighting: Sighting) -> tuple[object, ...]:
    """One order for all sightings, whatever order they came in."""
    said = sighting.opinion
    place = (sighting.path or "", said.line or 0, sighting.end_line or 0, sighting.category)
    words = (said.agent, said.id, said.title, said.details, said.confidence, said.severity or "")
    return (*place, *words, str(sighting.verified), sighting.unscored, sighting.flags, sighting.fingerprint)


def finding_order(finding: MergedFinding) -> tuple[object, ...]:
    """The worst first, then the surest, then by place."""
    rank = -SCALE.index(finding.severity) if finding.severity else 1
    place = (finding.path or "", finding.line or 0, finding.end_line or 0, finding.category)
    return (rank, -finding.confidence, *place, finding.id, finding.title)


def _filtered(merged: Iterable[MergedFinding], settings: Settings) -> tuple[list[MergedFinding], list[MergedFinding]]:
    """After the boost: keep what is sure enough, and whatever is critical."""
    kept, dropped = [], []
    for finding in merged:
        if finding.confidence >= settings.threshold or finding.severity == "critical":
            kept.append(finding)
        else:
            reason = f"confidence {finding.confidence:g} is under {settings.threshold:g}"
            dropped.append(msgspec.structs.replace(finding, reason=reason))
    return kept, dropped


def _status(reports: Sequence[Report]) -> MergeStatus:
    statuses = {report.status for report in reports}
    if statuses == {"SUCCESS"}:
        return "SUCCESS"
    return "FAILED" if statuses <= {"FAILED"} else "PARTIAL"


def _decision(reports: Sequence[Report], conflicts: Sequence[Conflict], earlier: Sequence[Merge]) -> MergeDecision:
    if any(report.status == "FAILED" for report in reports) or not reports:
        return "retry"
    if any(merge.decision == "review" for merge in earlier):
        return "review"
    unsure = any(report.confidence is not None and report.confidence < CLARIFY_BELOW for report in reports)
    partial = any(report.status != "SUCCESS" for report in reports)
    return "review" if partial or conflicts or unsure else "continue"
