"""Compare the titles of findings."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rapidfuzz import fuzz

#: Titles at least this similar name the same problem (token-set similarity, 0 to 100).
SAME_TITLE = 75.0
_MAX_WORDS = 60
_WORD = re.compile(r"\w+")


@lru_cache(maxsize=65536)
def folded_title(title: str) -> str:
    """Return the words of a title without case, punctuation and order of width."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", title).casefold())[:_MAX_WORDS])


@lru_cache(maxsize=65536)
def title_similarity(title: str, other: str) -> float:
    """Return the token-set similarity of two folded titles; the order of the two does not matter."""
    if title == other:
        return 100.0
    title, other = sorted((title, other))
    return fuzz.token_set_ratio(title, other, score_cutoff=SAME_TITLE) if title else 0.0
