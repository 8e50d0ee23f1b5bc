"""Turn a verdict into a report for the merge: each finding at its corrected location, with an adjusted score.

Evidence that holds or could not be checked changes nothing. A corrected location costs 10 points, failed evidence 20.
A row without a score starts at 70 and is flagged; a bullet of Issues starts at the score of its result.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from remit.acceptance import holding_lines
from remit.checking import Verdict
from remit.contract.findings import Finding, FindingDetail, tables
from remit.contract.headings import column_index
from remit.contract.kinds import slug
from remit.contract.lines import plain_text
from remit.contract.render import free_text
from remit.contract.result_data import STATUSES, Content, Table, Text
from remit.digests import sha256_of
from remit.evidence.claims import explain
from remit.evidence.model import OUTCOMES, Checked, Outcome
from remit.merging.collect import collect_sections, looks_for_issues
from remit.merging.content import combine_sections
from remit.merging.merge_data import (
    CONFLICT_KINDS,
    MERGED_AGENT,
    PARTIAL,
    QUOTED,
    Conflict,
    Opinion,
    Report,
    ReportedFinding,
    ReportedStatement,
)
from remit.workspace.files import SourceFile, Workspace

#: From best to worst.
_VERDICTS = (None, "accept", "revise", "reject")
UNSCORED = 70.0
QUOTE_LOST = "the quoted code does not exist there"
#: The outcomes of evidence that holds.
_HOLDING: frozenset[Outcome] = frozenset({"verified", "exists", "relocated"})
_PENALTY: dict[Outcome, float] = {"relocated": 10.0}
_FAILED: frozenset[Outcome] = frozenset({"missing-file", "out-of-range", "mismatch"})
_FAILED_PENALTY = 20.0
_MIN_FINGERPRINT = 10
#: The most characters of a status that does not exist.
_MAX_STATUS = 40


_SELF_CONFLICT = "self-conflict"
#: What a conflict of an agent with itself is about, if it is not a finding.
_WHOLE_RESULT = "its own result"


def build_report(verdict: Verdict, workspace: Workspace | None = None, *, sender: str = "") -> Report:
    """Return the report of one checked result. The agent `sender` replaces the one in its title."""
    agent = sender or verdict.agent or _unknown(verdict)
    details = verdict.document.details
    claims = _FindingClaims(verdict, details)
    words = {detail.id.upper(): free_text(_without_head(detail)) for detail in details}
    rows = [
        _reported_finding(finding, agent, verdict, claims, words.get(finding.id.upper(), ""), workspace)
        for finding in verdict.document.findings
    ]
    is_rejected = verdict.verdict == "reject"
    is_merge = not sender and agent == slug(MERGED_AGENT)
    if is_rejected:
        rows = _held_rows(verdict, rows)
    status = _status(verdict)
    return Report(
        agent=agent,
        status=status,
        verdict=verdict.verdict,
        problem=_status_problem(verdict, status),
        kind=verdict.kind if verdict.document.has_content else "",
        looked=looks_for_issues(verdict),
        sections=collect_sections(verdict, agent, status),
        rows=tuple(rows),
        statements=() if is_rejected else (*_compliance(verdict, agent), *_claims(verdict, agent)),
        conflicts=() if is_rejected else tuple(_own_conflicts(verdict, agent, is_merge=is_merge)),
        confidence=None if is_rejected else verdict.confidence.claimed,
    )


def _own_conflicts(verdict: Verdict, agent: str, *, is_merge: bool) -> Iterator[Conflict]:
    """Yield the conflicts of a merged report, or those of an agent with itself: a person decides them, too."""
    if is_merge:
        yield from _conflicts(verdict)
        return
    ids = {finding.line: finding.id or finding.title for finding in verdict.document.findings}
    for violation in verdict.violations:
        if violation.rule == _SELF_CONFLICT:
            yield Conflict("self", ids.get(violation.line) or _WHOLE_RESULT, (agent,), f"{agent}: {violation.message}")


def _held_rows(verdict: Verdict, rows: list[ReportedFinding]) -> list[ReportedFinding]:
    """Return the findings of a rejected result whose every claim holds, marked as partial and without their prose."""
    holds = holding_lines(verdict)
    held = []
    for finding, row in zip(verdict.document.findings, rows, strict=True):
        opinion = row.opinion
        if row.verified and "relocated" not in opinion.flags and holds.get(finding.line):
            flags = tuple(sorted({*opinion.flags, PARTIAL}))
            opinion = msgspec.structs.replace(opinion, details="", flags=flags)
            held.append(msgspec.structs.replace(row, opinion=opinion))
    return held


def _without_head(detail: FindingDetail) -> tuple[Content, ...]:
    """Return the content of an entry of Issue Details without its ID and title, which the row has."""
    head, *rest = detail.content
    below = head.text.partition("\n")[2].strip() if isinstance(head, Text) else ""
    return (Text(text=below), *rest) if below else tuple(rest)


def _unknown(verdict: Verdict) -> str:
    """Name the sender of a result without an agent; an empty one is named after its file."""
    has_file = not verdict.document.has_content and verdict.path not in ("", "-")
    return f"unknown ({verdict.path})" if has_file else "unknown"


def _status(verdict: Verdict) -> str:
    """An empty or rejected result is FAILED; one without a known status is at best PARTIAL."""
    if verdict.verdict == "reject":
        return "FAILED"
    if verdict.status in STATUSES:
        return str(verdict.status)
    return "PARTIAL" if verdict.document.has_content else "FAILED"


def _status_problem(verdict: Verdict, status: str) -> str | msgspec.UnsetType:
    """Return what is wrong with the stated status of a result that counts as PARTIAL because of it."""
    if verdict.status in STATUSES or status != "PARTIAL":
        return msgspec.UNSET
    allowed = f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"
    stated = " ".join((verdict.document.result.status or "").split())[:_MAX_STATUS]
    return f"its status {stated!r} is not {allowed}" if stated else f"it has no status ({allowed})"


class _FindingClaims:
    """The references and quotes that belong to each finding."""

    def __init__(self, verdict: Verdict, details: list[FindingDetail]) -> None:
        self._by_line: dict[int, list[Checked]] = defaultdict(list)
        for reference in verdict.evidence.references:
            self._by_line[reference.at].append(reference)
        starts = sorted((detail.line, detail.id.upper()) for detail in details)
        lines = [line for line, _ in starts]
        self._quotes: dict[str, list[Checked]] = defaultdict(list)
        for quote in verdict.evidence.quotes:
            index = bisect_right(lines, quote.at)
            if index:
                self._quotes[starts[index - 1][1]].append(quote)

    def reference(self, finding: Finding) -> Checked | None:
        """Return the location that a finding states."""
        on_line = self._by_line.get(finding.line, [])
        in_cell = [reference for reference in on_line if reference.text in finding.location]
        return (in_cell or on_line or [None])[0]  # type: ignore[list-item]

    def quotes(self, finding: Finding) -> list[Checked]:
        """Return the quotes of a finding under Issue Details."""
        return self._quotes.get(finding.id.upper(), []) if finding.id else []


def _reported_finding(
    finding: Finding, agent: str, verdict: Verdict, claims: _FindingClaims, details: str, workspace: Workspace | None
) -> ReportedFinding:
    reference, quotes = claims.reference(finding), claims.quotes(finding)
    outcomes = ([reference.outcome] if reference else []) + [quote.outcome for quote in quotes]
    path, line, end_line = _final_location(reference, quotes)
    # A bullet has no place for a score: it has the score of its result.
    claimed = verdict.confidence.claimed if finding.source == "bullet" else finding.confidence
    stated, unscored = _score(claimed)
    score = min(100.0, max(0.0, stated - penalty(outcomes)))
    moved = reference is not None and (path, line) != (reference.file, reference.line)
    flags = {*finding.flags, *_marks(verdict, outcomes, unscored=unscored)}
    if quotes and all(quote.outcome in _HOLDING for quote in quotes):
        flags.add(QUOTED)
    return ReportedFinding(
        opinion=Opinion(
            agent=agent,
            id=finding.id,
            severity=finding.severity,
            confidence=score,
            line=line,
            title=finding.title,
            details=details or (plain_text(finding.location) if finding.source == "bullet" else ""),
            claimed_path=reference.path if reference is not None and path != reference.file else None,
            claimed_line=reference.line if reference is not None and moved else None,
            claimed_confidence=claimed if not unscored and score != claimed else None,
            evidence=_failure(reference, quotes),
            flags=tuple(sorted(flags)),
        ),
        path=path,
        end_line=end_line,
        category=finding.category,
        verified=is_verified(outcomes),
        fingerprint=_first_fingerprint(quotes, workspace),
    )


def _marks(verdict: Verdict, outcomes: list[Outcome], *, unscored: bool) -> Iterator[str]:
    if verdict.verdict != "accept":
        yield verdict.verdict
    if unscored:
        yield "unscored"
    if "relocated" in outcomes:
        yield "relocated"


def _failure(reference: Checked | None, quotes: list[Checked]) -> str:
    """Return why the evidence failed; empty if it did not."""
    if reference is not None and reference.outcome in _FAILED:
        return explain(reference) or OUTCOMES[reference.outcome]
    lost = next((quote for quote in quotes if quote.outcome in _FAILED), None)
    if lost is None:
        return ""
    return QUOTE_LOST if lost.outcome == "mismatch" else explain(lost) or OUTCOMES[lost.outcome]


def _score(stated: float | None) -> tuple[float, bool]:
    if stated is None or math.isnan(stated):
        return UNSCORED, True
    return min(100.0, max(0.0, stated)), False


def penalty(outcomes: list[Outcome]) -> float:
    """Return the penalty for the worst outcome of a finding's evidence."""
    if any(outcome in _FAILED for outcome in outcomes):
        return _FAILED_PENALTY
    return max((_PENALTY.get(outcome, 0.0) for outcome in outcomes), default=0.0)


