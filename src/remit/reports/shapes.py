"""The fixed JSON shapes as types; the JSON output comes from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from remit.checking import Decision, NotRun, Recorded, Scores, Verdict
from remit.contract.profiles import Level
from remit.contract.result_data import SCHEMA, STATUSES, Result
from remit.evidence.claims import ClaimEntry, claims_of, count_outcomes
from remit.evidence.model import (
    Checked,
    ClaimKind,
    Difference,
    Location,
    Outcome,
    QuoteMatching,
    Seen,
    Then,
)
from remit.reports.accusations import why_text
from remit.reports.layout import schema_of


class ViolationShape(msgspec.Struct):
    """A broken rule."""

    rule: str
    code: str
    level: Level
    line: int
    message: str
    help: str


class ThenShape(msgspec.Struct):
    """A commit at which a claim held, and its day."""

    commit: str
    date: str


class ClaimShape(msgspec.Struct):
    """A checkable statement of the text, and the outcome of its check."""

    kind: ClaimKind
    text: str
    #: The line of the document.
    at: int
    path: str
    line: int | None
    end_line: int | None
    #: The symbol, command or test.
    name: str
    outcome: Outcome
    #: A stable word for the reason, and the reason as a sentence.
    reason: str
    why: str
    #: Whether it fails in this kind of text.
    fails: bool
    found: Location | None
    #: For an outdated claim: when it held.
    then: ThenShape | None


class ReferenceShape(msgspec.Struct):
    """A location that the result cites, and the outcome of its check."""

    text: str
    path: str
    line: int | None
    end_line: int | None
    outcome: Outcome
    found: Location | None
    seen: Seen | None
    at: int
    #: For an ambiguous reference: up to five of the files that may be meant.
    candidates: Sequence[str] = ()
    reason: str = ""
    then: ThenShape | None = None


class QuoteShape(msgspec.Struct):
    """Code that the result quotes, and where it was found."""

    path: str
    line: int | None
    outcome: Outcome
    found: Location | None
    similarity: float | None
    at: int
    #: How the quote compares with the file, if it was found there; `how` is the same.
    match: QuoteMatching | None = None
    #: For a mismatch: the first line that differs, quoted and actual.
    difference: Difference | None = None
    how: QuoteMatching | None = None
    reason: str = ""
    then: ThenShape | None = None


class ChangeShape(msgspec.Struct):
    """A file that the result claims to have created or modified."""

    path: str
    claim: str
    outcome: Outcome


#: The note on a text without claims, so that no program takes its verdict for a proof.
NOTHING_COMPARED = "no claims found: nothing was compared"


class ResultShape(msgspec.Struct, kw_only=True):
    """A verdict on one result."""

    path: str
    agent: str
    kind: str
    profile: str
    status: str | None
    verdict: Decision
    #: What the verdict does not say: a text without claims is accepted, and nothing of it was compared.
    note: str = ""
    confidence: Scores
    violations: list[ViolationShape]
    overrides: Sequence[Recorded]
    not_run: Sequence[NotRun]
    references: list[ReferenceShape]
    quotes: list[QuoteShape]
    changes: list[ChangeShape]
    #: Every claim in the order of the text; a quote and its location are one claim.
    claims: list[ClaimShape]
    #: The commit that the claims were checked against; null for the files on disk.
    revision: str | None
    #: The lines of the file with text that are not part of the result; only their claims are checked.
    lines_outside: int = 0
    #: What the history cannot show; empty if it could be asked, or was not.
    history_problem: str = ""


class SummaryShape(msgspec.Struct):
    """Counts over all results."""

    results: int
    accept: int
    revise: int
    reject: int
    violations: dict[Level, int]
    #: The number of claims: the lists `claims` of all results together.
    claims: int
    claims_by_outcome: dict[Outcome, int]
    #: The checkout that claims were checked against; null without a checkout.
    repository: str | None = None


class FixShape(msgspec.Struct):
    """A reference that `remit verify --fix` corrects in a document."""

    path: str
    line: int
    old: str
    new: str


class CheckShape(msgspec.Struct):
    """The output of `remit check --format json` and `remit verify --format json`."""

    results: list[ResultShape]
    summary: SummaryShape
    schema: Literal["remit.check/1"] = "remit.check/1"
    #: What was corrected, with `--fix`; what `--fix` would correct, with `--affected-by`.
    fixes: list[FixShape] | msgspec.UnsetType = msgspec.UNSET


def check_shape(
    verdicts: Sequence[Verdict],
    repository: str | None = None,
    fixes: list[FixShape] | None = None,
) -> CheckShape:
    """Return verdicts in the fixed shape."""
    counts = summary(verdicts)
    counts.repository = repository
    results = list(map(_result, verdicts))
    shape = CheckShape(results=results, summary=counts)
    if fixes is not None:
        shape.fixes = fixes
    return shape


def _result(verdict: Verdict) -> ResultShape:
    claims = [_claim(entry) for entry in claims_of(verdict.evidence)]
    return ResultShape(
        path=verdict.path,
        agent=verdict.agent,
        kind=verdict.kind,
        profile=verdict.profile,
        status=verdict.status,
        verdict=verdict.verdict,
        note="" if claims or verdict.document.refusal else NOTHING_COMPARED,
        confidence=verdict.confidence,
        violations=[ViolationShape(v.rule, v.code, v.level, v.line, v.message, v.help) for v in verdict.violations],
        overrides=verdict.overrides,
        not_run=verdict.not_run,
        claims=claims,
        references=[_reference(reference) for reference in verdict.evidence.references],
        quotes=[_quote(quote) for quote in verdict.evidence.quotes],
        changes=[ChangeShape(c.path, c.claim, c.outcome) for c in verdict.evidence.changes],
        revision=verdict.revision,
        history_problem=verdict.evidence.history_problem,
        lines_outside=verdict.document.lines_outside if verdict.document.has_content else 0,
    )


def _claim(entry: ClaimEntry) -> ClaimShape:
    return ClaimShape(
        kind=entry.kind,
        text=entry.text,
        at=entry.at,
        path=entry.path,
        line=entry.line,
        end_line=entry.end_line,
        name=entry.name,
        outcome=entry.outcome,
        reason=entry.reason,
        why=entry.why or why_text(entry),
        fails=entry.fails,
        found=entry.found,
        then=_then(entry.then),
    )


def _reference(reference: Checked) -> ReferenceShape:
    return ReferenceShape(
        text=reference.display_text,
        path=reference.path,
        line=reference.line,
        end_line=reference.end_line,
        outcome=reference.outcome,
        found=reference.found,
        seen=reference.opened,
        at=reference.at,
        candidates=reference.candidates,
        reason=reference.reason,
        then=_then(reference.then),
    )


def _quote(quote: Checked) -> QuoteShape:
    return QuoteShape(
        path=quote.path,
        line=quote.line,
        outcome=quote.outcome,
        found=quote.found,
        similarity=quote.similarity,
        at=quote.at,
        how=quote.match,
        match=quote.match,
        difference=quote.difference,
        reason=quote.reason,
        then=_then(quote.then),
    )


def _then(then: Then | None) -> ThenShape | None:
    return ThenShape(then.commit, then.date) if then is not None else None


def summary(verdicts: Sequence[Verdict]) -> SummaryShape:
    """Return counts over all verdicts."""
    decisions = Counter(verdict.verdict for verdict in verdicts)
    levels = Counter(violation.level for verdict in verdicts for violation in verdict.violations)
    claims = [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]
    return SummaryShape(
        results=len(verdicts),
        accept=decisions["accept"],
        revise=decisions["revise"],
        reject=decisions["reject"],
        violations={"L1": levels["L1"], "L2": levels["L2"], "L3": levels["L3"]},
        claims=len(claims),
        claims_by_outcome=count_outcomes(claims),
    )


def result_schema() -> dict[str, Any]:
    """JSON Schema of a result written as JSON."""
    schema = schema_of(Result)
    for definition in schema["$defs"].values():
        definition.get("properties", {}).pop("line", None)
    properties = schema["$defs"]["Result"]["properties"]
    properties["schema"] = {"const": SCHEMA}
    properties["status"] = {"enum": list(STATUSES)}
    schema["$defs"]["Result"]["required"] = ["schema", "agent", "status", "summary"]
    return schema
