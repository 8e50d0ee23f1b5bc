"""Is a quote really there? The ladder: exact, white space collapsed, nearly equal; then elsewhere.

Elsewhere means the rest of the file, then every other file of the tree, once for all quotes together and
within limits. What is nowhere gets a guess: the lines near its place that are most like it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from remit.evidence.model import Location, Quote
from remit.evidence.symbols import REACH
from remit.lazy import lazy_pattern
from remit.workspace.files import Collapsed, SourceFile, Workspace

if TYPE_CHECKING:
    from remit.evidence.similarity import WindowMatcher

#: Quotes with fewer characters than this are too common to be found elsewhere.
MIN_MOVED = 10
MIN_SIMILARITY = 0.90
#: A guess for a quote that is nowhere: how like it must be, and how far from its place it may stand.
MIN_GUESS = 0.50
GUESS_REACH = 50
#: Other files are searched up to these limits: characters in all, characters of a file, files, and quotes.
MAX_SEARCHED = 64 * 1024 * 1024
MAX_SEARCHED_FILE = 1024 * 1024
MAX_SEARCHED_FILES = 20_000
MAX_LOST = 100
#: Characters of their own files that all quotes of a result together may be looked for in.
MAX_SCANNED = 1_000_000_000
_HIT_COST = 2_000
#: So many characters are looked at in any case.
_GLANCE = 100_000
#: Endings of files that hold no text; they are not even opened.
_PROSE = (".md", ".markdown", ".txt", ".rst", ".html", ".json", ".jsonl", ".sarif", ".xml", ".log")
_NO_TEXT = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".mp4", ".woff", ".woff2", ".ttf"),
    *(".zip", ".gz", ".xz", ".jar", ".so", ".dll", ".pyc"),
)
_NO_WORD = lazy_pattern(r"\W")
_COMMENT = r"(?://+|#+|--+|;+|%+|/\*+|\{/\*|\(\*|<!--|\*|')"
_DOTS = r"(?:\.{3,}|…|⋮|···)"
#: A line that stands for any lines; `...state,` is code, `... the rest` and `// ...the rest` are not.
_ELLIPSIS = lazy_pattern(
    rf"\s*+(?:{_COMMENT}\s*+{_DOTS}.{{0,120}}|[(\[{{<]\s*+(?:{_DOTS}|snip\b|omitted\b).{{0,120}}[)\]}}>]\s*+|"
    rf"{_DOTS}(?:[)\]}}>*/]*+|\s.{{0,120}}))$"
)
#: One of these is in every such line.
_SIGNS_OF_ELLIPSIS = ("...", "…", "⋮", "···", "snip", "omitted")
#: What may stand between a line's number and the line; one of them all the way down.
_NUMBERED = tuple(
    lazy_pattern(rf"\s*+(?:[>*]\s*+)?[Ll]?(\d{{1,7}})(?:{mark})(.*)$")
    for mark in (r"\s*+[|│┃▏→]\s?", r"[:\])-]\s?", r"\.(?:\s|$)", r"\s++|$")
)
_DIFF_HEAD = lazy_pattern(r"(?:diff --git |index [0-9a-f]{4,}\.|--- \S|\+\+\+ \S|\\ No newline)")
_HUNK = lazy_pattern(r"@@ .*")


class QuoteMatch(NamedTuple):
    """Where a quote stands in a file: its first and its last line."""

    line: int
    last: int

    def gap(self, first: int, last: int) -> int:
        """How many lines lie between it and some lines; 0: they touch."""
        return max(0, self.line - last, first - self.last)


class QuoteChecker:
    """Looks for the quotes of one result."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._left = MAX_SCANNED

    @cached_property
    def _alike(self) -> WindowMatcher:
        from remit.evidence.similarity import WindowMatcher  # late: most quotes are exact

        return WindowMatcher()

    def check(self, quote: Quote, file: SourceFile) -> bool:
        """Look for a quote at its place and then in the whole file; False if it is not there."""
        meanings = quote_readings(quote.text)
        near = self._near(quote, file, meanings)
        if near is not None:
            hit, similarity = near
            quote.outcome, quote.similarity = "verified", round(similarity, 4)
            if quote.line is not None and hit.gap(quote.line, quote.end_line or quote.line):
                quote.found = Location(file.path, hit.line)
            return True
        for pieces in meanings:
            if _weight(pieces) >= MIN_MOVED and (moved := self._nearest(file, pieces, quote.line or 1)) is not None:
                quote.outcome, quote.similarity = "relocated", 1.0
                quote.found, quote.why = Location(file.path, moved.line), f"it stands at line {moved.line}"
                return True
        return False

    def _near(self, quote: Quote, file: SourceFile, meanings: list[list[str]]) -> tuple[QuoteMatch, float] | None:
        cited = cited_lines(quote, file)
        if cited is None:
            return None
        first, last = cited
        low, high = (first - REACH, last + REACH) if quote.line is not None else cited
        for pieces in meanings:
            best: QuoteMatch | None = None
            for hit in self._hits(file.collapsed, pieces, low, high):
                if best is None or hit.gap(first, last) < best.gap(first, last):
                    best = hit
                if best.gap(first, last) == 0:
                    break
            if best is not None:
                return best, 1.0
        for pieces in meanings:
            like = self._alike.pieces(file, pieces, low, high, MIN_SIMILARITY)
            if like is not None:
                return QuoteMatch(like.line, like.last), like.similarity
        return None

    def _hits(self, collapsed: Collapsed, pieces: list[str], low: int, high: int) -> Iterator[QuoteMatch]:
        """The places where the pieces stand in their order, if they touch the lines."""
        needles = [piece.replace("\n", " ") for piece in pieces]
        start, stop = collapsed.span(low, high)
        start = max(0, start - len(needles[0])) if len(needles) == 1 else 0
        if self._left <= 0 and stop - start > _GLANCE:
            return
        after = _After(collapsed.text, needles[1:], self._spend)
        for at in _occurrences(collapsed.text, needles[0], start, stop, self._spend):
            rest = after.positions(at + len(needles[0]))
            if rest is None:
                return
            hit = _hit(collapsed, needles, [at, *rest])
            if hit.gap(low, high) == 0:
                yield hit

    def _nearest(self, file: SourceFile, pieces: list[str], wanted: int) -> QuoteMatch | None:
        """The occurrence in the whole file whose first line is nearest to a line."""
        if self._left <= 0:
            return None
        collapsed = file.collapsed
        needles = [piece.replace("\n", " ") for piece in pieces]
        if len(needles) > 1:
            everywhere = self._hits(collapsed, pieces, 1, len(file.lines))
            return min(everywhere, key=lambda hit: abs(hit.line - wanted), default=None)
        middle, _ = collapsed.span(wanted, wanted)
        before = deque(_occurrences(collapsed.text, needles[0], 0, middle, self._spend), maxlen=1)
        after = islice(_occurrences(collapsed.text, needles[0], middle, len(collapsed.text), self._spend), 1)
        found = [_hit(collapsed, needles, [at]) for at in (*before, *after)]
        return min(found, key=lambda hit: abs(hit.line - wanted), default=None)

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing left to spend on this result's quotes."""
        return self._left <= 0 or self._alike.is_exhausted

    def _spend(self, characters: int) -> bool:
        self._left -= characters
        return self._left > 0

    def find_moved(self, quotes: list[Quote], document: str = "") -> None:
        """Look for quotes that are not in their own file in all other files, in one pass over the tree.

        The document that quotes is not where its quotes come from, nor is prose where code comes from.
        """
        wanted = [_Lost(quote, meanings) for quote in quotes[:MAX_LOST] if (meanings := _heavy(quote))]
        if not wanted:
            return
        for file in self._other_files():
            if document and document in file.text:
                continue
            is_prose = file.path.lower().endswith(_PROSE)
            for lost in wanted:
                if file.path == lost.quote.path or (is_prose and not lost.quote.path.lower().endswith(_PROSE)):
                    continue
                if len(lost.places) < 2 and (place := self._anywhere(file, lost)):
                    lost.places.append(place)
        for lost in wanted:
            if len(lost.places) == 1:
                lost.quote.found = lost.places[0]

    def _other_files(self) -> Iterator[SourceFile]:
        searched = skipped = 0
        for path in self._workspace.paths[:MAX_SEARCHED_FILES]:
            file = None if path.lower().endswith(_NO_TEXT) else self._workspace.read(path)
            if not isinstance(file, SourceFile):
                continue
            if len(file.text) > MAX_SEARCHED_FILE:
                skipped += len(file.text)
            else:
                searched += len(file.text)
                yield file
            if searched > MAX_SEARCHED or skipped > 4 * MAX_SEARCHED:
                return

    def _anywhere(self, file: SourceFile, lost: _Lost) -> Location | None:
        for pieces, longest in lost.meanings:
            if longest in file.text and (hit := self._nearest(file, pieces, 1)) is not None:
                return Location(file.path, hit.line)
        return None

    def guess(self, quote: Quote, file: SourceFile) -> None:
        """Say which lines near the place are most like a quote that is nowhere."""
        line = min(max(quote.line or 1, 1), len(file.lines))
        last = max(line, min(quote.end_line or line, len(file.lines)))
        low, high = (line - GUESS_REACH, last + GUESS_REACH) if quote.line is not None else (1, len(file.lines))
        likes = [
            like
            for pieces in quote_readings(quote.text)
            if (like := self._alike.run(file, "\n".join(pieces), low, high, MIN_GUESS)) is not None
        ]
        if likes:
            best = max(likes, key=lambda like: like.similarity)
            quote.found, quote.similarity = Location(file.path, best.line), round(best.similarity, 4)
            quote.why += f"; line {best.line} is most like it ({best.similarity:.0%})"


