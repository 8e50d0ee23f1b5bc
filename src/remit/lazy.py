"""Regular expressions that are compiled at their first use, and a digest without `hashlib`.

There are about two hundred expressions, and the check of one report uses a third of them. Compiling all of them, or
loading `hashlib`, would take longer than the check.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from typing import Any


def lazy_pattern(text: str, flags: int = 0, words: tuple[str, ...] = ()) -> re.Pattern[str]:
    """Return an object that behaves like `re.compile(text, flags)`; an invalid expression raises at its first use.

    Every match must contain one of the `words`, in lower case: texts without them do not compile the expression.
    """
    return _GuardedPattern(text, flags, words) if words else _LazyPattern(text, flags)  # type: ignore[return-value]


def lazy_any(*patterns: re.Pattern[str]) -> re.Pattern[str]:
    """Return an object whose `match` and `search` return the match of the first of the patterns that has one.

    A part that few texts need, such as the words of other languages, is compiled for these texts only. The position of
    the match is not that of one long expression: use it only to find out whether there is a match.
    """
    return _AnyPattern(patterns)  # type: ignore[return-value]


def either(*classes: str) -> str:
    """Return an expression for one character of any of these classes: `either(r"\\s*", "：")`.

    One class with more than two ranges, some of them beyond Latin, takes ten times as long to compile as its parts.
    """
    return f"(?:{'|'.join(f'[{one}]{{1}}' for one in classes)})"


def fold_case(text: str) -> str:
    """Return a text in lower case, with the letters that an expression without regard to case takes for the same."""
    return (text if text.isascii() else text.translate(_SAME_LETTERS)).lower()


def has_word(folded: str, words: tuple[str, ...]) -> bool:
    """Return whether a text in lower case (`fold_case`) contains one of the words."""
    for word in words:  # noqa: SIM110 (a generator takes twice as long)
        if word in folded:
            return True
    return False


class _LazyPattern:
    """A stand-in for a compiled expression that keeps each attribute after its first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(self._compile(), name)
        return found

    def _compile(self) -> re.Pattern[str]:
        compiled: re.Pattern[str] | None = self.__dict__.get("_compiled")
        if compiled is None:
            import re  # late: it takes longer to load than a hook runs

            compiled = self.__dict__["_compiled"] = re.compile(self._text, self._flags)
        return compiled

    def __repr__(self) -> str:
        return f"lazy_pattern({self._text!r}, {self._flags!r})"


#: After this number of texts, an expression is faster than a search for its words, even with the time to compile it.
_MAX_UNCOMPILED = 150
#: Letters that match i, s and k if case is ignored; the lower case of the first one is two characters.
_SAME_LETTERS = {0x130: "i", 0x131: "i", 0x17F: "s", 0x212A: "k"}


class _GuardedPattern(_LazyPattern):
    """A pattern that is compiled at the first text that it may match."""

    def __init__(self, text: str, flags: int, words: tuple[str, ...]) -> None:
        super().__init__(text, flags)
        self._words = words
        self._texts = 0

    def _may_match(self, text: str, first: int = 0, end: int | None = None) -> bool:
        self._texts += 1
        if self._texts < _MAX_UNCOMPILED and not has_word(fold_case(text[max(0, first) : end]), self._words):
            return False
        compiled = self._compile()
        for name in ("search", "match", "fullmatch", "finditer", "sub"):
            self.__dict__[name] = getattr(compiled, name)  # found before the methods below
        return True

    def search(self, text: str, *limits: int) -> re.Match[str] | None:
        return self._compile().search(text, *limits) if self._may_match(text, *limits) else None

    def match(self, text: str, *limits: int) -> re.Match[str] | None:
        return self._compile().match(text, *limits) if self._may_match(text, *limits) else None

    def fullmatch(self, text: str, *limits: int) -> re.Match[str] | None:
        return self._compile().fullmatch(text, *limits) if self._may_match(text, *limits) else None

    def finditer(self, text: str, *limits: int) -> Iterator[re.Match[str]]:
        return self._compile().finditer(text, *limits) if self._may_match(text, *limits) else iter(())

    def sub(self, new: Any, text: str, *count: int) -> str:
        return self._compile().sub(new, text, *count) if self._may_match(text) else text


class _AnyPattern:
    """Several patterns, which are tried in their order."""

    def __init__(self, patterns: tuple[re.Pattern[str], ...]) -> None:
        self._patterns = patterns

    def match(self, text: str) -> re.Match[str] | None:
        for one in self._patterns:
            if (found := one.match(text)) is not None:
                return found
        return None

    def search(self, text: str) -> re.Match[str] | None:
        for one in self._patterns:
            if (found := one.search(text)) is not None:
                return found
        return None


def digest(data: bytes) -> str:
    """Return the first half of the SHA-256 digest, in hexadecimal."""
    _lean_bytes[0] -= len(data)
    if _lean_bytes[0] < 0:
        from hashlib import sha256
    else:
        sha256 = _lean_sha256()
    return str(sha256(data).hexdigest())[:32]


#: The bytes until `hashlib` is loaded, which takes as long as their slow digest and is seven times as fast.
_lean_bytes = [500_000]


def _lean_sha256() -> Any:
    try:
        return __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:  # a Python that was built with OpenSSL's digests only
        import hashlib

        return hashlib.sha256
