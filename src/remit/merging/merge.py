"""Merge reports: group → agree → conflict → filter → status. The reports are already adjusted by their evidence."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from remit.contract.findings import Severity
from remit.merging.agree import combine, is_disputed, with_unique_ids
from remit.merging.content import Sections, combine_sections
from remit.merging.grouping import group_findings
from remit.merging.model import (
    NOT_COUNTED,
    SCALE,
    SKIPPED,
    AgentReport,
    Conflict,
    Counts,
    LanguageCoverage,
    Merge,
    MergeDecision,
    MergedFinding,
    MergeSettings,
    MergeStatus,
    Report,
    ReportedFinding,
    ReportedStatement,
)
from remit.merging.previous import is_settled, renamed_conflicts

#: A result with a lower confidence needs a person.
CLARIFY_BELOW = 60.0
#: The worst severity first, a missing one last.
_RANKS: dict[Severity | None, int] = {severity: -at for at, severity in enumerate(SCALE)} | {None: 1}
#: Scores at least this far apart are a conflict.
SCORE_GAP = 30.0
Denials = dict[tuple[str, int], list[ReportedStatement]]
Spans = Mapping[str, Sequence[tuple[int, int]]]


def merge_reports(reports: Sequence[Report], settings: MergeSettings, earlier: Sequence[Merge] = ()) -> Merge:
    """Merge reports. The order of the reports does not change the output.

    `earlier` are the merges that some of the reports come from; their conflicts are kept.
    """
    reports = [*reports, *_missing(reports, settings)]
    answered = len({report.agent for report in reports if report.status not in ("FAILED", *NOT_COUNTED)})
    rows = [row for report in reports for row in report.rows]
    groups = list(group_findings(rows, row_order, settings.window))
    findings = with_unique_ids([combine(members, settings, answered) for members in groups])
    kept: list[MergedFinding] = []
    dropped: list[MergedFinding] = []
    statements = [statement for report in reports for statement in report.statements]
    conflicts = [*compliance_conflicts(statements), *(conflict for report in reports for conflict in report.conflicts)]
    denied = denials(statements)
    for members, combined in zip(groups, findings, strict=True):
        own: list[Conflict] = []
        if len(combined.opinions) > 1 and not is_settled(members):
            own.extend(conflicts_of(combined, _unscored_agents(members)))
        if denied:
            own.extend(presence_conflicts(combined, denied))
        finding = is_disputed(combined) if own else combined
        conflicts += own
        (kept if finding.reason is msgspec.UNSET else dropped).append(finding)
    conflicts += renamed_conflicts(earlier, groups, findings)
    decision = _decision(reports, conflicts, earlier)
    sections = combine_sections([*(r.sections for r in reports), *(merge.sections for merge in earlier)])
    merged = _assemble(reports, decision, kept, dropped, conflicts, sections)
    reviews = [merge.coverage for merge in earlier if merge.coverage]
    # Which files two reviews have read together is not known.
    return with_coverage(merged, reviews[0]) if len(reviews) == 1 else merged


def _unscored_agents(rows: Sequence[ReportedFinding]) -> frozenset[str]:
    """Return the agents that gave no score for any of their rows."""
    scored = {row.opinion.agent for row in rows if not row.unscored}
    return frozenset(row.opinion.agent for row in rows) - scored


def _assemble(
    reports: Sequence[Report],
    decision: MergeDecision,
    kept: Iterable[MergedFinding],
    dropped: Iterable[MergedFinding],
    conflicts: Iterable[Conflict],
    sections: Sections,
) -> Merge:
    """Sort everything and add status, decision and counts."""
    findings, rest = in_order(kept), in_order(dropped)
    disputes = tuple(sorted(set(conflicts), key=lambda c: (c.kind, c.finding, c.agents, c.why)))
    return Merge(
        status=_status(reports),
        decision=decision,
        agents=tuple(sorted(map(_agent_report, reports), key=_order)),
        findings=findings,
        conflicts=disputes,
        dropped=rest,
        sections=sections,
        counts=_counts(len(reports), findings, rest, disputes),
    )


def update_counts(merge: Merge, kept: Iterable[MergedFinding], dropped: Iterable[MergedFinding]) -> Merge:
    """Return the merge with other findings kept and dropped."""
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
        unrated=severities.count(None),
        rows=sum(len(finding.members) for finding in (*findings, *dropped)),
        dismissed=sum("dismissed" in finding.flags for finding in dropped),
    )


def _missing(reports: Sequence[Report], settings: MergeSettings) -> list[Report]:
    there = {report.agent for report in reports}
    return [Report(agent=agent, status="FAILED", verdict=None) for agent in sorted(set(settings.expect) - there)]


def _agent_report(report: Report) -> AgentReport:
    return AgentReport(
        report.agent, report.status, report.verdict, report.kind, report.confidence, report.looked, report.problem
    )


def _order(report: AgentReport) -> tuple[object, ...]:
    confidence = -1.0 if report.confidence is None else report.confidence
    return (
        report.agent,
        report.status,
        report.verdict or "",
        report.verdict is None,
        report.kind,
        confidence,
        str(report.looked),
        str(report.problem),
    )


def row_order(row: ReportedFinding) -> tuple[object, ...]:
    """Return the sort key of a row, so that the order of the inputs does not matter."""
    opinion = row.opinion
    location = (opinion.line or 0, row.end_line or 0, row.end_line is None)
    texts = (
        opinion.agent,
        opinion.id,
        opinion.title,
        opinion.details,
        opinion.confidence,
        opinion.severity or "",
    )
    claimed = (
        str(opinion.claimed_path),
        str(opinion.claimed_line),
        str(opinion.claimed_confidence),
        opinion.evidence,
        opinion.flags,
    )
    rest = (str(row.verified), row.flags, row.fingerprint, opinion.rule, row.category, row.path or "", row.reason)
    return (*location, *texts, *claimed, *rest)


def in_order(findings: Iterable[MergedFinding]) -> tuple[MergedFinding, ...]:
    """Sort by severity, then by confidence, then by location.

    Many findings share severity and confidence: sorting within these groups is faster than comparing all of them.
    """
    alike: dict[tuple[Severity | None, float], list[MergedFinding]] = defaultdict(list)
    for finding in findings:
        alike[finding.severity, finding.confidence].append(finding)
    weights = sorted(alike, key=lambda weight: (_RANKS[weight[0]], -weight[1]))
    ordered: list[MergedFinding] = []
    for weight in weights:
        places: dict[tuple[str, int], list[MergedFinding]] = defaultdict(list)
        for finding in alike[weight]:
            places[finding.path or "", finding.line or 0].append(finding)
        for _, there in sorted(places.items()):
            ordered += there if len(there) == 1 else sorted(there, key=_location_key)
    return tuple(ordered)


def _location_key(finding: MergedFinding) -> tuple[object, ...]:
    """Return a key that no two findings of a merge share: they would have been merged."""
    path, line, end_line = finding.path, finding.line, finding.end_line or 0
    reason = finding.reason if isinstance(finding.reason, str) else ""
    own = (finding.category, finding.id, finding.title, path is None, line is None, finding.agents, reason)
    return (path or "", line or 0, end_line, *own)


def _status(reports: Sequence[Report]) -> MergeStatus:
    statuses = {report.status for report in reports if report.status not in NOT_COUNTED}
    if statuses == {"SUCCESS"}:
        return "SUCCESS"
    return "FAILED" if statuses <= {"FAILED"} else "PARTIAL"


def _decision(reports: Sequence[Report], conflicts: Sequence[Conflict], earlier: Sequence[Merge]) -> MergeDecision:
    if any(report.status == "FAILED" for report in reports) or all(report.status == SKIPPED for report in reports):
        return "retry"
    if any(merge.decision == "review" for merge in earlier):
        return "review"
    unsure = any(report.confidence is not None and report.confidence < CLARIFY_BELOW for report in reports)
    partial = any(report.status not in ("SUCCESS", *NOT_COUNTED) for report in reports)
    return "review" if partial or conflicts or unsure else "continue"


def conflicts_of(finding: MergedFinding, unscored: frozenset[str] = frozenset()) -> Iterable[Conflict]:
    """Yield the conflicts about one finding; agents without a score (`unscored`) are excluded."""
    mildest, *_, worst = SCALE
    low = [opinion.agent for opinion in finding.opinions if opinion.severity == mildest]
    high = [opinion.agent for opinion in finding.opinions if opinion.severity == worst]
    if low and high:
        one, other = max(high), min(low)
        why = f"{one} calls it {worst}, {other} {mildest}{_at(finding)}"
        yield Conflict("severity", name_of(finding), _agents(one, other), why)
    scored = [(opinion.confidence, opinion.agent) for opinion in finding.opinions if opinion.agent not in unscored]
    if len(scored) > 1:
        (lowest, other), (highest, one) = min(scored), max(scored)
        if highest - lowest >= SCORE_GAP:
            why = f"{one} gives it {highest:g}, {other} {lowest:g}{_at(finding)}"
            yield Conflict("score", name_of(finding), _agents(one, other), why)


def name_of(finding: MergedFinding) -> str:
    """Return the name that a conflict uses for a finding: its id, else its location, else its title."""
    if finding.id:
        return finding.id
    return f"{finding.path}:{finding.line}" if finding.path else finding.title


def _at(finding: MergedFinding) -> str:
    """Return the location as text: two agents may use one id for two findings."""
    return f" (at {finding.path}:{finding.line})" if finding.path and finding.line else ""


def _agents(*names: str) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def compliance_conflicts(statements: Sequence[ReportedStatement]) -> Iterable[Conflict]:
    """Yield a conflict for each standard with PASS and FAIL; case and white space are ignored."""
    verdicts_of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    written: dict[str, str] = {}
    for statement in statements:
        if statement.kind == "compliance" and statement.says in ("PASS", "FAIL"):
            name = " ".join(statement.subject.split())
            verdicts_of[name.lower()][statement.says].add(statement.agent)
            written[name.lower()] = min(name, written.get(name.lower(), name))
    for subject, verdicts in sorted(verdicts_of.items()):
        if len(verdicts) == 2:
            passed, failed = sorted(verdicts["PASS"]), sorted(verdicts["FAIL"])
            why = f"PASS by {', '.join(passed)}; FAIL by {', '.join(failed)}"
            yield Conflict("compliance", written[subject], _agents(*passed, *failed), why)


def denials(statements: Sequence[ReportedStatement]) -> Denials:
    """Return the UNVERIFIED claims by location."""
    at: Denials = defaultdict(list)
    for statement in statements:
        if statement.kind == "claim" and statement.says == "UNVERIFIED" and statement.path and statement.line:
            at[(statement.path, statement.line)].append(statement)
    return at


def presence_conflicts(finding: MergedFinding, denied: Denials) -> Iterable[Conflict]:
    """Yield a conflict for each UNVERIFIED claim at the location of a finding."""
    if finding.path is None or finding.line is None:
        return
    last = min(finding.end_line or finding.line, finding.line + 10_000)
    here = [claim for line in range(finding.line, last + 1) for claim in denied.get((finding.path, line), ())]
    for claim in sorted(here, key=lambda claim: (claim.agent, claim.subject)):
        why = f"{claim.agent} could not verify: {claim.subject}{_at(finding)}"
        yield Conflict("presence", name_of(finding), _agents(claim.agent, *finding.agents), why)


def with_coverage(merge: Merge, coverage: tuple[LanguageCoverage, ...]) -> Merge:
    """Add what the reviewers have read. A review that could read nothing has failed.

    To run it again only helps if a reviewer failed; otherwise a person has to choose other files or reviewers. A review
    that did not read most of the code is partial.
    """
    covered = msgspec.structs.replace(merge, coverage=coverage or (LanguageCoverage("none", 0, {}, 0),))
    if not covered.is_unread:
        is_success = covered.is_mostly_unread and covered.status == "SUCCESS"
        changed = {"status": "PARTIAL", "decision": "review" if merge.decision == "continue" else merge.decision}
        return msgspec.structs.replace(covered, **changed) if is_success else covered
    has_failed = any(one.status == "FAILED" for one in merge.agents)
    return msgspec.structs.replace(covered, status="FAILED", decision="retry" if has_failed else "review")


def without_sections(merge: Merge, agents: Collection[str]) -> Merge:
    """Leave out what programs report besides findings, errors and blockers: it only repeats their findings."""
    kept = {
        name: tuple(one for one in getattr(merge.sections, name) if one.agent not in agents)
        for name in ("summaries", "next_steps", "notes")
    }
    references = tuple(one for one in merge.sections.references if not set(one.agents) <= set(agents))
    return msgspec.structs.replace(
        merge, sections=msgspec.structs.replace(merge.sections, **kept, references=references)
    )


def hide_baseline(merge: Merge, baseline: Merge) -> Merge:
    """Drop the findings that an earlier merge already has."""
    titles = {(f.path, f.category, _folded(f.title)) for f in (*baseline.findings, *baseline.dropped)}
    lines = {(f.path, f.category, f.line) for f in (*baseline.findings, *baseline.dropped) if f.line is not None}

    def is_in_baseline(finding: MergedFinding) -> bool:
        location = (finding.path, finding.category, finding.line)
        return location in lines or (finding.path, finding.category, _folded(finding.title)) in titles

    return _drop(merge, is_in_baseline, "already in the baseline")


def only_changed(merge: Merge, changed: Spans, since: str) -> Merge:
    """Drop the findings that are not on a line changed since a commit."""
    return _drop(merge, lambda finding: not _is_changed(finding, changed), f"not on lines changed since {since}")


def _is_changed(finding: MergedFinding, changed: Spans) -> bool:
    spans = changed.get(finding.path or "", ())
    if not spans or finding.line is None:
        return bool(spans)
    last = finding.end_line or finding.line
    at = bisect_right(spans, (last, 1 << 60))
    return any(first <= last and finding.line <= end for first, end in spans[max(0, at - 2) : at + 1])


def _drop(merge: Merge, unwanted: Callable[[MergedFinding], bool], reason: str) -> Merge:
    gone = [msgspec.structs.replace(finding, reason=reason) for finding in merge.findings if unwanted(finding)]
    kept = [finding for finding in merge.findings if not unwanted(finding)]
    return update_counts(merge, kept, [*merge.dropped, *gone])


def _folded(title: str) -> str:
    return " ".join(title.lower().split())
