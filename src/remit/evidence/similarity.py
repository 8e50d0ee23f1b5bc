"""Find the lines of a file that are most similar to a text: normalised Indel similarity over windows of lines.

A short text is compared with every window, a long one only with the windows that share whole lines with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from remit.evidence.code_tokens import CodeTokens
from remit.evidence.model import Difference
from remit.workspace.files import SourceFile

#: Longer texts are not compared by similarity.
MAX_TEXT = 20_000
#: Larger ranges of lines are not searched.
MAX_LINES = 4_000
#: The cost limit of one search, and of all searches for a result, in pairs of characters.
MAX_COST = 200_000_000
MAX_TOTAL = 200_000_000_000
#: The fixed costs of a window, a line and a character.
_WINDOW_COST = 66_000
_LINE_COST = 33_000
_CHARACTER_COST = 600
_CANDIDATES = 8
#: A text of at least this many lines may match best in a window outside the range; then it is not in the range.
_TALL = 3
#: A line that is longer than this cannot be 50 % similar to a text; such lines are cut.
_LONGEST = 4 * MAX_TEXT
#: The number of blank lines that are skipped around a range.
_BLANKS = 200
#: Subtracted from a minimum: the library returns 0 for some texts whose similarity equals the cutoff.
_EDGE = 1e-6
#: A line that is shown as a difference is cut to this length, and starts at most this far before the difference.
_MAX_SHOWN = 160
_BEFORE = 40
_LONGEST_SHOWN = 2_000
_NEAR_LINE = 0.5
#: Lines of a quote are compared with at most this many lines.
_MAX_COMPARED = 200
#: At most this many tokens are counted.
_MAX_TOKENS = 4_000
#: Takes a text and a minimum; returns the similarity, or any value below the minimum if the text is less similar.
Similarity = Callable[[str, float], float]


class Match(msgspec.Struct, frozen=True):
    """A window of lines and its similarity to a text."""

    line: int
    last: int
    similarity: float


class WindowMatcher:
    """Compares the quotes of one result with lines, within a cost limit that a normal result does not reach."""

    def __init__(self) -> None:
        self._cost_left = MAX_TOTAL

    def best_window(self, file: SourceFile, text: str, low: int, high: int, min_similarity: float) -> Match | None:
        """Return the window most similar to a text, if it is similar enough and touches the lines `low` to `high`.

        Of equally similar windows, return the one nearest to the middle of these lines.
        """
        wanted = text.split("\n")
        height = len(wanted)
        low, high = max(1, low), min(len(file.lines), high)
        if len(text) > MAX_TEXT or high - low > MAX_LINES:
            return None
        lines = _non_blank_lines(file, low, high, height + 1)
        inside = [index for index, (number, _) in enumerate(lines) if low <= number <= high]
        if not inside:
            return None
        every = range(max(0, inside[0] - height), inside[-1] + 2)
        middle = (low + high) // 2
        starts = every if _cost(every, text) <= MAX_COST else _promising(wanted, lines, every, middle)
        length = sum(len(line) for _, line in lines)
        self._cost_left -= _cost(starts, text) + len(lines) * _LINE_COST + length * _CHARACTER_COST
        if self._cost_left < 0:
            return None
        windows = (lines[index : index + size] for index in starts for size in _sizes(height) if index < len(lines))
        if height < _TALL:
            windows = (window for window in windows if _touches(window, low, high))
        best = _best(similarity_to(" ".join(wanted)), windows, min_similarity, middle)
        return best if best is not None and best.line <= high and low <= best.last else None


def _touches(window: list[tuple[int, str]], low: int, high: int) -> bool:
    return window[0][0] <= high and low <= window[-1][0]


def _sizes(height: int) -> tuple[int, ...]:
    return (height, height + 1, height - 1) if height > 1 else (1, 2)


def _cost(starts: range | list[int], text: str) -> int:
    return 3 * len(starts) * (len(text) ** 2 + _WINDOW_COST)


def _non_blank_lines(file: SourceFile, low: int, high: int, height: int) -> list[tuple[int, str]]:
    """Return the non-blank lines from `low` to `high` and `height` on each side, numbered, white space collapsed."""
    reach = 2 * height + _BLANKS
    before = _take(file, range(low - 1, max(0, low - 1 - reach), -1), height)
    after = _take(file, range(high + 1, min(len(file.lines), high + reach) + 1), height)
    return [*reversed(before), *_take(file, range(low, high + 1), MAX_LINES + 1), *after]


def _take(file: SourceFile, numbers: range, limit: int) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    for number in numbers:
        if len(lines) == limit:
            break
        if bare := " ".join(file.lines[number - 1][:_LONGEST].split()):
            lines.append((number, bare))
    return lines


def _promising(wanted: list[str], lines: list[tuple[int, str]], starts: range, middle: int) -> list[int]:
    """Return the starts at which the most lines of the text equal those of the file, else those near the middle."""
    positions: dict[str, list[int]] = {}
    for index, (_, line) in enumerate(lines):
        positions.setdefault(line, []).append(index)
    votes = Counter(index - offset for offset, line in enumerate(wanted) for index in positions.get(line, ())[:50])
    voted = [start for start, _ in votes.most_common(4 * _CANDIDATES) if start in starts][:_CANDIDATES]
    if voted:
        return voted
    centre = next((index for index, (number, _) in enumerate(lines) if number >= middle), 0)
    return [start for start in starts if abs(start - centre) <= _CANDIDATES]


def _best(
    similarity: Similarity, windows: Iterable[list[tuple[int, str]]], min_similarity: float, middle: int
) -> Match | None:
    best: Match | None = None
    for window in windows:
        candidate = " ".join(line for _, line in window)
        score = similarity(candidate, best.similarity if best else min_similarity)
        if score < min_similarity:
            continue
        match = Match(window[0][0], window[-1][0], score)
        if best is None or (score, -abs(match.line - middle)) > (best.similarity, -abs(best.line - middle)):
            best = match
    return best


def first_difference(pieces: list[str], file: SourceFile, match: Match) -> Difference | None:
    """Return the first line of a quote that is not one of the matched lines, and the line most similar to it."""
    last = min(match.last, match.line + _MAX_COMPARED)
    known = {tuple(CodeTokens(line, file.path).words) for line in file.lines[match.line - 1 : last]}
    for quoted in "\n".join(pieces).split("\n")[:_MAX_COMPARED]:
        words = tuple(CodeTokens(quoted, file.path).words)
        if words and words not in known:
            return difference_of(quoted, file, match.line, last)
    return None


def difference_of(quoted: str, file: SourceFile, first: int, last: int) -> Difference:
    """Return a quoted line with the line from `first` to `last` that is most similar to it, if one is like it."""
    similarity = similarity_to(quoted[:_LONGEST_SHOWN])
    lines = {
        number: " ".join(file.lines[number - 1].split())
        for number in range(first, min(last, first + _MAX_COMPARED, len(file.lines)) + 1)
    }
    score, nearest = max(
        ((similarity(line[:_LONGEST_SHOWN], 0.0), -number) for number, line in lines.items()), default=(0.0, 0)
    )
    if score < _NEAR_LINE:
        return Difference(_cut(quoted, 0))
    actual = " ".join(file.shown_lines(-nearest, -nearest)[0].split())
    start = common_start(quoted, actual)
    return Difference(_cut(quoted, start), _cut(actual, start), -nearest)


def changed_tokens(pieces: list[str], file: SourceFile, match: Match) -> int:
    """Return how many tokens of a quote are not in the matched lines, or replace some of them."""
    last = min(match.last, match.line + _MAX_COMPARED)
    actual = CodeTokens("\n".join(file.lines[match.line - 1 : last]), file.path).words[:_MAX_TOKENS]
    quoted = CodeTokens("\n".join(pieces), file.path).words[:_MAX_TOKENS]
    actual, quoted = _with_joined_operators(actual), _with_joined_operators(quoted)
    common = Counter(actual) & Counter(quoted)
    return max(len(quoted), len(actual)) - sum(common.values())


def _with_joined_operators(words: list[str]) -> list[str]:
    """Return tokens with `&&` and `||` as one token each: to write one for the other alters one."""
    joined: list[str] = []
    for word in words:
        if word in ("&", "|") and joined[-1:] == [word]:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def common_start(text: str, other: str) -> int:
    """Return how many characters at the start of two texts are equal."""
    return next(
        (index for index, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other))
    )


def _cut(line: str, difference: int) -> str:
    """Return the part of a long line that contains a position."""
    if len(line) <= _MAX_SHOWN:
        return line
    start = max(0, difference - _BEFORE)
    return ("…" if start else "") + line[start : start + _MAX_SHOWN] + ("…" if start + _MAX_SHOWN < len(line) else "")


def similarity_to(wanted: str) -> Similarity:
    """Return a function that compares texts with `wanted`."""
    return lambda other, minimum: indel_similarity(wanted, other, max(0.0, minimum - _EDGE))


def indel_similarity(text: Sequence[str], other: Sequence[str], least: float) -> float:
    """Return how similar two texts or lists of tokens are, from 0 to 1; 0 if that is less than `least`."""
    from rapidfuzz.distance import Indel  # late: in most documents every claim holds, and nothing is compared

    return Indel.normalized_similarity(text, other, score_cutoff=least)
