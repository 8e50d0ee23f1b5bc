"""All claims of a document in one list: places, names, quotes, commands, changed files and test runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from remit.evidence.judge import ACCUSING, HOLDING
from remit.evidence.model import (
    OUTCOMES,
    RELIABILITIES,
    Checked,
    CheckedStatement,
    ClaimKind,
    Difference,
    Evidence,
    Location,
    Outcome,
    Reliability,
    Then,
    format_location,
)
from remit.evidence.reasons import explain

__all__ = ["ACCUSING", "HOLDING", "ClaimEntry", "claims_of", "claims_text", "count_outcomes", "count_reliabilities"]
#: How a summary calls the outcomes of claims; all accusations that fail are "wrong".
_PLURAL: dict[str, str] = {"exists": "exist"}


class ClaimEntry(msgspec.Struct, frozen=True):
    """One claim as reports list it."""

    kind: ClaimKind
    text: str
    at: int
    outcome: Outcome
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    name: str = ""
    reliability: Reliability | None = None
    #: The stable word for the reason, and the sentence.
    reason: str = ""
    why: str = ""
    found: Location | None = None
    found_end: int | None = None
    then: Then | None = None
    #: The first line of a quote that differs from the file.
    difference: Difference | None = None
    fails: bool = False
    signals: tuple[str, ...] = ()


def claims_of(evidence: Evidence) -> list[ClaimEntry]:
    """Return every claim of a document, in document order. A quote and its location are one claim: the quote."""
    listed = [_of_checked(checked) for checked in evidence.checked if not checked.has_quote]
    for change in evidence.changes:
        fails = change.outcome in ACCUSING
        listed.append(
            ClaimEntry(
                kind="change",
                text=f"{change.path} {change.claim}",
                at=change.at,
                outcome=change.outcome,
                path=change.path,
                reliability="certain" if fails else None,
                reason="change" if change.why else "",
                why=change.why,
                fails=fails,
            )
        )
    listed += [_of_statement(checked) for checked in evidence.statements]
    return sorted(listed, key=lambda entry: entry.at)


def _of_statement(checked: CheckedStatement) -> ClaimEntry:
    """Return what was done as a claim; a file that was read and a delegation are runs."""
    statement = checked.statement
    return ClaimEntry(
        kind="change" if statement.kind == "change" else "run",
        text=statement.text,
        at=statement.at,
        outcome=checked.outcome,
        path=statement.paths[0] if len(statement.paths) == 1 else "",
        reliability="certain" if checked.fails else None,
        reason=checked.reason,
        why=checked.why,
        fails=checked.fails,
    )


def _of_checked(checked: Checked) -> ClaimEntry:
    claim, judgement = checked.claim, checked.judgement
    unseen = " · never opened" if checked.opened == "no" and checked.outcome != "missing-file" else ""
    text = claim.display_text
    if claim.kind == "quote":
        text = f"quote from {format_location(Location(claim.path, claim.line), claim.end_line)}"
        unseen = f" · {checked.match}" if checked.match in ("annotated", "condensed") else unseen
    return ClaimEntry(
        kind=claim.kind,
        text=text,
        at=claim.at,
        outcome=judgement.outcome,
        path=checked.path,
        line=claim.line,
        end_line=claim.end_line,
        name=claim.name,
        reliability=judgement.reliability,
        reason=judgement.reason,
        why=f"{explain(checked)}{unseen}".removeprefix(" · "),
        found=judgement.found,
        found_end=judgement.found_end,
        then=checked.then,
        difference=checked.difference,
        fails=judgement.fails,
        signals=judgement.signals,
    )


def count_outcomes(listed: Sequence[ClaimEntry]) -> dict[Outcome, int]:
    """Return the number of claims of each outcome that occurs, in the order of the table of outcomes."""
    counts = Counter(entry.outcome for entry in listed)
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


def count_reliabilities(listed: Sequence[ClaimEntry]) -> dict[Reliability, int]:
    """Return the number of accusations of each reliability that occurs."""
    counts = Counter(entry.reliability for entry in listed)
    return {reliability: counts[reliability] for reliability in RELIABILITIES if counts[reliability]}


def summary_parts(listed: Sequence[ClaimEntry]) -> list[tuple[str, str]]:
    """Return the parts of the summary line with the outcome that they are about: `12 verified`, `1 worth a look`.

    Accusations that fail are outdated or wrong; the others are worth a look.
    """
    counts: dict[str, int] = dict.fromkeys(
        (*HOLDING_ORDER, "ambiguous", "outdated", "wrong", "worth a look", "unchecked"), 0
    )
    for entry in listed:
        if entry.outcome in ACCUSING:
            word = "worth a look" if not entry.fails else "outdated" if entry.outcome == "outdated" else "wrong"
        else:
            word = entry.outcome
        counts[word] = counts.get(word, 0) + 1
    return [
        (f"{count} {_PLURAL.get(word, word) if count != 1 else word}", word) for word, count in counts.items() if count
    ]


HOLDING_ORDER = ("verified", "exists", "abbreviated", "planned")


def claims_text(listed: Sequence[ClaimEntry]) -> str:
    """Return `41 claims: 12 verified, 25 exist, 2 outdated, 1 wrong, 1 worth a look`, or `no claims found`."""
    if not listed:
        return "no claims found"
    number = len(listed)
    parts = ", ".join(part for part, _ in summary_parts(listed))
    return f"{number:,} claim{'s' if number != 1 else ''}: {parts}"
