"""Find a quote in a file token by token.

Comments and line breaks are ignored. Whole lines of the file may be missing in the quote, and `...` inside a line
stands for any tokens. Everything else must be there, in order. All possible alignments are followed at once, as bits
of one integer for each token of the quote, so the cost is linear in the quote for a file of a given size.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import Literal, NamedTuple

import msgspec

from remit.evidence.code_tokens import ELLIPSIS, CodeTokens, QuoteTokens, is_name, language_of
from remit.workspace.files import SourceFile

How = Literal["same", "annotated", "condensed"]
#: The limit of one search: the tokens of the quote times those of the file. It also bounds the memory (60 MB).
MAX_COST = 400_000_000
#: The tokens that are kept for further quotes.
_MAX_KEPT = 1_000_000
#: At most this many alignments are compared; the nearest to the cited lines are tried first.
_MAX_ENDS = 16
#: At most this many lines without names are moved to the block above them.
_MAX_CHOICES = 60
#: At most this many positions are compared for each of them.
_MAX_POSITIONS = 6
#: At most this many tokens before such a position are compared with the quote.
_MAX_RUN = 16
#: A run of lines that follows more than this many omitted lines needs `_MIN_RUN` characters.
_FAR = 60
_MIN_RUN = 10
#: The same outside the cited lines: `except Exception: pass` is everywhere.
_MIN_APART = 30
#: A line of the file that differs from the quoted line in at most this many tokens is that line, altered.
_NEAR_MISS = 2
_SIBLING = 3
#: This many quoted lines that follow each other in the file are those that are meant.
_ANCHORED = 4
_CLOSING = frozenset(")]}")
_OPENING = {")": "(", "]": "[", "}": "{"}
#: A line of a string is not omitted between the marks of the string.
_QUOTATION = frozenset("\"'`")
_DECISIVE = frozenset(
    ("true", "false", "null", "none", "nil", "undefined", "not", "and", "or", "is", "True", "False", "None")
)


class TokenMatch(msgspec.Struct, frozen=True):
    """The first and the last line of a quote in a file, and how it differs from them."""

    line: int
    last: int
    how: How


class FoundStart(NamedTuple):
    """The first lines of a quote that were found: how many, and where. `words` is the line after them."""

    words: tuple[str, ...]
    number: int
    first: int = 0
    last: int = 0


class FileTokens:
    """The tokens of a file, or of a part of it that begins at line `first`, with an index."""

    def __init__(self, text: str, path: str, first: int, *, relaxed: bool = False) -> None:
        self.tokens = CodeTokens(text, path, relaxed=relaxed)
        self.first = first
        self._lines = text.split("\n")
        self.size = len(self.tokens)
        self._positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(self.tokens.words):
            self._positions[word].append(position)
        self._masks: dict[str, int] = {}
        lines = self.tokens.lines
        starts = [position for position in range(self.size) if position == 0 or lines[position - 1] != lines[position]]
        self.starts = _mask(starts, self.size)
        self.ends = (self.starts >> 1) | (1 << self.size >> 1)
        #: The commas at the ends of lines.
        self.commas = self.mask(",") & self.ends

    def mask(self, word: str) -> int:
        """Return the positions of a word as bits."""
        positions = self._masks.get(word)
        if positions is None:
            positions = self._masks[word] = _mask(self._positions.get(word, ()), self.size)
        return positions

    def comments(self, first: int, last: int) -> list[str]:
        """Return the comments from the line of one token to the line of another."""
        low, high = self.tokens.lines[first], self.tokens.lines[last]
        return [comment for line, comment in self.tokens.comments if low <= line <= high]

    def leaves_block(self, first: int, last: int) -> bool:
        """Return whether a line between those of two tokens is indented less than both."""
        low, high = self.tokens.lines[first], self.tokens.lines[last]
        indent = min(_indent(self._lines[low]), _indent(self._lines[high]))
        return indent > 0 and any(line.strip() and _indent(line) < indent for line in self._lines[low + 1 : high])

    def is_between_blank_lines(self, first: int, last: int) -> bool:
        """Return whether a blank line follows the line of one token, and another one precedes that of another."""
        below, above = self.tokens.lines[first] + 1, self.tokens.lines[last] - 1
        return below < above and not self._lines[below].strip() and not self._lines[above].strip()

    def line(self, position: int) -> int:
        """Return the number of the line of a token."""
        return self.first + self.tokens.lines[position]


class TokenStore:
    """The tokens of files, for all documents of a run. Versions of a file with the same text share them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, int, int, bool], FileTokens] = OrderedDict()
        self._size = 0

    def has(self, file: SourceFile, first: int, last: int, *, relaxed: bool) -> bool:
        """Return whether the tokens of some lines are kept."""
        return (file.text, language_of(file.path), first, last, relaxed) in self._kept

    def of(self, file: SourceFile, first: int, last: int, *, relaxed: bool) -> FileTokens:
        """Return the tokens of some lines of a file."""
        key = file.text, language_of(file.path), first, last, relaxed
        tokens = self._kept.get(key)
        if tokens is not None:
            self._kept.move_to_end(key)
            return tokens
        text = "\n".join(file.lines[first - 1 : last])
        tokens = self._kept[key] = FileTokens(text, file.path, first, relaxed=relaxed)
        self._size += tokens.size
        while self._size > _MAX_KEPT and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1].size
        return tokens