def is_verified(outcomes: list[Outcome]) -> bool | None:
    """Return whether the evidence holds; None if nothing could be checked."""
    if any(outcome in _FAILED for outcome in outcomes):
        return False
    return True if any(outcome in _HOLDING for outcome in outcomes) else None


def _final_location(reference: Checked | None, quotes: list[Checked]) -> tuple[str | None, int | None, int | None]:
    """Return the location of a finding after relocation of its reference or its quote."""
    if reference is None:
        return None, None, None
    line, last = reference.line, reference.end_line
    moved = reference.found if reference.outcome == "relocated" else None
    moved = moved or next((quote.found for quote in quotes if quote.outcome == "relocated" and quote.found), None)
    if moved is None:
        return reference.file, line, last
    length = last - line if last is not None and line is not None and last >= line else None
    end = moved.line + length if moved.line is not None and length else None
    return moved.path, moved.line, end


def _first_fingerprint(quotes: list[Checked], workspace: Workspace | None) -> str:
    for quote in quotes:
        code = distinct_code(quote.code)
        if quote.outcome in _FAILED or not code or workspace is None:
            continue
        file = workspace.read(quote.found.path if quote.found else quote.file)
        mark = fingerprint(code, file) if isinstance(file, SourceFile) else ""
        if mark:
            return mark
    return ""


