"""A reference as written, two forms of it that need no grammar, and what can be ruled out without it."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from remit.evidence.file_names import MAX_PATH, has_known_ending, looks_like_file
from remit.lazy import lazy_pattern

_DIGIT = lazy_pattern(r"\d")
#: An ASCII text in lower case without one of these names no line. Each branch starts with one letter or sign,
#: so that the search skips all other characters: it takes a tenth of the time of the expressions that it stands for.
_SIGN = lazy_pattern(r":|\#|\(|@|\[|\+|`|line|linha|linij|ligne|zeile|riga|righe|satir|baris|row|ln?\.?\s?\d|z\.\s?\d")
#: The form that results are asked to use, alone in its text: a/b.py:12, a/b.py:12-18. Only the name has dots.
_CANONICAL = lazy_pattern(
    r"(`?)((?:[A-Za-z0-9_-]++/)*+[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)++):([0-9]{1,9})(?:-([0-9]{1,9}))?\1"
)
#: An address, or a built-in module of Node.js: `node:internal/errors:496`.
_URL = lazy_pattern(r"\b[A-Za-z][A-Za-z0-9+.\-]{0,20}://[^\s<>`\"')\]]*+|\bnode:(?=[a-z_])[\w./]++(?::\d++){0,2}")
#: The query of an address: `?view=file&path=a.py#L10`.
_QUERY = lazy_pattern(r"(?<![\w/])\?[\w.\-]{1,40}=[^\s<>`\"')\]]*+")
#: A path with a part that stands for many: `migrations/<timestamp>_users.sql`; not `a.py:12<br>b.py:3`.
_NO_TEMPLATE = (
    r"(?!/?(?:a|b|br|code|dd|del|details|div|dl|dt|em|hr|i|img|ins|kbd|li|ol|p|pre|s|small|span|strong|sub|summary|sup|"
    r"table|td|th|tr|tt|u|ul)\b|[\w\-]{0,20}(?:root|repo|project|workspace|checkout))"
)
_TEMPLATE_PATH = lazy_pattern(
    rf"(?<![\w./@+\-])[\w./@+\-]*+(?:(?<=[\w/.\-])<{_NO_TEMPLATE}[\w \-]{{1,40}}>|"
    rf"<{_NO_TEMPLATE}[\w \-]{{1,40}}>(?=[_./\-]))"
    r"[\w./@+<>\-]*+"
)
_CURSOR = lazy_pattern(r"^(?:[\w+#.\-]{1,20}:)?(\d{1,9})[:-](\d{1,9}):([^\s:]+)$")
#: Combining accents and vowel signs, the first and the last of each range.
MARKS = (
    *(("\u0300", "\u036f"), ("\u0591", "\u05c7"), ("\u0610", "\u061a"), ("\u064b", "\u065f"), ("\u0900", "\u0e7f")),
    *(("\u1ab0", "\u1aff"), ("\u20d0", "\u20ff"), ("\u3099", "\u309a")),
)


class WrittenReference(msgspec.Struct, frozen=True, gc=False):
    """A reference as written: its position in the text and its target. `line` is None for a whole file."""

    start: int
    end: int
    text: str
    path: str
    line: int | None
    end_line: int | None
    #: The files that the text lists together with it: `a/b.py and c/d.py`.
    listed_with: tuple[str, ...] = ()


def has_marks(text: str) -> bool:
    """Return whether a text has combining accents or vowel signs."""
    return not text.isascii() and not _every_mark().isdisjoint(text)


@cache
def _every_mark() -> frozenset[str]:
    return frozenset(chr(code) for first, last in MARKS for code in range(ord(first), ord(last) + 1))


def may_cite(text: str) -> bool:
    """Return whether a text may name a line, with or without its file; most cells of a table do not."""
    if _DIGIT.search(text) is None:
        return False
    is_sure = "`" in text or ":" in text or not text.isascii()  # the usual signs
    return is_sure or _SIGN.search(text.lower()) is not None


def without_addresses(text: str) -> str:
    """Return a text of the same length without addresses, their queries, and paths that stand for many files."""
    if "://" in text or "node:" in text:
        text = _URL.sub(_blank, text)
    if "?" in text and "=" in text:
        text = _QUERY.sub(_blank, text)
    return _TEMPLATE_PATH.sub(_blank, text) if "<" in text else text


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def canonical_reference(text: str) -> WrittenReference | None:
    """Return the reference that is all of a text, in the form that results are asked to use: `a/b.py:12-18`.

    Nothing else in the text and no file can change how it is read. A name that may be a host has another form.
    """
    found = _CANONICAL.fullmatch(text) if len(text) < MAX_PATH else None
    if found is None:
        return None
    mark, path, line, last = found.groups()
    if not looks_like_file(path) or not has_known_ending(path):
        return None
    if "/" not in path and (path.count(".") > 1 or path.endswith(".org")):
        return None
    start, end = len(mark), len(text) - len(mark)
    return WrittenReference(start, end, text[start:end], path, int(line), int(last) if last else None)


def cursor_reference(info: str) -> WrittenReference | None:
    """Parse `12:18:a/b.py` or `py:12-18:a/b.py`, which some editors write after an opening fence."""
    found = _CURSOR.match(info)
    if not found:
        return None
    return WrittenReference(0, len(info), info, found.group(3), int(found.group(1)), int(found.group(2)))
