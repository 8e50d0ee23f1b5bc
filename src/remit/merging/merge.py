"""Merge results into one report: inputs, verdicts, rows, findings, filters, dismissals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from remit.checking import Options
from remit.errors import UsageError
from remit.evidence.sources import Sources
from remit.merging.content import Sections, combine_sections
from remit.merging.dismissal_file import stored_dismissals
from remit.merging.dismissals import apply_dismissals
from remit.merging.earlier import reports_of
from remit.merging.filters import NOTHING_NARROWED, Narrowing, narrowed
from remit.merging.findings import find, report_order
from remit.merging.inputs import Mergeable, read_inputs
from remit.merging.merge_data import (
    DISMISSED,
    MAX_FINDINGS,
    NOT_COUNTED,
    AgentReport,
    Conflict,
    Counts,
    FailedRow,
    LanguageCoverage,
    Merge,
    MergeDecision,
    MergedFinding,
    MergeSettings,
    MergeStatus,
    Report,
    ReportedFinding,
    rank,
)
from remit.merging.merge_settings import checked_settings

#: A result with a lower confidence needs a person.
CLARIFY_BELOW = 60.0
_DEFAULTS = MergeSettings()


def merge(
    results: Iterable[Mergeable],
    settings: MergeSettings = _DEFAULTS,
    *,
    options: Options | None = None,
    sources: Sources | None = None,
    narrowing: Narrowing = NOTHING_NARROWED,
) -> Merge:
    """Merge results, SARIF files and earlier merges into one report. The order of the inputs does not change it.

    Results are checked against `sources`. What a person dismissed in that checkout is dropped; if findings are narrowed
    to changes since a commit, the dismissals are those of the commit that they begin at.
    """
    sources = sources or Sources()
    settings = checked_settings(settings)
    inputs = read_inputs(results, (options or Options()).validated(), sources, settings.categories)
    earlier = [each for each in inputs if isinstance(each, Merge)]
    if len(inputs) == len(earlier) == 1 and settings.threshold is None and not settings.expect:
        merged = earlier[0]
    else:
        merged = _merged(inputs, earlier, settings)
    workspace = sources.workspace
    merged = with_findings(merged, narrowed(_all(merged), narrowing))
    entries = stored_dismissals(workspace.root, narrowing.base) if workspace is not None else ()
    return with_findings(merged, apply_dismissals(_all(merged), entries, workspace, merged.threshold))


def _merged(inputs: Sequence[Merge | list[Report]], earlier: Sequence[Merge], settings: MergeSettings) -> Merge:
    reports = [report for each in inputs for report in (reports_of(each) if isinstance(each, Merge) else each)]
    there = {report.agent for report in reports}
    reports += [Report(agent=agent, status="FAILED", verdict=None) for agent in sorted({*settings.expect} - there)]
    if (rows := sum(len(report.rows) for report in reports)) > MAX_FINDINGS:
        raise UsageError(f"{rows:,} findings; a merge takes at most {MAX_FINDINGS:,}: merge fewer files at a time")
    failed = sorted(
        {_failed(row) for report in reports for row in report.rows if row.failure}.union(*(r.failed for r in reports)),
        key=lambda row: (-rank(row.severity), row.agent, row.id, row.location, row.title, row.why),
    )
    holding = [replace(report, rows=tuple(row for row in report.rows if not row.failure)) for report in reports]
    found = find(holding, settings)
    agents = tuple(
        sorted(
            (AgentReport(report.agent, report.status, report.verdict) for report in reports),
            key=lambda agent: (agent.agent, agent.status, agent.verdict is None, agent.verdict or ""),
        )
    )
    sections = combine_sections([*(report.sections for report in reports), *(each.sections for each in earlier)])
    reviews = [each.coverage for each in earlier if each.coverage]
    looked = sum(report.looked for report in reports if report.status not in ("FAILED", *NOT_COUNTED))
    merged = Merge(
        status=status_of(agents),
        decision=decision_of(agents, sections, found.conflicts, failed),
        agents=agents,
        findings=found.kept,
        conflicts=found.conflicts,
        failed=tuple(failed),
        dropped=found.dropped,
        sections=sections,
        counts=_counts(len(reports), looked, found.kept, found.dropped, len(failed), len(found.conflicts)),
        threshold=settings.least,
    )
    # Which files two reviews have read together is not known.
    return with_coverage(merged, reviews[0]) if len(reviews) == 1 else merged


def _failed(row: ReportedFinding) -> FailedRow:
    """Return a row whose evidence failed, with the place that its agent stated."""
    opinion, (first, last) = row.opinion, row.span
    lines = f":{first}{f'-{last}' if last > first else ''}" if opinion.line is not None else ""
    return FailedRow(
        agent=opinion.agent,
        id=opinion.id,
        title=opinion.title,
        severity=opinion.severity,
        location=f"{row.path or ''}{lines}",
        why=row.failure,
    )


def _all(merged: Merge) -> tuple[MergedFinding, ...]:
    return (*merged.findings, *merged.dropped)


def with_findings(merged: Merge, findings: Sequence[MergedFinding]) -> Merge:
    """Return a merge with changed findings; those with a reason are dropped."""
    ordered = sorted(findings, key=report_order)
    kept = tuple(finding for finding in ordered if finding.reason is msgspec.UNSET)
    dropped = tuple(finding for finding in ordered if finding.reason is not msgspec.UNSET)
    old = merged.counts
    counts = _counts(old.inputs, old.looked, kept, dropped, old.failed, old.conflicts)
    return replace(merged, findings=kept, dropped=dropped, counts=counts)


def _counts(
    inputs: int,
    looked: int,
    kept: Sequence[MergedFinding],
    dropped: Sequence[MergedFinding],
    failed: int,
    conflicts: int,
) -> Counts:
    each = Counter(finding.severity for finding in kept)
    return Counts(
        inputs=inputs,
        findings=len(kept),
        critical=each["critical"],
        important=each["important"],
        minor=each["minor"],
        unrated=each[None],
        dropped=len(dropped),
        dismissed=sum(DISMISSED in finding.flags for finding in dropped),
        failed=failed,
        conflicts=conflicts,
        rows=sum(len(finding.members) for finding in (*kept, *dropped)),
        looked=looked,
    )


def status_of(agents: Iterable[AgentReport]) -> MergeStatus:
    """Return the status of a merge."""
    statuses = {agent.status for agent in agents if agent.status not in NOT_COUNTED}
    if statuses == {"SUCCESS"}:
        return "SUCCESS"
    return "FAILED" if statuses <= {"FAILED"} else "PARTIAL"


def decision_of(
    agents: Iterable[AgentReport], sections: Sections, conflicts: Sequence[Conflict], failed: Sequence[FailedRow]
) -> MergeDecision:
    """Return what to do next: run again what failed, ask a person, or continue."""
    counted = [agent for agent in agents if agent.status not in NOT_COUNTED]
    final = {error.agent for error in sections.errors if error.recoverable.strip().lower() == "false"}
    if not counted or any(agent.status == "FAILED" and agent.agent not in final for agent in counted):
        return "retry"
    unsure = any(agent.agent for agent in sections.summaries if is_unsure(agent.confidence))
    doubts = any(agent.status != "SUCCESS" or agent.verdict not in (None, "accept") for agent in counted)
    is_open = any(conflict.answer is None for conflict in conflicts)
    return "review" if doubts or is_open or failed or unsure else "continue"


def is_unsure(confidence: float | None) -> bool:
    """Return whether the confidence of a result is so low that a person has to look at it."""
    return confidence is not None and confidence < CLARIFY_BELOW


def with_coverage(merged: Merge, coverage: tuple[LanguageCoverage, ...]) -> Merge:
    """Add what the reviewers have read. A review that could read nothing has failed.

    To run it again only helps if a reviewer failed; otherwise a person has to choose other files or reviewers. A review
    that did not read most of the code is partial.
    """
    covered = replace(
        merged,
        status=status_of(merged.agents),
        decision=decision_of(merged.agents, merged.sections, merged.conflicts, merged.failed),
        coverage=coverage or (LanguageCoverage("none", 0, {}, 0),),
    )
    if covered.is_unread:
        has_failed = any(agent.status == "FAILED" for agent in merged.agents)
        return replace(covered, status="FAILED", decision="retry" if has_failed else "review")
    if covered.is_mostly_unread and covered.status == "SUCCESS":
        return replace(covered, status="PARTIAL", decision="review")
    return covered
