"""All claims of a document in one list: references, quotes, changed files and test runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from remit.evidence.model import OUTCOMES, Difference, Evidence, Location, Outcome, Quote, format_location

#: Outcomes of claims that hold.
HOLDING: frozenset[Outcome] = frozenset({"verified", "planned"})
#: Outcomes of claims that the checkout or the receipts contradict.
FAILING: frozenset[Outcome] = frozenset({"relocated", "missing-file", "out-of-range", "outside", "mismatch"})


class Claim(msgspec.Struct, frozen=True):
    """One claim: its line in the document, its words, its outcome, the reason and what was found instead."""

    at: int
    what: str
    outcome: Outcome
    note: str = ""
    found: Location | None = None
    #: The last line of what was found, if it is a range.
    found_end: int | None = None
    #: Whether it is the location of a quote that failed; the entry of the quote has the reason.
    has_failed_quote: bool = False
    #: Whether a report only counts it.
    is_silent: bool = False
    #: The first line of a quote that differs from the file.
    difference: Difference | None = None
    #: The outcome that is counted; None: the location of a quote, which is counted with the quote.
    counted: Outcome | None = None


def claims_of(evidence: Evidence) -> list[Claim]:
    """Return the entries for all claims of a document, in document order. A quote and its location are two entries."""
    found: list[Claim] = []
    quoted = {id(quote.location) for quote in evidence.quotes if quote.location is not None}
    for one in evidence.references:
        unseen = " · never opened" if one.seen == "no" and one.outcome != "missing-file" else ""
        claim = Claim(one.at, one.display_text, one.outcome, one.why + unseen, one.found, one.found_end)
        counted = None if id(one) in quoted else one.outcome
        found.append(replace(claim, has_failed_quote=one.is_quote_location, is_silent=one.is_silent, counted=counted))
    for quote in evidence.quotes:
        location = format_location(Location(quote.path, quote.line))
        note = quote.why or (quote.match if quote.match in ("annotated", "condensed") else "")
        claim = Claim(quote.at, f"quote from {location}", quote.outcome, note, quote.found)
        found.append(replace(claim, difference=quote.difference, counted=_outcome_with_location(quote)))
    found.extend(Claim(c.at, f"{c.path} {c.claim}", c.outcome, c.why, counted=c.outcome) for c in evidence.changes)
    for run in evidence.run_claims:
        is_checked = evidence.has_receipts or evidence.has_rerun
        outcome: Outcome = "unchecked" if not is_checked else "mismatch" if run.denied else "verified"
        words = f"tests {'passed' if run.passed else 'failed'}"
        note = run.denied or ("" if is_checked else "no receipts")
        found.append(Claim(run.at, words, outcome, note, counted=outcome))
    return sorted(found, key=lambda claim: claim.at)


def _outcome_with_location(quote: Quote) -> Outcome:
    """Return the outcome of a quote and its location together: that of the location if the quote is there."""
    location = quote.location
    if location is None or quote.outcome != "verified" or location.is_quote_location:
        return quote.outcome
    return location.outcome


def count_outcomes(claims: Sequence[Claim]) -> dict[Outcome, int]:
    """Return the number of claims of each outcome that occurs, in the order of the table of outcomes.

    A quote and its location are one claim.
    """
    counts = Counter(claim.counted for claim in claims)
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


def claims_text(claims: Sequence[Claim]) -> str:
    """Return `41 claims: 37 verified, 2 abbreviated, 2 missing-file`, or `no claims found`."""
    if not claims:
        return "no claims found"
    counts = count_outcomes(claims)
    number = sum(counts.values())
    listed = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{number:,} claim{'s' if number != 1 else ''}: {listed}"