def find_tokens(quote: QuoteTokens, file: FileTokens, cited: tuple[int, int], reach: int | None) -> TokenMatch | None:
    """Return the alignment of a quote that is nearest to the cited lines, at most `reach` lines away if it is given."""
    if not quote.words or not file.size or is_too_large(quote, file):
        return None
    states = _states(quote, file)
    if len(states) < len(quote.words):
        return None
    first, last = cited
    expected = first + len(quote.starts)
    best: tuple[tuple[int, int], TokenMatch] | None = None
    for end in nsmallest(_MAX_ENDS, _bits(states[-1]), key=lambda end: abs(file.line(end) - expected)):
        around = (first - reach, last + reach) if reach is not None else None
        for in_runs in (False, True) if around is not None else (False,):
            path = _path(quote, file, states, end, in_runs=in_runs)
            lines = {file.line(position) for position in path}
            if in_runs and not first <= min(lines) <= max(lines) <= last:
                continue  # outside the cited lines, such an alignment may join parts of similar blocks
            # A line of the quote must be near the cited lines; omitted lines around them prove nothing.
            gap = min(max(0, line - last, first - line) for line in lines)
            match = _match(quote, file, path, around) if reach is None or gap <= reach else None
            if match is None:
                continue
            rank = (gap, match.last - match.line)
            if best is None or rank < best[0]:
                best = rank, match
            break
    return best[1] if best is not None else None


def find_start(quote: QuoteTokens, file: FileTokens) -> FoundStart | None:
    """Return the first lines of a quote that are in some lines of a file, in their order, and the line after them.

    Of several alignments, the one that ends first counts.
    """
    if not quote.words or not file.size or is_too_large(quote, file):
        return None
    states = _states(quote, file)
    if len(states) == len(quote.words):
        return None
    failing = len(states)
    if failing in quote.starts and failing not in quote.gaps and failing and not states[-1] & file.ends:
        failing -= 1  # the line before it goes on in the file
    start = max((position for position in quote.starts if position <= failing), default=0)
    count = sum(position < start for position in quote.starts)
    words = tuple(quote.line_from(start))
    if not start:
        return FoundStart(words, 0)
    path = _path(quote, file, states[:start], (states[start - 1] & -states[start - 1]).bit_length() - 1)
    return FoundStart(words, count, file.line(path[0]), file.line(path[-1]))


def cost(quote: QuoteTokens, file: FileTokens) -> int:
    """Return the cost of a search."""
    return len(quote.words) * file.size


def is_too_large(quote: QuoteTokens, file: FileTokens) -> bool:
    """Return whether the quote and the file are too large to be compared by tokens."""
    return cost(quote, file) > MAX_COST


def _states(quote: QuoteTokens, file: FileTokens) -> list[int]:
    """Return, for each token of the quote, the positions in the file at which it can be matched.

    The list ends before the first token that cannot be matched.
    """
    states: list[int] = []
    current, is_open = 0, False
    for index, word in enumerate(quote.words):
        mask = file.mask(word)
        if not states:
            reached = mask
        else:
            reached = (current << 1) & mask
            if is_open or index in quote.gaps:
                reached |= mask & _after(current)
            elif index in quote.starts or not (word in _QUOTATION or _OPENING.get(word) == quote.words[index - 1]):
                # Lines may be omitted where the file breaks a line, also if the quote joins the lines around them.
                # A quote with `{}` states that nothing is between them.
                reached |= mask & file.starts & _after(current & file.ends)
                if word in _CLOSING:  # the comma before the omitted elements of a list may be left out with them
                    reached |= mask & file.starts & _after((current << 1 & file.commas) << 1)
        if word == ELLIPSIS:
            # The dots are code of the file, or they match nothing and the next token may be anywhere after them.
            reached |= current if states else (1 << file.size) - 1
        is_open = word == ELLIPSIS
        if not reached:
            return states
        states.append(reached)
        current = reached
    return states


