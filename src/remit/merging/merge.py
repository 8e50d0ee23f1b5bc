"""The merge itself: group → agree → conflict → filter → status. Reports come adjusted by their evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from remit.contract.findings import Severity
from remit.merging.again import is_settled
from remit.merging.agree import combine, disputed
from remit.merging.conflict import compliance, conflicts_of, denials, presence
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
#: The worst first, one without a severity last.
_RANKS: dict[Severity | None, int] = {severity: -at for at, severity in enumerate(SCALE)} | {None: 1}


def merge_reports(reports: Sequence[Report], settings: Settings, earlier: Sequence[Merge] = ()) -> Merge:
    """One answer out of many reports. The order of the reports does not change a byte of it.

    `earlier` are the merges that some of the reports come from: their conflicts are carried on.
    """
    reports = [*reports, *_missing(reports, settings)]
    answered = len({report.agent for report in reports if report.status != "FAILED"})
    sightings = [sighting for report in reports for sighting in report.sightings]
    kept: list[MergedFinding] = []
    dropped: list[MergedFinding] = []
    statements = [statement for report in reports for statement in report.statements]
    conflicts = [*compliance(statements), *(conflict for report in reports for conflict in report.conflicts)]
    denied = denials(statements)
    for members in group(sightings, settings.window):
        if len(members) > 1:
            members.sort(key=sighting_order)
        finding = combine(members, settings, answered)
        own: list[Conflict] = []
        if len(finding.opinions) > 1 and not is_settled(members):
            unscored = frozenset(sighting.opinion.agent for sighting in members if sighting.unscored)
            own.extend(conflicts_of(finding, unscored))
        if denied:
            own.extend(presence(finding, denied))
        if own:
            finding = disputed(finding)
            conflicts += own
        (kept if finding.reason is msgspec.UNSET else dropped).append(finding)
    conflicts.extend(conflict for merge in earlier for conflict in merge.conflicts)
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
    findings, rest = in_order(kept), in_order(dropped)
    disputes = tuple(sorted(set(conflicts), key=lambda c: (c.kind, c.finding, c.agents, c.why)))
    return Merge(
        status=_status(reports),
        decision=decision,
        agents=tuple(sorted((AgentReport(r.agent, r.status, r.verdict) for r in reports), key=_order)),
        findings=findings,
        conflicts=disputes,
        dropped=rest,
        counts=_counts(len(reports), findings, rest, disputes),
    )


def recount(merge: Merge, kept: Iterable[MergedFinding], dropped: Iterable[MergedFinding]) -> Merge:
    """The same merge with other findings kept and dropped."""
    findings, rest = in_order(kept), in_order(dropped)
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


def _order(report: AgentReport) -> tuple[str, str, str, bool]:
    return report.agent, report.status, report.verdict or "", report.verdict is None


def sighting_order(sighting: Sighting) -> tuple[object, ...]:
    """One order for the sightings of a finding, whatever order they came in."""
    said = sighting.opinion
    place = (said.line or 0, sighting.end_line or 0, sighting.end_line is None)
    words = (said.agent, said.id, said.title, said.details, said.confidence, said.severity or "")
    claimed = (str(said.claimed_path), str(said.claimed_line), str(said.claimed_confidence), said.evidence, said.flags)
    return (*place, *words, *claimed, str(sighting.verified), sighting.flags, sighting.fingerprint)


def in_order(findings: Iterable[MergedFinding]) -> tuple[MergedFinding, ...]:
    """The worst first, then the surest, then by place.

    Many are equally bad and sure: it is quicker to sort those among themselves than to compare them all.
    """
    alike: dict[tuple[Severity | None, float], list[MergedFinding]] = defaultdict(list)
    for finding in findings:
        alike[finding.severity, finding.confidence].append(finding)
    weights = sorted(alike, key=lambda weight: (_RANKS[weight[0]], -weight[1]))
    ordered: list[MergedFinding] = []
    for weight in weights:
        ordered += sorted(alike[weight], key=_place)
    return tuple(ordered)


def _place(finding: MergedFinding) -> tuple[object, ...]:
    """No two findings of a merge have the same: they would have been one."""
    path, line, end_line = finding.path, finding.line, finding.end_line or 0
    if path is not None and line is not None:
        return (path, line, end_line, finding.category)
    return (path or "", line or 0, end_line, finding.category, finding.id, finding.title, path is None, line is None)


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