def distinct_code(quoted: str) -> str:
    """Return quoted code with collapsed white space; empty if it is too short to identify a location."""
    code = " ".join(quoted.split())
    return code if len(code.replace(" ", "")) >= _MIN_FINGERPRINT else ""


def fingerprint(code: str, file: SourceFile) -> str:
    """Return a fingerprint of code that occurs exactly once in its file, wherever it moves; else empty."""
    if file.collapsed.text.count(code) != 1:
        return ""
    return sha256_of(code.encode("utf-8", "replace"))[:16]


def _compliance(verdict: Verdict, agent: str) -> list[ReportedStatement]:
    statements = []
    for table in tables(verdict.document.result, "compliance_check"):
        standard, status = column_index(table.columns, "standard"), column_index(table.columns, "status")
        if standard is not None and status is not None:
            statements += [
                ReportedStatement(
                    agent, "compliance", plain_text(row.cells[standard]), plain_text(row.cells[status]).upper()
                )
                for row in table.rows
                if row.cells[standard].strip()
            ]
    return statements


def _claims(verdict: Verdict, agent: str) -> list[ReportedStatement]:
    by_line = {reference.at: reference for reference in verdict.evidence.references if reference.block == "claims"}
    statements = []
    for table in tables(verdict.document.result, "claims"):
        claim, outcome = column_index(table.columns, "claim"), column_index(table.columns, "outcome")
        if claim is None or outcome is None:
            continue
        for row in table.rows:
            reference = by_line.get(row.line)
            path, line, _ = _final_location(reference, [])
            says = plain_text(row.cells[outcome]).upper()
            statements.append(ReportedStatement(agent, "claim", plain_text(row.cells[claim]), says, path, line))
    return statements


def _conflicts(verdict: Verdict) -> Iterator[Conflict]:
    """Yield the rows under Conflicts of a merged report in Markdown: Kind, About, Agents, Why."""
    names = {finding.id for finding in verdict.document.findings}
    blocks = (block for block in verdict.document.result.findings if block.heading == "Conflicts")
    for table in (part for block in blocks for part in block.content if isinstance(part, Table)):
        for row in table.rows:
            if len(row.cells) != 4 or row.cells[0] not in CONFLICT_KINDS:
                continue
            kind, (about, agents, why) = row.cells[0], map(plain_text, row.cells[1:])
            name = about.partition(":")[0]
            yield Conflict(kind, name if name in names else about, tuple(sorted(agents.split(", "))), why)


def report_of(verdicts: Sequence[Verdict], sender: str, workspace: Workspace | None) -> Report:
    """Return what one subagent sent, after it was judged, as one report under its sender's name."""
    return _one_voice([build_report(verdict, workspace, sender=sender) for verdict in verdicts])


def _one_voice(reports: Sequence[Report]) -> Report:
    """Combine the results of one sender: every part that is a list is concatenated, so that nothing is lost."""
    first, *others = reports
    if not others:
        return first
    lists = {
        name: tuple(item for report in reports for item in getattr(report, name))
        for name in Report.__struct_fields__
        if isinstance(getattr(first, name), tuple)
    }
    return msgspec.structs.replace(
        first,
        status=max((report.status for report in reports), key=_rank),
        verdict=max((report.verdict for report in reports), key=_VERDICTS.index),
        confidence=min((report.confidence for report in reports if report.confidence is not None), default=None),
        looked=any(report.looked for report in reports),
        sections=combine_sections(report.sections for report in reports),
        **lists,
    )


def _rank(status: str) -> int:
    return STATUSES.index(status) if status in STATUSES else len(STATUSES)
