"""Files whose path has a character that ends most paths: `handlers/account:member/list.ts`, `docs/My page.md`.

A run of path characters ends there. A longer text is the path only if the checkout has a file that ends with it, so a
few longer texts are looked up.
"""

from __future__ import annotations

from remit.evidence.file_names import MAX_PATH, Exists, has_known_ending, unwrap
from remit.lazy import lazy_pattern

#: At most this many parts are joined.
_MAX_PARTS = 4
_PATH_CHARACTERS = r"\w./\\@+\-$~\[\](){}%&="
_NEXT = lazy_pattern(rf"[:,'!;#^](?![\d:])[{_PATH_CHARACTERS}]++")
_WORDS_BEFORE = lazy_pattern(rf"(?:[{_PATH_CHARACTERS}]{{1,30}}\s){{1,{_MAX_PARTS}}}$")
_LOOK_BACK = 100
SIGNS = frozenset(":,'!;#^")


def joined_end(text: str, start: int, end: int, exists: Exists) -> int:
    """Return the end of the path that a run from `start` to `end` begins, if there is such a file; else `end`."""
    ends: list[int] = []
    following = _NEXT.match(text, end)
    while following is not None and len(ends) < _MAX_PARTS and following.end() - start <= MAX_PATH:
        ends.append(following.end())
        following = _NEXT.match(text, following.end())
    for last in reversed(ends):
        first, cut = unwrap(text[start:last])
        path = text[start + first : start + cut].rstrip(".")
        if ("/" in path or has_known_ending(path)) and exists(path):
            return last
    return end


def spaced_start(text: str, start: int, end: int, exists: Exists) -> int:
    """Return the start of the path that ends with the name from `start` to `end`, if words before it belong to it."""
    if text[start - 1 : start] != " ":
        return start
    words = _WORDS_BEFORE.search(text, max(0, start - _LOOK_BACK), start)
    first = words.start() if words else start
    while first < start:
        if not text[first : first + 1].isdigit() and exists(text[first:end].lstrip("(")):
            return first + len(text[first:end]) - len(text[first:end].lstrip("("))
        first = text.index(" ", first, start) + 1
    return start
