"""Compute the confidence that the evidence supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.evidence.model import Checked, Evidence

if TYPE_CHECKING:
    from remit.evidence.receipts import ReceiptIndex

#: The lower bound of each band, and its name.
BANDS: tuple[tuple[float, str], ...] = (
    (95, "certain"),
    (85, "high"),
    (75, "moderate"),
    (60, "low"),
    (0, "ask for clarification"),
)
#: Name of a band -> what a score in it means, for the agent that gives the score.
RUBRIC: dict[str, str] = {
    "certain": "you read the code and ran something that confirms it",
    "high": "you read the code, and everything you found is consistent",
    "moderate": "some evidence, and a reasonable inference from it",
    "low": "little evidence; name your assumptions",
    "ask for clarification": "speculation; state the question that has to be answered first",
}
_WORTH = {"verified": 1.0, "exists": 1.0, "relocated": 0.5}


def supported_confidence(evidence: Evidence, receipts: ReceiptIndex) -> float | None:
    """Return 60·r + 25·q + 15·x, or None if there is no reference.

    r and q are the means over references and quotes; a reference or quote counts half if its file was never read. x is
    1 if a command was executed. Files that a design plans to create and links to other repositories are not evidence
    and are left out.
    """
    references = [reference for reference in evidence.references if _is_evidence(reference)]
    if not references:
        return None
    r = _mean(references, receipts)
    q = _mean(evidence.quotes, receipts) if evidence.quotes else r
    return round(60 * r + 25 * q + 15 * receipts.executed, 2)


def _is_evidence(reference: Checked) -> bool:
    return reference.outcome != "planned" and not reference.is_elsewhere


def _mean(claims: Sequence[Checked], receipts: ReceiptIndex) -> float:
    opened = receipts.read.keys() | receipts.edited
    worth = (_WORTH.get(claim.outcome, 0.0) * (1.0 if claim.file in opened else 0.5) for claim in claims)
    return sum(worth) / len(claims)


def band(score: float) -> str:
    """Return the name of the band of a score."""
    return next(name for edge, name in BANDS if score >= edge or edge == 0)


def is_above(claimed: float, score: float) -> bool:
    """Return whether a claimed score is in a higher band than the supported one."""
    names = [name for _, name in BANDS]
    return names.index(band(claimed)) < names.index(band(score))
