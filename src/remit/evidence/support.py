"""How much confidence the evidence supports."""

from __future__ import annotations

from collections.abc import Sequence

from remit.evidence.model import Evidence, Quote, Reference
from remit.evidence.receipts import ReceiptIndex

#: Lower edge of each band, and its name.
BANDS: tuple[tuple[float, str], ...] = (
    (95, "certain"),
    (85, "high"),
    (75, "moderate"),
    (60, "low"),
    (0, "ask for clarification"),
)
_WORTH = {"verified": 1.0, "relocated": 0.5}


def supported_confidence(evidence: Evidence, ledger: ReceiptIndex) -> float | None:
    """60·r + 25·q + 15·x; None if there is no reference.

    r and q are the means over references and quotes, halved where the file was never read; x is whether
    something was executed. Files that a design plans are promises, not evidence: they are left out.
    """
    references = [reference for reference in evidence.references if reference.outcome != "planned"]
    if not references:
        return None
    r = _mean(references, ledger)
    q = _mean(evidence.quotes, ledger) if evidence.quotes else r
    return round(60 * r + 25 * q + 15 * ledger.executed, 2)


def _mean(claims: Sequence[Reference | Quote], ledger: ReceiptIndex) -> float:
    known = ledger.read.keys() | ledger.edited
    worth = (_WORTH.get(claim.outcome, 0.0) * (1.0 if claim.path in known else 0.5) for claim in claims)
    return sum(worth) / len(claims)


def band(score: float) -> str:
    """The name of the band a score lies in."""
    return next(name for edge, name in BANDS if score >= edge or edge == 0)


def is_above(claimed: float, score: float) -> bool:
    """Whether a claimed score lies in a higher band than the supported one."""
    names = [name for _, name in BANDS]
    return names.index(band(claimed)) < names.index(band(score))
