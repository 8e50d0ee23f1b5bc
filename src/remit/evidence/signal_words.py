"""The words that lower the reliability of an accusation, or that mark proposed code: the data file `words.toml`."""

from __future__ import annotations

import os
import tomllib
from functools import cache

from remit.lazy import lazy_pattern

#: Marks, numbers and signs around the words of a title: `### 3. **Fix:**`.
_MARKS = lazy_pattern(r"^[\s#>*_`\-+|\d.)(\[\]✅❌✓✗→:：]+|[\s*_`:：|。.\-–—)(\[\]✅❌✓✗]+$")
_WORD = lazy_pattern(r"[a-z_][a-z0-9_]*+(?:[-'][a-z]+)*+")
_REMARK = lazy_pattern(r"[(（\[][^()（）\[\]]{0,80}[)）\]]")
#: A title that proposes code has at most this many words.
_MAX_TITLE = 4
_MAX_LENGTH = 80
_CODE_SPAN = lazy_pattern(r"`[^`\n]*+`")


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Return the words of each group. The file is part of the package."""
    with open(os.path.join(os.path.dirname(__file__), "words.toml"), "rb") as file:  # noqa: PTH118, PTH120, PTH123 (pathlib is slow)
        data = tomllib.load(file)
    return {name: tuple(group["words"]) for name, group in data.items()}


def words(group: str) -> tuple[str, ...]:
    """Return the words of a group."""
    return _groups()[group]


@cache
def _split(group: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Return the single English words, the phrases, and the words of Chinese and Japanese."""
    ascii_words = [word.replace(".", " ") for word in group if word.isascii()]
    single = frozenset(word for word in ascii_words if " " not in word)
    phrases = tuple(f" {word} " for word in ascii_words if " " in word)
    return single, phrases, tuple(word for word in group if not word.isascii())


def has_words(text: str, group: tuple[str, ...]) -> bool:
    """Return whether a text contains one of the words, as a whole word where a script has spaces."""
    single, phrases, others = _split(group)
    lower = text.lower()
    if not text.isascii() and any(word in text for word in others):
        return True
    found = _WORD.findall(lower)
    if not single.isdisjoint(found):
        return True
    return bool(phrases) and any(phrase in f" {' '.join(found)} " for phrase in phrases)


def is_title(text: str, group: tuple[str, ...]) -> bool:
    """Return whether a text is a short title with one of the words: `**Fix:**`, `### Proposed change`, `修正案：`."""
    return is_short(text) and has_words(text, group)


def is_short(text: str) -> bool:
    """Return whether a text is not longer than a title, without its marks, numbers and remarks in brackets."""
    return len(text) <= _MAX_LENGTH and len(_MARKS.sub("", _REMARK.sub("", text)).split()) <= _MAX_TITLE


def without_code(text: str) -> str:
    """Return a text with blanks instead of its code spans: the name of a function is not a word of the text."""
    return _CODE_SPAN.sub(lambda span: " " * len(span[0]), text) if "`" in text else text
