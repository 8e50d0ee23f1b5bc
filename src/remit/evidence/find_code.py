"""Find quoted code: at the cited lines, in the rest of its file, or in another file; else the most similar lines.

The steps for each quote: an exact match, a match with collapsed white space, a match token by token near the cited
lines, the rest of the file, all other files. Similarity only shows the nearest lines; it never makes a quote count.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from itertools import islice, product

import msgspec

from remit.evidence.code_tokens import (
    CodeTokens,
    QuoteTokens,
    begins_in_comment,
    has_docstring,
    has_names,
    has_two_quotation_marks,
    is_name,
    may_omit_semicolons,
)
from remit.evidence.find_names import REACH
from remit.evidence.model import CodeFacts, Difference, Location, QuoteMatching
from remit.evidence.quote_text import quote_readings, without_notes
from remit.evidence.similarity import Match, WindowMatcher, changed_tokens, difference_of, first_difference
from remit.evidence.token_match import FileTokens, TokenMatch, TokenStore, cost, find_start, find_tokens, is_too_large
from remit.lazy import lazy_pattern
from remit.secrets.scan import MARK, redact
from remit.workspace.files import Collapsed, SourceFile

#: Quotes with fewer characters than this are too common to be searched for elsewhere.
MIN_MOVED = 10
#: The characters of their own files that the search for all quotes of a result may scan.
MAX_SCANNED = 1_000_000_000
_HIT_COST = 2_000
#: The limit of all comparisons by tokens, in tokens of a quote times tokens of a file.
MAX_COMPARED = 20_000_000_000
#: A larger file is compared by tokens only near the cited lines.
_MAX_TOKENIZED = 1024 * 1024
_NEAR_LINES = 2_000
_MAX_REDACTED_FILES = 8
#: The lines above and below the cited ones that are compared before the whole file, besides those of the quote.
_MARGIN = 40
#: A span of up to this many characters is scanned even if the limit is reached.
_GLANCE = 100_000
#: So few lines and characters are searched without the rest of the file.
_FEW_LINES = 60
_FEW_CHARACTERS = 4_000
_BRACKETS = frozenset(")]}")
_MARKS = frozenset("\"'")
_NO_WORD = lazy_pattern(r"\W")
#: A quote this similar to some lines is an altered quote of them.
MIN_SIMILARITY = 0.90
#: A suggestion for a quote that was not found: its minimum similarity and its maximum distance.
MIN_GUESS = 0.50
GUESS_REACH = 50
#: Similar lines are searched for at most this many quotes of a result.
MAX_GUESSED = 500
#: In the place of a secret of any kind: a part of a file may show another kind than the whole file.
_ANY_MARK = "[secret removed]"


class QuoteMatch(msgspec.Struct, frozen=True, gc=False):
    """The first and the last line of a quote in a file."""

    line: int
    last: int

    def gap(self, first: int, last: int) -> int:
        """Return the distance in lines to a range; 0 if they touch."""
        return max(0, self.line - last, first - self.last)


class Quoted(msgspec.Struct):
    """A quote that is searched for: its code and the cited lines. `match` and `found` are what the search found."""

    text: str
    line: int | None = None
    end_line: int | None = None
    match: QuoteMatching | None = None
    found: Location | None = None
    #: Whether it was found near the cited lines.
    is_cited: bool = False


class _RedactedFile(SourceFile):
    """A file as agents are shown it: a mark is in the place of each secret."""

    def __init__(self, file: SourceFile) -> None:
        text = redact(file.text, keeps_lines=True)
        super().__init__(file.path, MARK.sub(_ANY_MARK, text).encode("utf-8", "surrogatepass"))


class CodeFinder:
    """Finds the quotes of one document, within limits that a normal document does not reach."""

    def __init__(self, tokens: TokenStore | None = None, *, suggests: bool = True) -> None:
        self._tokens = tokens if tokens is not None else TokenStore()
        self._guesses_left = MAX_GUESSED if suggests else 0
        self._matcher = WindowMatcher()
        self._characters_left = MAX_SCANNED
        self._comparisons_left = MAX_COMPARED
        self._is_skipped = False
        self._redacted: OrderedDict[str, _RedactedFile] = OrderedDict()

    def look(self, text: str, file: SourceFile, line: int | None, end_line: int | None = None) -> CodeFacts:
        """Return where code is in a file: near the cited lines, elsewhere, or which lines are most similar to it.

        The notes of its author at the ends of lines are left out if it is not found with them. A mark in the place of a
        secret is compared with the file in which secrets are removed.
        """
        if MARK.search(text):
            text, file = MARK.sub(_ANY_MARK, text), self._without_secrets(file)
        self._is_skipped = False
        quote = Quoted(text, line, end_line)
        is_found = self._search(quote, file)
        plain = text if is_found else without_notes(text, file.text)
        if not is_found and plain.strip() and plain != text:
            quote = Quoted(plain, line, end_line)
            is_found = self._search(quote, file)
            quote.match = "annotated" if is_found else None
        if is_found:
            return CodeFacts(
                "cited" if quote.is_cited else "file", match=quote.match, found=quote.found, similarity=1.0
            )
        if self._is_skipped or self._characters_left <= 0 or self._comparisons_left <= 0:
            return CodeFacts("skipped")
        if not CodeTokens(text, file.path).words:
            return CodeFacts("empty")
        return self._most_similar(Quoted(text, line, end_line), file)

    def _without_secrets(self, file: SourceFile) -> SourceFile:
        redacted = self._redacted.get(file.path)
        if redacted is None:
            redacted = self._redacted[file.path] = _RedactedFile(file)
            if len(self._redacted) > _MAX_REDACTED_FILES:
                self._redacted.popitem(last=False)
        return redacted

    def _search(self, quote: Quoted, file: SourceFile) -> bool:
        readings = quote_readings(quote.text)
        cited = cited_lines(quote, file)
        long = [pieces for pieces in readings if _size(pieces) >= MIN_MOVED]
        near = self._near(quote, file, readings, cited) if cited is not None else None
        if cited is not None and near is not None and not self._is_elsewhere(quote, file, long, near, cited):
            quote.is_cited = True
            if quote.line is not None and near.gap(*cited):
                quote.found = Location(file.path, near.line)
            return True
        for pieces in long:
            if (moved := self.nearest(file, pieces, quote.line or 1)) is not None:
                quote.found, quote.match = Location(file.path, moved.line), "whitespace"
                return True
        if quote.line is not None and (other := self._by_tokens(quote, file, long, None)) is not None:
            quote.found = Location(file.path, other.line)
            return True
        return False

    def _most_similar(self, quote: Quoted, file: SourceFile) -> CodeFacts:
        """Return the lines near the location that are most similar to a quote that was not found."""
        self._guesses_left -= 1
        if self._guesses_left < 0 or not file.lines:
            return CodeFacts("nowhere")
        line = min(max(quote.line or 1, 1), len(file.lines))
        last = max(line, min(quote.end_line or line, len(file.lines)))
        low, high = (line - GUESS_REACH, last + GUESS_REACH) if quote.line is not None else (1, len(file.lines))
        matches = [
            (match, pieces)
            for pieces in quote_readings(quote.text)
            if (match := self._matcher.best_window(file, "\n".join(pieces), low, high, MIN_GUESS)) is not None
        ]
        if not matches:
            return CodeFacts("nowhere")
        best, pieces = max(matches, key=lambda match: match[0].similarity)
        difference, found_lines = self._difference(quote, file, pieces, best)
        return CodeFacts(
            "nowhere",
            match="altered" if best.similarity >= MIN_SIMILARITY else None,
            found=Location(file.path, best.line),
            similarity=round(best.similarity, 4),
            difference=difference,
            found_lines=found_lines,
            changed_tokens=changed_tokens(pieces, file, best),
            quoted_lines=len(set(CodeTokens("\n".join(pieces), file.path).lines)),
        )

    def _difference(
        self, quote: Quoted, file: SourceFile, pieces: list[str], best: Match
    ) -> tuple[Difference | None, tuple[int, int, int] | None]:
        """Return the first quoted line that differs, and which lines before it are at the cited ones.

        A quote that is most similar to other lines is compared with these.
        """
        cited = cited_lines(quote, file) if quote.line is not None else None
        if cited is None or best.line > cited[1] + REACH or best.last < cited[0] - REACH:
            return first_difference(pieces, file, best), None
        first, last = max(1, cited[0] - REACH), min(len(file.lines), max(cited[1] + REACH, best.last))
        tokens = QuoteTokens(pieces, file.path)
        is_in_comment = begins_in_comment(file, first)
        start = find_start(tokens, self._tokens.of(file, first, last, relaxed=False)) if not is_in_comment else None
        if start is None or not any(map(is_name, start.words)):
            return first_difference(pieces, file, best), None
        quoted = next(
            (
                line
                for line in "\n".join(pieces).split("\n")
                if tuple(QuoteTokens([line], file.path).words) == start.words
            ),
            "",
        )
        if not quoted:
            return first_difference(pieces, file, best), None
        if not start.number:
            return difference_of(quoted, file, min(first, best.line), last), None
        return difference_of(quoted, file, start.last, last), (start.number, start.first, start.last)

    def _is_elsewhere(
        self, quote: Quoted, file: SourceFile, long: list[list[str]], near: QuoteMatch, cited: tuple[int, int]
    ) -> bool:
        """Return whether a quote that omits lines without a mark is in one piece elsewhere in the file.

        This applies only if its lines are not all near the cited ones: then the piece is the better explanation.
        """
        if quote.match != "condensed" or quote.line is None:
            return False
        first, last = cited
        if first - REACH <= near.line and near.last <= last + REACH:
            return False
        return any(len(pieces) == 1 and self.nearest(file, pieces, quote.line) is not None for pieces in long)

    def _near(
        self, quote: Quoted, file: SourceFile, readings: list[list[str]], cited: tuple[int, int]
    ) -> QuoteMatch | None:
        first, last = cited
        low, high = (first - REACH, last + REACH) if quote.line is not None else cited
        for pieces in readings:
            best: QuoteMatch | None = None
            for hit in self._hits(_searched(file, pieces, low, high), pieces, low, high):
                if best is None or hit.gap(first, last) < best.gap(first, last):
                    best = hit
                if best.gap(first, last) == 0:
                    break
            if best is not None:
                quote.match = "exact" if quote.text.strip("\n") in file.text else "whitespace"
                return best
        match = self._by_tokens(quote, file, readings, cited)
        if match is None:
            return None
        # Lines that are omitted without a mark must be near the cited ones: elsewhere they may join other code.
        is_marked = any(len(pieces) > 1 for pieces in readings)
        if match.how == "condensed" and not is_marked and not low <= match.line <= high:
            quote.match = None
            return None
        return QuoteMatch(match.line, match.last)

    def _by_tokens(
        self, quote: Quoted, file: SourceFile, readings: list[list[str]], cited: tuple[int, int] | None
    ) -> TokenMatch | None:
        """Compare a quote token by token: with the lines around the cited ones, then with the whole file.

        The whole file is only split into tokens if it has the names of the quote in their order.
        """
        around = cited or (quote.line or 1, quote.line or 1)
        reach = REACH if cited is not None else None
        has_marks = has_two_quotation_marks(file.path) and not _MARKS.isdisjoint(quote.text)
        has_free_marks = has_docstring(quote.text, file.path) or may_omit_semicolons(file.path) or has_marks
        for pieces, relaxed in product(readings, (False, True)):
            tokens = QuoteTokens(pieces, file.path, relaxed=relaxed)
            if relaxed and not (has_free_marks or _BRACKETS.intersection(tokens.words)):
                continue
            if not has_names(file.text, tokens):
                continue
            for indexed in self._file_tokens(file, quote, around, relaxed=relaxed, is_near=cited is not None):
                if is_too_large(tokens, indexed):
                    self._is_skipped = True
                    continue
                self._comparisons_left -= cost(tokens, indexed)
                if self._comparisons_left < 0:
                    return None
                alignment = find_tokens(tokens, indexed, around, reach)
                if alignment is not None:
                    quote.match = alignment.how if alignment.how != "same" else "whitespace"
                    return alignment
        return None

    def _file_tokens(
        self, file: SourceFile, quote: Quoted, around: tuple[int, int], *, relaxed: bool, is_near: bool
    ) -> Iterator[FileTokens]:
        """Yield the tokens near some lines if the quote may be near them, then those of the file.

        Of a large file, only the tokens near the lines are compared.
        """
        first, last = 1, len(file.lines)
        if len(file.text) > _MAX_TOKENIZED:
            first, last = max(1, around[0] - _NEAR_LINES), min(last, around[0] + _NEAR_LINES)
        if is_near and quote.line is not None and not self._tokens.has(file, first, last, relaxed=relaxed):
            margin = quote.text.count("\n") + _MARGIN
            low, high = max(first, around[0] - margin), min(last, around[1] + margin)
            if high - low < (last - first) // 2 and not begins_in_comment(file, low):
                yield self._tokens.of(file, low, high, relaxed=relaxed)
        yield self._tokens.of(file, first, last, relaxed=relaxed)

    def _hits(self, collapsed: Collapsed, pieces: list[str], low: int, high: int) -> Iterator[QuoteMatch]:
        """Yield the matches of the pieces in their order that touch the lines from `low` to `high`."""
        needles = [piece.replace("\n", " ") for piece in pieces]
        start, stop = collapsed.span(low, high)
        start = max(0, start - len(needles[0])) if len(needles) == 1 else 0
        if self._characters_left <= 0 and stop - start > _GLANCE:
            return
        later = _LaterPieces(collapsed.text, needles[1:], self._spend)
        for position in _occurrences(collapsed.text, needles[0], start, stop, self._spend):
            rest = later.positions(position + len(needles[0]))
            if rest is None:
                return
            hit = _hit(collapsed, needles, [position, *rest])
            if hit.gap(low, high) == 0:
                yield hit

    def nearest(self, file: SourceFile, pieces: list[str], wanted: int) -> QuoteMatch | None:
        """Return the match in the whole file whose first line is nearest to a line."""
        if self._characters_left <= 0:
            return None
        collapsed = file.collapsed
        needles = [piece.replace("\n", " ") for piece in pieces]
        if len(needles) > 1:
            everywhere = self._hits(collapsed, pieces, 1, len(file.lines))
            return min(everywhere, key=lambda hit: abs(hit.line - wanted), default=None)
        middle, _ = collapsed.span(wanted, wanted)
        before = deque(_occurrences(collapsed.text, needles[0], 0, middle, self._spend), maxlen=1)
        after = islice(_occurrences(collapsed.text, needles[0], middle, len(collapsed.text), self._spend), 1)
        matches = [_hit(collapsed, needles, [position]) for position in (*before, *after)]
        return min(matches, key=lambda hit: abs(hit.line - wanted), default=None)

    def _spend(self, characters: int) -> bool:
        self._characters_left -= characters
        return self._characters_left > 0


class _LaterPieces:
    """Finds pieces after a position. Positions only grow, so the text is searched once for each piece."""

    def __init__(self, text: str, needles: list[str], spend: Callable[[int], bool]) -> None:
        self._text = text
        self._needles = needles
        self._spend = spend
        self._positions = [-1] * len(needles)

    def positions(self, start: int) -> list[int] | None:
        """Return the first position of each piece, in order, after `start`; None if one is missing."""
        for index, needle in enumerate(self._needles):
            if self._positions[index] < start:
                position = next(_occurrences(self._text, needle, start, len(self._text), self._spend), None)
                if position is None:
                    return None
                self._positions[index] = position
            start = self._positions[index] + len(needle)
        return list(self._positions)


def _searched(file: SourceFile, pieces: list[str], low: int, high: int) -> Collapsed:
    """Return the text that is searched for pieces that touch some lines: these lines and enough around them.

    Several pieces may be anywhere in the file, and many lines are collapsed once for all quotes.
    """
    is_short = len(pieces) == 1 and high - low <= _FEW_LINES and len(pieces[0]) <= _FEW_CHARACTERS
    if not is_short or sum(map(len, file.lines[max(0, low - 1) : high])) > _FEW_CHARACTERS:
        return file.collapsed
    return file.collapsed_near(low, high, len(pieces[0]) + 2)


def cited_lines(quote: Quoted, file: SourceFile) -> tuple[int, int] | None:
    """Return the cited lines of a quote that exist in the file; None if none of them exists."""
    count = len(file.lines)
    if quote.line is None:
        return 1, count
    first, last = max(1, quote.line), min(count, quote.end_line if quote.end_line is not None else quote.line)
    return (first, last) if quote.line >= 1 and first <= last else None


def _size(pieces: list[str]) -> int:
    return sum(len("".join(piece.split())) for piece in pieces)


def _hit(collapsed: Collapsed, needles: list[str], positions: list[int]) -> QuoteMatch:
    return QuoteMatch(collapsed.line_at(positions[0]), collapsed.line_at(positions[-1] + len(needles[-1]) - 1))


def _occurrences(text: str, needle: str, start: int, stop: int, spend: Callable[[int], bool]) -> Iterator[int]:
    """Yield the positions of a text, before `stop`, at which it does not begin or end inside a name."""
    last, following = stop + len(needle) - 1, start
    while (position := text.find(needle, following, last)) >= 0:
        passed = following
        if position and _is_word(needle[0]) and _is_word(text[position - 1]):
            following = boundary.start() if (boundary := _NO_WORD.search(text, position, last)) else last
        elif _ends_inside(text, needle, position + len(needle)):
            following = position + 1
        else:
            yield position
            following = position + len(needle)
        if not spend(following - passed + _HIT_COST):
            return
    spend(max(0, last - following))


def _ends_inside(text: str, needle: str, end: int) -> bool:
    """Return whether a text ends inside a name or a number of another text: `1` in `1.5`."""
    after = text[end : end + 2]
    if _is_word(needle[-1]) and _is_word(after[:1]):
        return True
    return needle[-1].isdigit() and after[:1] == "." and after[1:].isdigit()


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
