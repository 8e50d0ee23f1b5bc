"""Turn a verdict into a report for the merge: each finding at its corrected location, with an adjusted score.

Evidence that holds or could not be checked changes nothing; a corrected location costs 10 points. A row whose first
location, quote or name does not hold is no finding: it has a `failure`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from remit.acceptance import breaks_only_form, holding_lines
from remit.checking import Verdict
from remit.contract.findings import Finding, FindingDetail, has_column, tables
from remit.contract.headings import column_index
from remit.contract.lines import plain_text
from remit.contract.render import free_text
from remit.contract.result_data import STATUSES, Content, Text
from remit.digests import sha256_of
from remit.evidence.claims import explain
from remit.evidence.model import OUTCOMES, REFERENCES, Checked, Outcome
from remit.merging.collect import collect_sections, looks_for_issues
from remit.merging.content import AgentError, combine_sections
from remit.merging.merge_data import (
    FAILED,
    NAMED,
    PARTIAL,
    QUOTED,
    UNSCORED_TOOL,
    Conflict,
    Denial,
    Opinion,
    Report,
    ReportedFinding,
)
from remit.workspace.files import SourceFile, Workspace

#: From best to worst.
_VERDICTS = (None, "accept", "revise", "reject")
#: The score of a row without one in a result that has a place for it.
UNSCORED = 70.0
RELOCATED_PENALTY = 10.0
QUOTE_LOST = "the quoted code does not exist there"
#: The outcomes of evidence that holds.
_HOLDING: frozenset[Outcome] = frozenset({"verified", "exists", "relocated"})
_MIN_FINGERPRINT = 10
#: The most characters of a status that does not exist.
_MAX_STATUS = 40


#: The type of the error of a result without a valid status.
NO_STATUS = "NoStatus"
_SELF_CONFLICT = "self-conflict"
#: What a conflict of an agent with itself is about, if it is not a finding.
_WHOLE_RESULT = "its own result"


def build_report(verdict: Verdict, workspace: Workspace | None = None, *, sender: str = "") -> Report:
    """Return the report of one checked result. The agent `sender` replaces the one in its title.

    One that was rejected only for its form takes part with its stated status, as one to be revised.
    """
    agent = sender or verdict.agent or _unknown(verdict)
    if verdict.verdict == "reject" and _breaks_only_form(verdict):
        verdict = msgspec.structs.replace(verdict, verdict="revise")
    reader = _FindingReader(verdict, agent, workspace)
    rows = tuple(map(reader.row, verdict.document.findings))
    is_rejected = verdict.verdict == "reject"
    if is_rejected:
        rows = tuple(_held_rows(verdict, rows))
    status = _status(verdict)
    sections, failed = collect_sections(verdict, agent, status)
    if problem := _status_problem(verdict, status):
        errors = (*sections.errors, AgentError(agent=agent, type=NO_STATUS, message=problem))
        sections = msgspec.structs.replace(sections, errors=errors)
    return Report(
        agent=agent,
        status=status,
        verdict=verdict.verdict,
        looked=looks_for_issues(verdict),
        sections=sections,
        rows=rows,
        failed=failed,
        denials=() if is_rejected else tuple(_denials(verdict, agent)),
        conflicts=() if is_rejected else tuple(_own_conflicts(verdict, agent)),
        confidence=None if is_rejected else verdict.confidence.claimed,
    )


def _breaks_only_form(verdict: Verdict) -> bool:
    """Return whether a result was rejected by its own violations, and all of them are about its form."""
    has_cause = any(violation.level == "L1" for violation in verdict.violations)
    return has_cause and verdict.document.has_content and breaks_only_form([verdict])


def _own_conflicts(verdict: Verdict, agent: str) -> Iterator[Conflict]:
    """Yield the conflicts of an agent with itself: a person decides them, too."""
    ids = {finding.line: finding.id or finding.title for finding in verdict.document.findings}
    for violation in verdict.violations:
        if violation.rule == _SELF_CONFLICT:
            about, why = ids.get(violation.line) or _WHOLE_RESULT, f"{agent}: {violation.message}"
            yield Conflict(kind="self", finding=about, agents=(agent,), why=why)


def _held_rows(verdict: Verdict, rows: Sequence[ReportedFinding]) -> Iterator[ReportedFinding]:
    """Yield the rows of a rejected result whose every claim holds, marked as partial and without their prose."""
    holds = holding_lines(verdict)
    for finding, row in zip(verdict.document.findings, rows, strict=True):
        if not row.failure and row.verified and "relocated" not in row.flags and holds.get(finding.line):
            opinion = msgspec.structs.replace(row.opinion, details="")
            yield msgspec.structs.replace(row, opinion=opinion, flags=tuple(sorted({*row.flags, PARTIAL})))


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


def _status_problem(verdict: Verdict, status: str) -> str:
    """Return what is wrong with the stated status of a result that counts as PARTIAL because of it."""
    if verdict.status in STATUSES or status != "PARTIAL":
        return ""
    allowed = f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"
    stated = " ".join((verdict.document.result.status or "").split())[:_MAX_STATUS]
    return f"its status {stated!r} is not {allowed}" if stated else f"it has no status ({allowed})"


class _FindingReader:
    """Makes the rows of one result, with the references, names and quotes that belong to each finding."""

    def __init__(self, verdict: Verdict, agent: str, workspace: Workspace | None) -> None:
        self._verdict, self._agent, self._workspace = verdict, agent, workspace
        details = verdict.document.details
        self._words = {detail.id.upper(): free_text(_without_head(detail)) for detail in details}
        self._by_line: dict[int, list[Checked]] = defaultdict(list)
        for reference in verdict.evidence.references:
            self._by_line[reference.at].append(reference)
        starts = sorted((detail.line, detail.id.upper()) for detail in details)
        lines = [line for line, _ in starts]
        self._details: dict[str, list[Checked]] = defaultdict(list)
        for claim in verdict.evidence.checked:
            index = bisect_right(lines, claim.at)
            if index and claim.block == "issue_details" and claim.kind in (*REFERENCES, "quote"):
                self._details[starts[index - 1][1]].append(claim)
        result = verdict.document.result
        has_place = verdict.confidence.claimed is not None or has_column(result, "confidence")
        self._unscored = UNSCORED if has_place else UNSCORED_TOOL

    def row(self, finding: Finding) -> ReportedFinding:
        """Return one finding, adjusted by its evidence."""
        on_line = self._by_line.get(finding.line, [])
        in_cell = [claim for claim in on_line if claim.text in finding.location] or on_line
        reference = in_cell[0] if in_cell else None
        details = self._details.get(finding.id.upper(), []) if finding.id else []
        quotes = [claim for claim in details if claim.kind == "quote"]
        named = [claim for claim in (*on_line, *details) if claim.symbol or claim.kind == "quote"]
        mine = [*([reference] if reference else []), *(claim for claim in named if claim is not reference)]
        lost = [
            claim for claim in mine if claim.outcome in FAILED and (claim is reference or claim.outcome == "mismatch")
        ]
        outcomes = [claim.outcome for claim in mine]
        path, line, end_line = _final_location(reference, quotes)
        # A bullet has no place for a score: it has the score of its result.
        stated = self._verdict.confidence.claimed if finding.source == "bullet" else finding.confidence
        claimed = None if stated is None or math.isnan(stated) else stated
        score = self._unscored if claimed is None else min(100.0, max(0.0, claimed))
        words = self._words.get(finding.id.upper(), "") or (
            plain_text(finding.location) if finding.source == "bullet" else ""
        )
        return ReportedFinding(
            opinion=Opinion(
                agent=self._agent,
                id=finding.id,
                severity=finding.severity,
                confidence=max(0.0, score - penalty(outcomes)),
                claimed=claimed,
                line=line,
                title=finding.title,
                details="\n\n".join(filter(None, [words, *_notes(reference, (path, line), on_line, details)])),
            ),
            path=path,
            end_line=end_line,
            category=finding.category,
            verified=is_verified(outcomes),
            flags=tuple(sorted({*finding.flags, *self._marks(outcomes, quotes, named, unscored=claimed is None)})),
            accepted=self._verdict.verdict == "accept",
            fingerprint=_first_fingerprint(quotes, self._workspace),
            failure="; ".join(dict.fromkeys(map(_why, lost))),
        )

    def _marks(
        self, outcomes: list[Outcome], quotes: list[Checked], named: list[Checked], *, unscored: bool
    ) -> Iterator[str]:
        if self._verdict.verdict != "accept":
            yield self._verdict.verdict
        if unscored:
            yield "unscored"
        if "relocated" in outcomes:
            yield "relocated"
        if quotes and all(quote.outcome in _HOLDING for quote in quotes):
            yield QUOTED
        elif any(claim.symbol and claim.outcome in ("verified", "relocated") for claim in named):
            yield NAMED


def _why(claim: Checked) -> str:
    """Return why a claim does not hold."""
    if claim.kind == "quote" and claim.outcome == "mismatch":
        return QUOTE_LOST
    return explain(claim) or OUTCOMES[claim.outcome]


def _notes(
    reference: Checked | None, place: tuple[str | None, int | None], on_line: list[Checked], details: list[Checked]
) -> Iterator[str]:
    """Yield what a reader has to know of the claims of a row: its stated location, and further claims that failed."""
    if reference is not None and (reference.file, reference.line) != place:
        yield f"Stated at {reference.display_text}."
    for claim in (*on_line, *details):
        if claim is not reference and claim.outcome in FAILED and claim.outcome != "mismatch":
            yield f"Does not hold: {claim.display_text} ({_why(claim)})."


def penalty(outcomes: Sequence[Outcome]) -> float:
    """Return the penalty for a location that was corrected."""
    return RELOCATED_PENALTY if "relocated" in outcomes else 0.0


def is_verified(outcomes: Sequence[Outcome]) -> bool | None:
    """Return whether the evidence holds; None if nothing could be checked."""
    if any(outcome in FAILED for outcome in outcomes):
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
        if quote.outcome in FAILED or not code or workspace is None:
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


def _denials(verdict: Verdict, agent: str) -> Iterator[Denial]:
    """Yield the claims that a verification could not verify, with their places."""
    by_line = {reference.at: reference for reference in verdict.evidence.references if reference.block == "claims"}
    for table in tables(verdict.document.result, "claims"):
        claim, outcome = column_index(table.columns, "claim"), column_index(table.columns, "outcome")
        if claim is None or outcome is None:
            continue
        for row in table.rows:
            path, line, _ = _final_location(by_line.get(row.line), [])
            if plain_text(row.cells[outcome]).upper() == "UNVERIFIED" and path and line:
                yield Denial(agent, plain_text(row.cells[claim]), path, line)


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
