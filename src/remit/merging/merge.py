"""Merge reports: group → agree → conflict → filter → status. The reports are already adjusted by their evidence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import compress
from operator import is_

import msgspec

from remit.merging.agree import Singles, combine, is_disputed, threshold_of
from remit.merging.arranging import Arranged, arrange
from remit.merging.conflicts import (
    Denials,
    compliance_conflicts,
    conflicts_of,
    denials,
    presence_conflicts,
    unscored_agents,
)
from remit.merging.content import Sections, combine_sections
from remit.merging.drafts import Change, Drafts, StoredFindings, place_of
from remit.merging.grouping import group_by_mark, group_findings, merge_of_row, place_key
from remit.merging.merge_data import (
    NOT_COUNTED,
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
)
from remit.merging.previous import is_settled, renamed_conflicts
from remit.merging.sarif.tool_rules import is_analyser

#: A result with a lower confidence needs a person.
CLARIFY_BELOW = 60.0
Spans = Mapping[str, Sequence[tuple[int, int]]]


def merge_reports(
    reports: Iterable[Report], settings: MergeSettings, earlier: Sequence[Merge] = (), in_memory: int | None = None
) -> Merge:
    """Merge reports. The order of the reports does not change the output.

    `earlier` are the merges that some of the reports come from; their conflicts are kept. The findings of more rows
    than `in_memory` are `StoredFindings`.
    """
    drafts = Drafts(in_memory)
    marks: set[str] = set()
    without_rows: list[Report] = []
    for report in reports:
        if len(marks) < 2 and "" not in marks:
            marks.update(map(merge_of_row, report.rows))
        drafts.add_rows(report.rows)
        without_rows.append(msgspec.structs.replace(report, rows=()))
    # All rows come from one earlier merge, whose findings are kept as they are.
    is_one_merge = "" not in marks and len(marks) == 1
    if is_one_merge and len(earlier) == 1 and settings.keeps_threshold:
        settings = msgspec.structs.replace(settings, threshold=threshold_of(earlier[0], settings.threshold))
    return _merge_rows(without_rows, drafts, settings, earlier, is_one_merge=is_one_merge)


def _merge_rows(
    reports: Sequence[Report],
    drafts: Drafts,
    settings: MergeSettings,
    earlier: Sequence[Merge],
    *,
    is_one_merge: bool,
) -> Merge:
    reports = [*reports, *_missing(reports, settings)]
    answered = len({report.agent for report in reports if report.status not in ("FAILED", *NOT_COUNTED)})
    statements = [statement for report in reports for statement in report.statements]
    own_conflicts = (conflict for report in reports for conflict in report.conflicts)
    # The rules of a program rate a line independently.
    own_conflicts = (
        conflict for conflict in own_conflicts if conflict.kind != "self" or not is_analyser(conflict.agents[0])
    )
    conflicts = [*compliance_conflicts(statements), *own_conflicts]
    self_conflicts = {
        (agent, conflict.finding) for conflict in conflicts if conflict.kind == "self" for agent in conflict.agents
    }
    checks = _Checks(denials(statements), self_conflicts, has_earlier=bool(earlier))
    for rows in drafts.row_batches():
        grouped = group_by_mark(rows, row_order) if is_one_merge else group_findings(rows, row_order, settings.window)
        is_alone = bytearray(b"\1") * len(rows)
        findings: list[MergedFinding] = []
        members: list[Sequence[ReportedFinding]] = []
        for numbers in grouped:
            members.append([rows[index] for index in numbers])
            findings.append(combine(members[-1], settings, answered))
            for number in numbers:
                is_alone[number] = 0
        alone = list(compress(rows, is_alone))
        findings += Singles(settings, answered).combine(alone)
        members += [(row,) for row in alone]
        places = list(map(place_of, findings))
        ordered = sorted(range(len(findings)), key=places.__getitem__)
        drafts.add(
            (places[index], checks.checked(findings[index], members[index], number))
            if checks.concern_single_rows or len(members[index]) > 1
            else (places[index], findings[index])
            for number, index in enumerate(ordered, drafts.count)
        )
    drafts.name_all()
    for draft, disputes in checks.disputes.items():
        name = drafts.id_of(draft)
        conflicts += [msgspec.structs.replace(conflict, finding=name) for conflict in disputes]
    conflicts = [_renamed(conflict, checks, drafts) for conflict in conflicts]
    conflicts += renamed_conflicts(earlier, {mark: drafts.id_of(number) for mark, number in checks.marks.items()})
    decision = _decision(reports, conflicts, earlier)
    sections = combine_sections([*(r.sections for r in reports), *(merge.sections for merge in earlier)])
    merged = _assemble(reports, decision, drafts, conflicts, sections)
    reviews = [merge.coverage for merge in earlier if merge.coverage]
    # Which files two reviews have read together is not known.
    return with_coverage(merged, reviews[0]) if len(reviews) == 1 else merged


def _renamed(conflict: Conflict, checks: _Checks, drafts: Drafts) -> Conflict:
    """Return a conflict of an agent with itself under the name that its finding has in the merge."""
    number = checks.own_at.get((conflict.agents[0], conflict.finding)) if conflict.kind == "self" else None
    return conflict if number is None else msgspec.structs.replace(conflict, finding=drafts.id_of(number))


class _Checks:
    """Finds the conflicts about findings, before they have their final ids: they are known by their numbers."""

    def __init__(self, denied: Denials, self_conflicts: Set[tuple[str, str]], *, has_earlier: bool) -> None:
        self._denied = denied
        #: The findings, by agent and name, about which an agent contradicts itself; and their numbers.
        self._own = self_conflicts
        self.own_at: dict[tuple[str, str], int] = {}
        self._has_earlier = has_earlier
        self.concern_single_rows = bool(denied) or has_earlier or bool(self_conflicts)
        self.disputes: dict[int, list[Conflict]] = {}
        #: The findings that have a finding of an earlier merge, by its mark.
        self.marks: dict[str, int] = {}

    def checked(self, finding: MergedFinding, members: Sequence[ReportedFinding], number: int) -> MergedFinding:
        """Return a finding, with a flag if there is a conflict about it."""
        if self._has_earlier:
            self.marks.update((row.fingerprint, number) for row in members if row.is_merged)
        if self._own:
            names = ((row.opinion.agent, row.opinion.id or row.opinion.title) for row in members)
            self.own_at.update((name, number) for name in names if name in self._own)
        conflicts: list[Conflict] = []
        if len(finding.opinions) > 1 and not (members[0].fingerprint and is_settled(members)):
            unscored = unscored_agents(members) if "unscored" in finding.flags else frozenset()
            conflicts = conflicts_of(finding, unscored)
        if self._denied:
            conflicts.extend(presence_conflicts(finding, self._denied))
        if not conflicts:
            return finding
        self.disputes[number] = conflicts
        return is_disputed(finding)


def _assemble(
    reports: Sequence[Report],
    decision: MergeDecision,
    drafts: Drafts,
    conflicts: Iterable[Conflict],
    sections: Sections,
) -> Merge:
    """Sort everything and add status, decision and counts."""
    arranged = drafts.arranged()
    disputes = tuple(sorted(set(conflicts), key=lambda c: (c.kind, c.finding, c.agents, c.why)))
    return Merge(
        status=_status(reports),
        decision=decision,
        agents=tuple(sorted(map(_agent_report, reports), key=_report_order)),
        findings=arranged.kept,  # type: ignore[arg-type]
        conflicts=disputes,
        dropped=arranged.dropped,  # type: ignore[arg-type]
        sections=sections,
        counts=_counts(len(reports), arranged, disputes),
    )


def revise(merge: Merge, change: Change) -> Merge:
    """Change every finding of a merge; one that has a reason afterwards is dropped. Do not use the old merge again."""
    stored = merge.findings
    if isinstance(stored, StoredFindings):
        arranged = stored.drafts.revised(change)
    else:
        by_file = sorted((*merge.findings, *merge.dropped), key=lambda finding: finding.path or "")
        changed = list(map(change, by_file))  # so that a file that is looked at is read once
        if all(map(is_, changed, by_file)):
            return merge
        arranged = arrange(changed)
    counts = _counts(merge.counts.inputs, arranged, merge.conflicts)
    return msgspec.structs.replace(merge, findings=arranged.kept, dropped=arranged.dropped, counts=counts)


def _counts(inputs: int, arranged: Arranged, conflicts: Sequence[Conflict]) -> Counts:
    kept, rest = arranged.kept_tally, arranged.dropped_tally
    return Counts(
        inputs=inputs,
        findings=len(arranged.kept),
        dropped=len(arranged.dropped),
        conflicts=len(conflicts),
        critical=kept.severities["critical"],
        important=kept.severities["important"],
        minor=kept.severities["minor"],
        unrated=kept.severities[None],
        rows=kept.rows + rest.rows,
        dismissed=rest.dismissed,
    )


def _missing(reports: Sequence[Report], settings: MergeSettings) -> list[Report]:
    there = {report.agent for report in reports}
    return [Report(agent=agent, status="FAILED", verdict=None) for agent in sorted(set(settings.expect) - there)]


def _agent_report(report: Report) -> AgentReport:
    return AgentReport(
        report.agent, report.status, report.verdict, report.kind, report.confidence, report.looked, report.problem
    )


def _report_order(report: AgentReport) -> tuple[object, ...]:
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
    """Return the sort key of a row, so that the order of the inputs does not matter. It begins with `place_key`."""
    opinion = row.opinion
    texts = (
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
    return (*place_key(row), *texts, *claimed, *rest)


def _status(reports: Sequence[Report | AgentReport]) -> MergeStatus:
    statuses = {report.status for report in reports if report.status not in NOT_COUNTED}
    if statuses == {"SUCCESS"}:
        return "SUCCESS"
    return "FAILED" if statuses <= {"FAILED"} else "PARTIAL"


def _decision(
    reports: Sequence[Report | AgentReport], conflicts: Sequence[Conflict], earlier: Sequence[Merge]
) -> MergeDecision:
    if any(report.status == "FAILED" for report in reports) or all(report.status == SKIPPED for report in reports):
        return "retry"
    if any(merge.decision == "review" for merge in earlier):
        return "review"
    unsure = any(report.confidence is not None and report.confidence < CLARIFY_BELOW for report in reports)
    partial = any(report.status not in ("SUCCESS", *NOT_COUNTED) for report in reports)
    return "review" if partial or conflicts or unsure else "continue"


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
    has_failed = any(agent.status == "FAILED" for agent in merge.agents)
    return msgspec.structs.replace(covered, status="FAILED", decision="retry" if has_failed else "review")


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
    index = bisect_right(spans, (last, 1 << 60))
    return any(first <= last and finding.line <= end for first, end in spans[max(0, index - 2) : index + 1])


def _drop(merge: Merge, unwanted: Callable[[MergedFinding], bool], reason: str) -> Merge:
    def without(finding: MergedFinding) -> MergedFinding:
        is_gone = finding.reason is msgspec.UNSET and unwanted(finding)
        return msgspec.structs.replace(finding, reason=reason) if is_gone else finding

    return revise(merge, without)


def _folded(title: str) -> str:
    return " ".join(title.lower().split())
