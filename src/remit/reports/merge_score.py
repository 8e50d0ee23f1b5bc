"""How sure a merged report is of itself.

`verified_confidence` is the mean of the findings whose evidence held, `inferred_confidence` the mean of the
others, and the score the mean of the two: one part that nobody could verify weighs as much as all that was.
Nothing verified: the verified part is 0. Nothing else: the inferred part is `n/a`. No finding at all: 70,
the contract's score for what has none, since a merge knows nothing of what no agent named.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from remit.contract.model import Confidence, Justification
from remit.merging.model import Merge, MergedFinding
from remit.reports.merge_entries import Entry
from remit.reports.merge_parts import counted

NOTHING_FOUND = 70.0
#: From here on a score needs a justification; below the other, words on what is uncertain.
_JUSTIFY_FROM = 85
_UNCERTAIN_BELOW = 70


def confidence_of(findings: Sequence[MergedFinding]) -> Confidence:
    """The score, why, and its parts."""
    if not findings:
        return Confidence(score=NOTHING_FOUND, reason="no finding to take a score from, so that of anything unscored")
    holds = [finding.confidence for finding in findings if finding.verified]
    others = [finding.confidence for finding in findings if not finding.verified]
    verified = _mean(holds)
    inferred = _mean(others)
    combined = round((verified + inferred) / 2, 1) if others else verified
    return Confidence(
        score=combined,
        reason=f"the evidence of {len(holds)} of {counted(len(findings), 'finding')} holds",
        verified=verified,
        verified_reason=f"mean of {counted(len(holds), 'finding')} whose evidence holds" if holds else "none holds",
        inferred=inferred if others else "n/a",
        inferred_reason=f"mean of {counted(len(others), 'finding')} unchecked or failed" if others else "",
        combined=combined,
    )


def _mean(scores: list[float]) -> float:
    return round(min(100.0, max(0.0, fmean(scores))), 1) if scores else 0.0


def justification_of(confidence: Confidence | None, entries: Sequence[Entry]) -> Justification | None:
    """What a high score rests on."""
    if confidence is None or not isinstance(confidence.score, float) or confidence.score < _JUSTIFY_FROM:
        return None
    places = {(entry.finding.path, entry.finding.line) for entry in entries if entry.place and entry.finding.verified}
    return Justification(
        score=confidence.score,
        evidence_count=float(len(places)),
        method="Each agent's references and quotes were held against the checkout before their scores were merged",
        blind_spots="What no agent looked at; agents of one kind may share a blind spot",
    )


def uncertainty_of(confidence: Confidence | None, merge: Merge, entries: Sequence[Entry]) -> str:
    """What a low score distrusts."""
    if confidence is None or not isinstance(confidence.score, float) or confidence.score >= _UNCERTAIN_BELOW:
        return ""
    failed = sum(finding.verified is False for finding in merge.findings)
    unchecked = sum(finding.verified is None for finding in merge.findings)
    uncited = sum(not entry.place for entry in entries)
    return (
        f"The evidence of {counted(failed, 'finding')} failed and that of {unchecked:,} could not be checked; "
        f"{uncited:,} are listed without a place. Looking at those places by hand would settle it."
    )