def _path(quote: QuoteTokens, file: FileTokens, states: list[int], end: int, *, in_runs: bool = False) -> list[int]:
    """Return the position in the file of each token of the quote, for an alignment that ends at `end`.

    Few tokens are omitted. With `in_runs`, a line without names, such as `});`, stays with the block above it.
    """
    path, choices = [end], 0
    for index in range(len(states) - 1, 0, -1):
        position, before = path[-1], states[index - 1]
        word = quote.words[index]
        if word == ELLIPSIS and before >> position & 1 and file.tokens.words[position] != ELLIPSIS:
            path.append(position)
            continue
        is_choice = in_runs and choices < _MAX_CHOICES and quote.ends_block(index)
        is_next = position > 0 and before >> (position - 1) & 1
        if is_next and not is_choice:
            path.append(position - 1)
            continue
        choices += is_choice
        is_open = quote.words[index - 1] == ELLIPSIS or index in quote.gaps
        allowed = before if is_open else before & file.ends
        allowed = (allowed & ((1 << position) - 1)) | (is_next << max(0, position - 1))
        if word in _CLOSING and position > 2:
            allowed |= before & file.commas >> 1 & ((1 << (position - 2)) - 1)
        path.append(_end_of_run(states, index - 1, allowed) if is_choice else allowed.bit_length() - 1)
    path.reverse()
    return path


def _end_of_run(states: list[int], index: int, allowed: int) -> int:
    """Return the last allowed position of a token; of several, the one with most tokens of the quote before it."""
    best, longest = allowed.bit_length() - 1, -1
    for _ in range(_MAX_POSITIONS):
        if not allowed or longest == _MAX_RUN:
            break
        position, run = allowed.bit_length() - 1, 0
        while run < min(_MAX_RUN, index, position) and states[index - run - 1] >> (position - run - 1) & 1:
            run += 1
        if run > longest:
            best, longest = position, run
        allowed ^= 1 << position
    return best


def _match(quote: QuoteTokens, file: FileTokens, path: list[int], around: tuple[int, int] | None) -> TokenMatch | None:
    """Return the lines of an alignment, or None if it omits a line that is the quoted one, altered.

    A long run of lines is omitted without a mark only between the lines `around` the cited ones, or inside one block.
    """
    condensed = quote.has_dots
    run = 0
    for index in range(1, len(path)):
        run += len(quote.words[index - 1])
        if path[index] - path[index - 1] <= 1 or index in quote.gaps or quote.words[index - 1] == ELLIPSIS:
            continue
        condensed = True
        distance = file.line(path[index]) - file.line(path[index - 1])
        if distance > _FAR and (run < _MIN_RUN or _is_apart(quote, file, path, index, run, around)):
            return None
        run = 0
        first_omitted = file.tokens.of_line(path[index - 1] + 1)
        last_omitted = file.tokens.of_line(path[index] - 1)
        is_joined = index not in quote.starts
        after = quote.words[index : index + len(first_omitted)] if is_joined else quote.line_from(index)
        is_known = _omits_paragraphs(quote, file, path, index)
        if not is_known and _is_altered(first_omitted, after, distance):
            return None
        before = quote.words[max(0, index - len(last_omitted)) : index] if is_joined else quote.line_before(index)
        is_known |= _is_anchored(quote, path, index)
        if not is_known and _is_altered(last_omitted, before, distance):
            return None
    first, last = file.line(path[0]), file.line(path[-1])
    if condensed:
        return TokenMatch(first, last, "condensed")
    return TokenMatch(first, last, "same" if quote.comments == file.comments(path[0], path[-1]) else "annotated")


def _omits_paragraphs(quote: QuoteTokens, file: FileTokens, path: list[int], index: int) -> bool:
    """Return whether only whole paragraphs of the file are omitted before a line, and the lines around them are meant.

    The line before and the line after them are next to another quoted line, which no omitted line has next to it.
    """
    if index not in quote.starts or not file.is_between_blank_lines(path[index - 1], path[index]):
        return False
    if file.leaves_block(path[index - 1], path[index]):
        return False
    return _goes_on(quote, file, path, index) and _came_from(quote, file, path, index)


