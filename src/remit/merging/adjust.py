"""From a verdict to what it brings to a merge: each finding at its real place, its score adjusted.

Evidence that holds or could not be checked changes nothing; a place that had to be corrected costs 10
points, evidence that failed 20. A finding without a score starts at 70 and is flagged.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections import defaultdict

from remit.checking import Verdict
from remit.contract.fields import plain
from remit.contract.findings import Detail, Finding, tables
from remit.contract.headings import column_index
from remit.contract.model import STATUSES
from remit.contract.render import free_text
from remit.evidence.model import Outcome, Quote, Reference
from remit.merging.model import Opinion, Report, Sighting, Statement
from remit.workspace.files import SourceFile, Workspace

UNSCORED = 70.0
_PENALTY: dict[Outcome, float] = {"relocated": 10.0}
_FAILED: frozenset[Outcome] = frozenset({"missing-file", "out-of-range", "outside", "mismatch"})
_FAILED_PENALTY = 20.0
_MIN_FINGERPRINT = 10


def report_of(verdict: Verdict, workspace: Workspace | None = None) -> Report:
    """What one checked result brings."""
    agent = verdict.agent or "unknown"
    details = verdict.document.details
    beside = _Beside(verdict, details)
    words = {detail.id.upper(): free_text(detail.content) for detail in details}
    sightings = tuple(
        _sighting(finding, agent, verdict, beside, words.get(finding.id.upper(), ""), workspace)
        for finding in verdict.document.findings
    )
    return Report(
        agent=agent,
        status=_status(verdict),
        verdict=verdict.verdict,
        sightings=sightings,
        statements=(*_compliance(verdict, agent), *_claims(verdict, agent)),
        confidence=verdict.confidence.claimed,
    )


def _status(verdict: Verdict) -> str:
    """A result that says nothing has failed; one without a known status is at best incomplete."""
    if verdict.status in STATUSES:
        return str(verdict.status)
    return "PARTIAL" if verdict.document.has_content else "FAILED"


class _Beside:
    """The references and quotes that belong to each finding."""

    def __init__(self, verdict: Verdict, details: list[Detail]) -> None:
        self._by_line: dict[int, list[Reference]] = defaultdict(list)
        for reference in verdict.evidence.references:
            self._by_line[reference.at].append(reference)
        starts = sorted((detail.line, detail.id.upper()) for detail in details)
        lines = [line for line, _ in starts]
        self._quotes: dict[str, list[Quote]] = defaultdict(list)
        for quote in verdict.evidence.quotes:
            at = bisect_right(lines, quote.at)
            if at:
                self._quotes[starts[at - 1][1]].append(quote)

    def reference(self, finding: Finding) -> Reference | None:
        """The place a finding gives."""
        here = self._by_line.get(finding.line, [])
        in_place = [reference for reference in here if reference.text in finding.location]
        return (in_place or here or [None])[0]  # type: ignore[list-item]

    def quotes(self, finding: Finding) -> list[Quote]:
        """The code it quotes under Issue Details."""
        return self._quotes.get(finding.id.upper(), []) if finding.id else []


def _sighting(
    finding: Finding, agent: str, verdict: Verdict, beside: _Beside, details: str, workspace: Workspace | None
) -> Sighting:
    reference, quotes = beside.reference(finding), beside.quotes(finding)
    outcomes = ([reference.outcome] if reference else []) + [quote.outcome for quote in quotes]
    path, line, end_line = _place(reference, quotes)
    score, unscored = _score(finding.confidence)
    flags = {*finding.flags, *([verdict.verdict] if verdict.verdict != "accept" else [])}
    return Sighting(
        opinion=Opinion(
            agent=agent,
            id=finding.id,
            severity=finding.severity,
            confidence=min(100.0, max(0.0, score - penalty(outcomes))),
            line=line,
            title=finding.title,
            details=details or (plain(finding.location) if finding.source == "bullet" else ""),
        ),
        path=path,
        end_line=end_line,
        category=finding.category,
        verified=verified(outcomes),
        unscored=unscored,
        flags=tuple(sorted(flags)),
        fingerprint=_first_fingerprint(quotes, workspace),
    )


def _score(stated: float | None) -> tuple[float, bool]:
    if stated is None or math.isnan(stated):
        return UNSCORED, True
    return min(100.0, max(0.0, stated)), False


def penalty(outcomes: list[Outcome]) -> float:
    """What the worst of a finding's evidence costs it."""
    if any(outcome in _FAILED for outcome in outcomes):
        return _FAILED_PENALTY
    return max((_PENALTY.get(outcome, 0.0) for outcome in outcomes), default=0.0)


def verified(outcomes: list[Outcome]) -> bool | None:
    """Whether the evidence holds; None if none of it could be checked."""
    if any(outcome in _FAILED for outcome in outcomes):
        return False
    return True if any(outcome in ("verified", "relocated") for outcome in outcomes) else None


def _place(reference: Reference | None, quotes: list[Quote]) -> tuple[str | None, int | None, int | None]:
    """Where a finding really is: after relocation, by its own place or its quote's."""
    if reference is None:
        return None, None, None
    line, last = reference.line, reference.end_line
    moved = reference.found if reference.outcome == "relocated" else None
    moved = moved or next((quote.found for quote in quotes if quote.outcome == "relocated" and quote.found), None)
    if moved is None:
        return reference.path, line, last
    length = last - line if last is not None and line is not None and last >= line else None
    end = moved.line + length if moved.line is not None and length else None
    return moved.path, moved.line, end


def _first_fingerprint(quotes: list[Quote], workspace: Workspace | None) -> str:
    for quote in quotes:
        code = distinct_code(quote.text)
        if quote.outcome in _FAILED or not code or workspace is None:
            continue
        file = workspace.read(quote.found.path if quote.found else quote.path)
        mark = fingerprint(code, file) if isinstance(file, SourceFile) else ""
        if mark:
            return mark
    return ""


def distinct_code(quoted: str) -> str:
    """Quoted code with its white space collapsed; empty if it is too short to be told from other code."""
    code = " ".join(quoted.split())
    return code if len(code.replace(" ", "")) >= _MIN_FINGERPRINT else ""


def fingerprint(code: str, file: SourceFile) -> str:
    """Of code that stands exactly once in its file: it is the same place wherever it has moved; else empty."""
    if file.collapsed.text.count(code) != 1:
        return ""
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()[:16]


def _compliance(verdict: Verdict, agent: str) -> list[Statement]:
    found = []
    for table in tables(verdict.document.result, "compliance_check"):
        standard, status = column_index(table.columns, "standard"), column_index(table.columns, "status")
        if standard is not None and status is not None:
            found += [
                Statement(agent, "compliance", _folded(row.cells[standard]), plain(row.cells[status]).upper())
                for row in table.rows
                if row.cells[standard].strip()
            ]
    return found


def _claims(verdict: Verdict, agent: str) -> list[Statement]:
    by_line = {reference.at: reference for reference in verdict.evidence.references if reference.block == "claims"}
    found = []
    for table in tables(verdict.document.result, "claims"):
        claim, outcome = column_index(table.columns, "claim"), column_index(table.columns, "outcome")
        if claim is None or outcome is None:
            continue
        for row in table.rows:
            reference = by_line.get(row.line)
            path, line, _ = _place(reference, [])
            says = plain(row.cells[outcome]).upper()
            found.append(Statement(agent, "claim", plain(row.cells[claim]), says, path, line))
    return found


def _folded(text: str) -> str:
    return " ".join(plain(text).lower().split())
