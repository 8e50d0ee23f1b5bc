"""Find the claims whose clause says that what they name is absent, or proposes to make it.

"There is no `make migrate` target", "I suggest a new file `src/tax.py`".
"""

from __future__ import annotations

import re
from functools import cache

from remit.evidence.document import words
from remit.evidence.model import REFERENCES, Claim
from remit.lazy import lazy_pattern

#: How many characters before and after a claim are read.
_NEAR = 60
#: ... and for the words of a proposal, in its clause.
_FAR = 200
_CLAUSE_END = lazy_pattern(r"[.!?;]\s|[。！？；]|, (?:and|but)\b")
_MARKS = "`*_\"'()[]"


def says_absent(claim: Claim) -> bool:
    """Return whether the clause of a claim says that what it names is absent: then it does not claim its presence."""
    if claim.segment.kind == "code" or claim.kind == "quote":
        return False
    text = claim.segment.text
    before = text[max(0, claim.start - _NEAR) : claim.start].rstrip(_MARKS + " ")
    after = text[claim.end : claim.end + _NEAR].lstrip(_MARKS + " ")
    return _before().search(before) is not None or _after().match(after) is not None


def proposes(claim: Claim) -> bool:
    """Return whether the clause of a claim proposes to make its file: then it does not claim that it is there."""
    if claim.segment.kind == "code" or claim.kind not in REFERENCES or claim.line is not None:
        return False
    text = claim.segment.text
    before = _CLAUSE_END.split(text[max(0, claim.start - _FAR) : claim.start])[-1]
    after = _CLAUSE_END.split(text[claim.end : claim.end + _FAR])[0]
    return _proposal().search(before if after.isascii() else f"{before} {after}") is not None


@cache
def _before() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:{_any('absent-before')})(?:\s+(?:a|an|any|the|such|old))?\Z")


@cache
def _after() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:(?:{_any('thing')})s?\s+)?(?:,?\s*(?:which|that)\s+)?(?:{_any('absent-after')})")


@cache
def _proposal() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:{_any('proposing')}).*?(?:{_any('making')})", re.DOTALL)


def _any(group: str) -> str:
    """Return the alternatives of a group; English words are whole ones."""
    return "|".join(rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words(group))
