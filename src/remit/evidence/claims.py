"""All claims of a document in one list: references, quotes, changed files and test runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from remit.evidence.model import OUTCOMES, Difference, Evidence, Location, Outcome, format_location

#: Outcomes of claims that hold.
HOLDING: frozenset[Outcome] = frozenset({"verified", "planned"})
#: Outcomes of claims that the checkout or the receipts contradict.
FAILING: frozenset[Outcome] = frozenset({"relocated", "missing-file", "out-of-range", "outside", "mismatch"})


class Claim(NamedTuple):
    """One claim: its line in the document, its words, its outcome, the reason and what was found instead."""

    at: int
    what: str
    outcome: Outcome
    note: str = ""
    found: Location | None = None
    #: Whether it is the location of a quote that failed, which is a separate claim.
    has_failed_quote: bool = False
    #: Whether a report only counts it.
    is_silent: bool = False
    #: The first line of a quote that differs from the file.
    difference: Difference | None = None


def claims_of(evidence: Evidence) -> list[Claim]:
    """Return the claims of a document, in document order."""
    found: list[Claim] = []
    for one in evidence.references:
        unseen = " · never opened" if one.seen == "no" and one.outcome != "missing-file" else ""
        claim = Claim(one.at, one.text, one.outcome, one.why + unseen, one.found, one.is_quote_location, one.is_silent)
        found.append(claim)
    for quote in evidence.quotes:
        location = format_location(Location(quote.path, quote.line))
        note = quote.why or (quote.match if quote.match in ("annotated", "condensed") else "")
        claim = Claim(quote.at, f"quote from {location}", quote.outcome, note, quote.found)
        found.append(claim._replace(difference=quote.difference))
    found.extend(Claim(c.at, f"{c.path} {c.claim}", c.outcome, c.why) for c in evidence.changes)
    for run in evidence.run_claims:
        is_checked = evidence.has_receipts or evidence.has_rerun
        outcome: Outcome = "unchecked" if not is_checked else "mismatch" if run.denied else "verified"
        words = f"tests {'passed' if run.passed else 'failed'}"
        found.append(Claim(run.at, words, outcome, run.denied or ("" if is_checked else "no receipts")))
    return sorted(found, key=lambda claim: claim.at)


def count_outcomes(claims: Sequence[Claim]) -> dict[Outcome, int]:
    """Return the number of claims of each outcome that occurs, in the order of the table of outcomes."""
    counts = Counter(claim.outcome for claim in claims)
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


def claims_text(claims: Sequence[Claim]) -> str:
    """Return `41 claims: 37 verified, 2 abbreviated, 2 missing-file`, or `no claims found`."""
    if not claims:
        return "no claims found"
    counts = ", ".join(f"{number} {outcome}" for outcome, number in count_outcomes(claims).items())
    return f"{len(claims):,} claim{'s' if len(claims) != 1 else ''}: {counts}"