class _Lost:
    """A quote that is looked for in other files, with the longest word of each of its readings."""

    def __init__(self, quote: Quote, meanings: list[list[str]]) -> None:
        self.quote = quote
        self.meanings = [(pieces, max(" ".join(pieces).split(), key=len)) for pieces in meanings]
        self.places: list[Location] = []


class _After:
    """Where pieces stand after a position. Positions only grow, so each piece is searched for once."""

    def __init__(self, text: str, needles: list[str], spend: Callable[[int], bool]) -> None:
        self._text = text
        self._needles = needles
        self._spend = spend
        self._known = [-1] * len(needles)

    def positions(self, start: int) -> list[int] | None:
        """The first place of each piece, in order, after `start`; None if one is missing."""
        for index, needle in enumerate(self._needles):
            if self._known[index] < start:
                at = next(_occurrences(self._text, needle, start, len(self._text), self._spend), None)
                if at is None:
                    return None
                self._known[index] = at
            start = self._known[index] + len(needle)
        return list(self._known)


def cited_lines(quote: Quote, file: SourceFile) -> tuple[int, int] | None:
    """The lines that a quote's place names and that the file has; None if there are none."""
    count = len(file.lines)
    if quote.line is None:
        return 1, count
    first, last = max(1, quote.line), min(count, quote.end_line if quote.end_line is not None else quote.line)
    return (first, last) if quote.line >= 1 and first <= last else None


