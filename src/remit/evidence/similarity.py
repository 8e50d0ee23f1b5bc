"""Which lines of a file are most like a quoted text: normalised Indel similarity over runs of lines.

Short texts are compared with every run; long ones only with the runs that share whole lines with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from remit.workspace.files import SourceFile

#: Longer texts are compared exactly and with white space collapsed only.
MAX_TEXT = 20_000
#: More lines than this are not compared one by one.
MAX_LINES = 4_000
#: What one search may cost, and all of a result together, in pairs of characters; a run and a line cost some anyway.
MAX_COST = 2_000_000_000
MAX_TOTAL = 200_000_000_000
_RUN_COST = 66_000
_LINE_COST = 33_000
_CHARACTER_COST = 600
#: How far below a piece the next may stand, where they are only alike.
_NEXT_PIECE = 200
_CANDIDATES = 8
#: A text of so many lines is like a run that it shares all but one with: it stands where it is most like.
_TALL = 3
#: No text is half like a line that is longer than this; such lines are cut.
_LONGEST = 4 * MAX_TEXT
#: How many blank lines may stand around a run.
_BLANKS = 200
#: Characters that are compared here at most.
FEW = 20_000
#: Taken off what is asked for: the library says 0 of some texts that are exactly as like as that.
_EDGE = 1e-6
#: A text, and how like it must be: how like it is, or anything less than that if it is not like enough.
Likeness = Callable[[str, float], float]


class Match(NamedTuple):
    """A run of lines, and how like a text it is."""

    line: int
    last: int
    similarity: float


class WindowMatcher:
    """Compares the quotes of one result with lines; an honest result never uses up what it may cost."""

    def __init__(self) -> None:
        self._left = MAX_TOTAL
        self._characters = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more is compared."""
        return self._left < 0

    def pieces(self, file: SourceFile, pieces: list[str], low: int, high: int, least: float) -> Match | None:
        """The pieces in their order, each like enough; the first touches the lines. The least like one counts."""
        found: list[Match] = []
        for piece in pieces:
            like = self.run(file, piece, low, high, least)
            if like is None:
                return None
            found.append(like)
            low, high = like.last + 1, like.last + _NEXT_PIECE
        return Match(found[0].line, found[0].last, min(like.similarity for like in found))

    def run(self, file: SourceFile, text: str, low: int, high: int, least: float) -> Match | None:
        """The run of lines most like a text, if it is like enough and touches the lines from `low` to `high`.

        Of runs that are equally like it, the one nearest to the middle of these lines.
        """
        wanted = text.split("\n")
        height = len(wanted)
        low, high = max(1, low), min(len(file.lines), high)
        if len(text) > MAX_TEXT or high - low > MAX_LINES:
            return None
        lines = _filled(file, low, high, height + 1)
        inside = [at for at, (number, _) in enumerate(lines) if low <= number <= high]
        if not inside:
            return None
        every = range(max(0, inside[0] - height), inside[-1] + 2)
        middle = (low + high) // 2
        starts = every if _cost(every, text) <= MAX_COST else _promising(wanted, lines, every, middle)
        length = sum(len(line) for _, line in lines)
        self._left -= _cost(starts, text) + len(lines) * _LINE_COST + length * _CHARACTER_COST
        if self._left < 0:
            return None
        runs = (lines[at : at + size] for at in starts for size in _sizes(height) if at < len(lines))
        if height < _TALL:
            runs = (run for run in runs if _touches(run, low, high))
        self._characters += len(starts) * len(_sizes(height)) * len(text)
        best = _best(similarity_to(" ".join(wanted), self._characters), runs, least, middle)
        return best if best is not None and best.line <= high and low <= best.last else None


def _touches(run: list[tuple[int, str]], low: int, high: int) -> bool:
    return run[0][0] <= high and low <= run[-1][0]


def _sizes(height: int) -> tuple[int, ...]:
    return (height, height + 1, height - 1) if height > 1 else (1, 2)


def _cost(starts: range | list[int], text: str) -> int:
    return 3 * len(starts) * (len(text) ** 2 + _RUN_COST)


def _filled(file: SourceFile, low: int, high: int, height: int) -> list[tuple[int, str]]:
    """The lines that are not blank, collapsed, with their numbers: those asked for and `height` on either side."""
    reach = 2 * height + _BLANKS
    before = _take(file, range(low - 1, max(0, low - 1 - reach), -1), height)
    after = _take(file, range(high + 1, min(len(file.lines), high + reach) + 1), height)
    return [*reversed(before), *_take(file, range(low, high + 1), MAX_LINES + 1), *after]


def _take(file: SourceFile, numbers: range, most: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for number in numbers:
        if len(found) == most:
            break
        if bare := " ".join(file.lines[number - 1][:_LONGEST].split()):
            found.append((number, bare))
    return found


def _promising(wanted: list[str], lines: list[tuple[int, str]], starts: range, middle: int) -> list[int]:
    """The starts at which most lines of the text would stand where they do in the file, else those at its place."""
    where: dict[str, list[int]] = {}
    for at, (_, line) in enumerate(lines):
        where.setdefault(line, []).append(at)
    votes = Counter(at - offset for offset, line in enumerate(wanted) for at in where.get(line, ())[:50])
    voted = [start for start, _ in votes.most_common(4 * _CANDIDATES) if start in starts][:_CANDIDATES]
    if voted:
        return voted
    centre = next((at for at, (number, _) in enumerate(lines) if number >= middle), 0)
    return [start for start in starts if abs(start - centre) <= _CANDIDATES]


def _best(likeness: Likeness, runs: Iterable[list[tuple[int, str]]], least: float, middle: int) -> Match | None:
    best: Match | None = None
    for run in runs:
        candidate = " ".join(line for _, line in run)
        score = likeness(candidate, best.similarity if best else least)
        if score < least:
            continue
        like = Match(run[0][0], run[-1][0], score)
        if best is None or (score, -abs(like.line - middle)) > (best.similarity, -abs(best.line - middle)):
            best = like
    return best


def similarity_to(wanted: str, characters: int) -> Likeness:
    """Says how like `wanted` other texts are. `characters`: how many these have, with all that were compared before."""
    if characters <= FEW:
        return _own_likeness(wanted)
    from rapidfuzz.distance import Indel  # late: it is slow to load

    return lambda other, least: Indel.normalized_similarity(wanted, other, score_cutoff=max(0.0, least - _EDGE))


def _own_likeness(wanted: str) -> Likeness:
    """The longest common subsequence by Hyyrö's bits: one for each character, cleared where the sequence grows."""
    all_open = (1 << len(wanted)) - 1
    places: dict[str, int] = {}
    for at, character in enumerate(wanted):
        places[character] = places.get(character, 0) | 1 << at

    def likeness(other: str, least: float) -> float:
        total = len(wanted) + len(other)
        if not total or 2 * min(len(wanted), len(other)) < (least - _EDGE) * total:
            return 0.0 if total else 1.0
        still_open = all_open
        for character in other:
            matched = still_open & places.get(character, 0)
            still_open = ((still_open + matched) | (still_open - matched)) & all_open
        common = len(wanted) - still_open.bit_count()
        return 1.0 - (total - 2 * common) / total

    return likeness