def _goes_on(quote: QuoteTokens, file: FileTokens, path: list[int], index: int) -> bool:
    following = index + len(quote.line_from(index))
    if following >= len(path) or path[following] - path[following - 1] != 1:
        return False
    omitted = path[index - 1] + 1 + len(file.tokens.of_line(path[index - 1] + 1))
    line = quote.line_from(following)
    return any(map(is_name, line)) and line != file.tokens.words[omitted : omitted + len(line)]


def _came_from(quote: QuoteTokens, file: FileTokens, path: list[int], index: int) -> bool:
    start = index - len(quote.line_before(index))
    if start < 1 or path[start] - path[start - 1] != 1:
        return False
    omitted = path[index] - len(file.tokens.of_line(path[index] - 1))
    line = quote.line_before(start)
    return any(map(is_name, line)) and line != file.tokens.words[max(0, omitted - len(line)) : omitted]


def _is_apart(
    quote: QuoteTokens, file: FileTokens, path: list[int], index: int, run: int, around: tuple[int, int] | None
) -> bool:
    """Return whether the tokens beyond a long run of omitted lines are outside `around` and may be any code.

    That is so if they are few. Without cited lines they must also be in another block: the altered last line of a
    function may occur in another one.
    """
    if around is None:
        return _has_short_end(quote, file, path, index) and file.leaves_block(path[index - 1], path[index])
    if file.line(path[index - 1]) < around[0]:
        return run < _MIN_APART
    end = index + 1
    while end < len(path) and path[end] - path[end - 1] == 1:
        end += 1
    return around[1] < file.line(path[index]) and sum(map(len, quote.words[index:end])) < _MIN_APART


def _has_short_end(quote: QuoteTokens, file: FileTokens, path: list[int], index: int) -> bool:
    """Return whether a quote begins or ends with few tokens, with a name, beyond a long run of omitted lines."""
    for side in (range(index - 1, -1, -1), range(index, len(path))):
        words: list[str] = []
        before = side.start
        for position in side:
            if abs(file.line(path[position]) - file.line(path[before])) > _FAR or sum(map(len, words)) >= _MIN_APART:
                break
            words.append(quote.words[position])
            before = position
        else:
            if sum(map(len, words)) < _MIN_APART and any(map(is_name, words)):
                return True
    return False


def _is_anchored(quote: QuoteTokens, path: list[int], index: int) -> bool:
    """Return whether several quoted lines before a position are in one piece in the file, so that they are meant."""
    lines = 0
    for position in range(index - 1, 0, -1):
        lines += position in quote.starts
        if lines >= _ANCHORED:
            return True
        if path[position] - path[position - 1] != 1:
            return False
    return lines + 1 >= _ANCHORED


def _is_altered(omitted: list[str], quoted: list[str], distance: int) -> bool:
    """Return whether an omitted line is the quoted line with one decisive token changed."""
    if omitted == quoted or abs(len(omitted) - len(quoted)) > _NEAR_MISS:
        return False
    start = 0
    while start < min(len(omitted), len(quoted)) and omitted[start] == quoted[start]:
        start += 1
    end = 0
    while end < min(len(omitted), len(quoted)) - start and omitted[-1 - end] == quoted[-1 - end]:
        end += 1
    old, new = omitted[start : len(omitted) - end], quoted[start : len(quoted) - end]
    shared = (*omitted[:start], *omitted[len(omitted) - end :])
    if max(len(old), len(new)) > _NEAR_MISS or not any(map(is_name, shared)):
        return False
    if not any(is_name(word) and word not in _DECISIVE for word in (*old, *new)):
        return True
    return sum(map(is_name, shared)) >= 3 and distance > _SIBLING


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _after(positions: int) -> int:
    """Return every position after the first of some positions, as bits without an upper end."""
    if not positions:
        return 0
    first = (positions & -positions).bit_length()
    return -1 << first


def _mask(positions: Iterable[int], size: int) -> int:
    data = bytearray(size // 8 + 1)
    for position in positions:
        data[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(data, "little")


def _bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, in order."""
    data = mask.to_bytes(mask.bit_length() // 8 + 1, "little")
    for index, byte in enumerate(data):
        if byte:
            yield from (index * 8 + bit for bit in range(8) if byte >> bit & 1)
