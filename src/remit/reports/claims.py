"""The claims of a result for people: a table of outcomes, and the source around the best guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from remit.checking import Verdict
from remit.evidence.model import Outcome, Place
from remit.evidence.wording import shown
from remit.reports.layout import Line, Piece
from remit.reports.visible import cut, visible, wrapped
from remit.workspace.files import SourceFile, Workspace

OUTCOME_STYLES: dict[Outcome, str] = {
    "verified": "green",
    "planned": "cyan",
    "unchecked": "dim",
    "relocated": "yellow",
    "missing-file": "bold red",
    "out-of-range": "bold red",
    "outside": "bold red",
    "mismatch": "bold red",
}
#: Lines of source shown before and after a guess.
_AROUND = 2


class _Claim(NamedTuple):
    at: int
    what: str
    outcome: Outcome
    note: str
    found: Place | None


def claim_lines(verdict: Verdict, workspace: Workspace | None, columns: int, *, every: bool) -> Iterator[Line]:
    """The claims that do not hold (or every one), each with what was found instead."""
    claims = list(_claims(verdict))
    if not claims:
        return
    counts = Counter(claim.outcome for claim in claims)
    yield [Piece("  claims  ", "bold"), *_counted(counts)]
    for claim in claims:
        if every or claim.outcome not in ("verified", "planned"):
            yield from _row(claim, columns)
            if claim.found is not None and workspace is not None and claim.outcome != "verified":
                yield from _excerpt(claim.found, workspace, columns)


def _claims(verdict: Verdict) -> Iterator[_Claim]:
    evidence = verdict.evidence
    found: list[_Claim] = []
    for reference in evidence.references:
        unseen = " · never opened" if reference.seen == "no" and reference.outcome != "missing-file" else ""
        found.append(_Claim(reference.at, reference.text, reference.outcome, reference.why + unseen, reference.found))
    for quote in evidence.quotes:
        place = shown(Place(quote.path, quote.line))
        near = f"{quote.similarity:.0%} alike" if quote.similarity not in (None, 1.0) else ""
        found.append(_Claim(quote.at, f"quote from {place}", quote.outcome, quote.why or near, quote.found))
    found.extend(_Claim(c.at, f"{c.path} {c.claim}", c.outcome, c.why, None) for c in evidence.changes)
    for claim in evidence.run_claims:
        known = evidence.has_receipts or evidence.has_rerun
        outcome: Outcome = "unchecked" if not known else "mismatch" if claim.denied else "verified"
        words = f"tests {'passed' if claim.passed else 'failed'}"
        found.append(
            _Claim(claim.at, words, outcome, claim.denied or ("" if known else "no receipts were given"), None)
        )
    yield from sorted(found, key=lambda claim: claim.at)


def _counted(counts: Counter[Outcome]) -> Iterator[Piece]:
    for place, (outcome, number) in enumerate(counts.most_common()):
        yield Piece((", " if place else "") + f"{number} {outcome}", OUTCOME_STYLES[outcome])


def _row(claim: _Claim, columns: int) -> Iterator[Line]:
    head = f"    line {claim.at:<4} "
    margin, room = " " * (len(head) + 1), max(columns - len(head) - 2, 24)
    yield [
        Piece(head, "dim"),
        Piece(f"{claim.outcome:<13} ", OUTCOME_STYLES[claim.outcome]),
        Piece(cut(visible(claim.what), max(room - 13, 24))),
    ]
    for row in wrapped(visible(claim.note), columns, len(margin)) if claim.note else ():
        yield [Piece(row, "dim")]
    if claim.found is not None:
        yield [Piece(margin), Piece(cut("→ " + visible(shown(claim.found)), room), "yellow")]


def _excerpt(found: Place, workspace: Workspace, columns: int) -> Iterator[Line]:
    file = workspace.read(found.path)
    if found.line is None or not isinstance(file, SourceFile):
        return
    first = max(1, found.line - _AROUND)
    for number, text in enumerate(file.lines[first - 1 : found.line + _AROUND], first):
        mark = ">" if number == found.line else " "
        style = "" if number == found.line else "dim"
        yield [
            Piece(f"           {mark} {number:>5} │ ", "dim"),
            Piece(cut(visible(text), max(columns - 21, 20)), style),
        ]