def _weight(pieces: list[str]) -> int:
    return sum(len("".join(piece.split())) for piece in pieces)


def _heavy(quote: Quote) -> list[list[str]]:
    return [pieces for pieces in quote_readings(quote.text) if _weight(pieces) >= MIN_MOVED]


def _hit(collapsed: Collapsed, needles: list[str], positions: list[int]) -> QuoteMatch:
    return QuoteMatch(collapsed.line_at(positions[0]), collapsed.line_at(positions[-1] + len(needles[-1]) - 1))


def _occurrences(text: str, needle: str, start: int, stop: int, spend: Callable[[int], bool]) -> Iterator[int]:
    """Where a text begins, before `stop`, that does not begin or end inside a name."""
    last, following = stop + len(needle) - 1, start
    while (at := text.find(needle, following, last)) >= 0:
        passed = following
        if at and _is_word(needle[0]) and _is_word(text[at - 1]):
            following = found.start() if (found := _NO_WORD.search(text, at, last)) else last
        elif _is_word(needle[-1]) and _is_word(text[at + len(needle) : at + len(needle) + 1]):
            following = at + 1
        else:
            yield at
            following = at + len(needle)
        if not spend(following - passed + _HIT_COST):
            return
    spend(max(0, last - following))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def quote_readings(text: str) -> list[list[str]]:
    """Every reading of a quote; a reading is the pieces between its ellipses, white space collapsed by line."""
    lines = text.split("\n")
    styles = _NUMBERED if any(_may_be_numbered(line) for line in lines) else ()
    bases = [lines, *(plain for style in styles if (plain := _without_numbers(lines, style)) is not None)]
    sides = [*bases, *(side for base in bases for side in _sides(base))]
    found = [pieces for side in sides if (pieces := _pieces(side))]
    return [pieces for at, pieces in enumerate(found) if pieces not in found[:at]]


def is_ellipsis(line: str) -> bool:
    """Whether a line stands for any run of lines."""
    return any(sign in line for sign in _SIGNS_OF_ELLIPSIS) and bool(_ELLIPSIS.match(line))


def _may_be_numbered(line: str) -> bool:
    return line.lstrip().lstrip(">*").lstrip().lstrip("Ll")[:1].isdecimal()


def _without_numbers(lines: list[str], style: re.Pattern[str]) -> list[str] | None:
    """The lines without the numbers before them, if all of them are numbered and the numbers ascend."""
    plain: list[str] = []
    numbers: list[int] = []
    for line in lines:
        found = style.match(line)
        if found:
            numbers.append(int(found[1]))
            plain.append(found[2])
        elif line.strip() and not is_ellipsis(line):
            return None
        else:
            plain.append(line)
    return plain if numbers and all(one < other for one, other in pairwise(numbers)) else None


def _sides(lines: list[str]) -> list[list[str]]:
    """The old and the new side of a diff; lines that were taken away are left out only where others were added."""
    added = any(line.startswith("+") and not _DIFF_HEAD.match(line) for line in lines)
    removed = any(line.startswith("-") and not _DIFF_HEAD.match(line) for line in lines)
    if not (added or removed) or not all(_in_diff(line) for line in lines):
        return []
    body = ["..." if _HUNK.match(line) else line for line in lines if not _DIFF_HEAD.match(line)]
    old = [line if line == "..." else line[1:] for line in body if not line.startswith("+")]
    new = [line if line == "..." else line[1:] for line in body if not line.startswith("-")]
    return [old, new] if added else [old]


def _in_diff(line: str) -> bool:
    return (
        not line.strip() or line[0] in "+- " or bool(_HUNK.match(line) or _DIFF_HEAD.match(line)) or is_ellipsis(line)
    )


def _pieces(lines: list[str]) -> list[str]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if is_ellipsis(line):
            pieces.append([])
        elif bare := " ".join(line.split()):
            pieces[-1].append(bare)
    return ["\n".join(piece) for piece in pieces if piece]
