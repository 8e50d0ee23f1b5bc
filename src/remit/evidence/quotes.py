"""Is a quote really there? The ladder: exact, white space collapsed, nearly equal; then elsewhere.

Elsewhere means the rest of the file, then every other file of the tree, once for all quotes together and
within limits: 64 MB of text in files of at most 1 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.evidence.model import Place, Quote
from remit.evidence.symbols import REACH
from remit.workspace.files import Collapsed, SourceFile, Workspace

#: Quotes with fewer characters than this are too common to be found elsewhere.
MIN_MOVED = 10
MIN_SIMILARITY = 0.90
#: Longer quotes are compared exactly and with white space collapsed, not by similarity.
MAX_SIMILAR = 20_000
MAX_SEARCHED = 64 * 1024 * 1024
MAX_SEARCHED_FILE = 1024 * 1024

_ELLIPSIS = re.compile(r"^\s*(?://|#|--|;|%|/\*|<!--|\(|\[)?\s*(?:\.{3}|…)[^\n]{0,80}$")
_NUMBERED = re.compile(r"^\s*(\d{1,7})(?:\s*[|│:→]\s?|\t)(.*)$")
_DIFF_HEAD = re.compile(r"^(?:@@ .*|diff --git .*|index [0-9a-f]{4,}\..*|--- \S.*|\+\+\+ \S.*)$")


class Found(NamedTuple):
    """Where a quote stands in a file, and how like it is."""

    line: int
    similarity: float


def readings(text: str) -> list[list[str]]:
    """What a quote may mean: as written; without line numbers; for a diff, the new and the old side.

    A reading is a list of pieces between ellipses.
    """
    lines = [line for line in text.split("\n") if not _DIFF_HEAD.match(line)]
    sides = [lines]
    if numbers := _without_numbers(lines):
        sides = [numbers, lines]
    marked = [line for line in lines if line.startswith(("+", "-"))]
    if marked and all(line.startswith(("+", "-", " ")) or not line.strip() for line in lines):
        sides = [
            [line[1:] for line in lines if not line.startswith("-")],
            [line[1:] for line in lines if not line.startswith("+")],
            *sides,
        ]
    return [pieces for side in sides if (pieces := _pieces(side))]


def _without_numbers(lines: list[str]) -> list[str] | None:
    matches = [_NUMBERED.match(line) for line in lines if line.strip()]
    numbers = [int(match.group(1)) for match in matches if match]
    if not matches or len(numbers) != len(matches) or numbers != sorted(set(numbers)):
        return None
    return [match.group(2) for match in matches if match]


def _pieces(lines: list[str]) -> list[str]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if _ELLIPSIS.match(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return [text for piece in pieces if (text := "\n".join(piece).strip("\n")).strip()]


def check_quote(quote: Quote, file: SourceFile) -> bool:
    """Look for a quote at its place and then in the whole file; False if it is not there."""
    line, last = quote.line, quote.end_line or quote.line
    window = (1, len(file.lines)) if line is None or last is None else (line - REACH, last + REACH)
    for pieces in readings(quote.text):
        near = _search(file, pieces, *window, line or 1) or _similar(file, pieces, *window)
        if near is not None:
            quote.outcome, quote.similarity = "verified", round(near.similarity, 4)
            inside = line is None or last is None or line <= near.line <= last
            quote.found = None if inside else Place(file.path, near.line)
            return True
    if _weight(quote.text) < MIN_MOVED:
        return False
    for pieces in readings(quote.text):
        moved = _search(file, pieces, 1, len(file.lines), line or 1)
        if moved is not None:
            quote.outcome, quote.similarity = "relocated", 1.0
            quote.found, quote.why = Place(file.path, moved.line), f"it stands at line {moved.line}"
            return True
    return False


def _weight(text: str) -> int:
    return len("".join(text.split()))


def _search(file: SourceFile, pieces: list[str], first: int, last: int, wanted: int) -> Found | None:
    """The occurrence nearest to a line, exact or with white space collapsed."""
    collapsed = file.collapsed
    best: int | None = None
    for start in _occurrences(collapsed, " ".join(pieces[0].split()), first, last):
        line = collapsed.line_at(start)
        if _rest_follows(collapsed, pieces, start) and (best is None or abs(line - wanted) < abs(best - wanted)):
            best = line
    return Found(best, 1.0) if best is not None else None


def _occurrences(collapsed: Collapsed, needle: str, first: int, last: int) -> Iterator[int]:
    text = collapsed.text
    position, stop = collapsed.span(first, last)
    while needle and (position := text.find(needle, position)) >= 0 and position < stop:
        if _is_whole(text, needle, position):
            yield position
        position += max(1, len(needle))


def _is_whole(text: str, needle: str, at: int) -> bool:
    """Whether an occurrence does not begin or end inside a name."""
    before, after = text[at - 1 : at] if at else "", text[at + len(needle) : at + len(needle) + 1]
    cuts_start = _is_word(before) and _is_word(needle[0])
    return not cuts_start and not (_is_word(after) and _is_word(needle[-1]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _rest_follows(collapsed: Collapsed, pieces: list[str], start: int) -> bool:
    """Whether the pieces after an ellipsis stand below the first, in order."""
    position = start + len(" ".join(pieces[0].split()))
    for piece in pieces[1:]:
        needle = " ".join(piece.split())
        position = collapsed.text.find(needle, position)
        while position >= 0 and not _is_whole(collapsed.text, needle, position):
            position = collapsed.text.find(needle, position + 1)
        if position < 0:
            return False
        position += len(needle)
    return True


def _similar(file: SourceFile, pieces: list[str], first: int, last: int) -> Found | None:
    """The run of as many lines in the window that is most like the quote, if it is like enough."""
    if len(pieces) != 1 or len(pieces[0]) > MAX_SIMILAR or last - first > 4000:
        return None
    from rapidfuzz.distance import Indel  # late: most quotes are exact

    wanted = " ".join(pieces[0].split())
    height = len([line for line in pieces[0].split("\n") if line.strip()])
    lines = [
        (n, " ".join(t.split())) for n, t in enumerate(file.lines[max(0, first - 1) : last], max(1, first)) if t.strip()
    ]
    best: Found | None = None
    for start in range(len(lines)):
        for size in {height - 1, height, height + 1} - {0}:
            candidate = " ".join(text for _, text in lines[start : start + size])
            score = Indel.normalized_similarity(wanted, candidate, score_cutoff=MIN_SIMILARITY)
            if score >= MIN_SIMILARITY and (best is None or score > best.similarity):
                best = Found(lines[start][0], score)
    return best


def find_moved(quotes: list[Quote], workspace: Workspace) -> None:
    """Look for quotes that are not in their own file in all other files, in one pass over the tree."""
    wanted = [quote for quote in quotes if _weight(quote.text) >= MIN_MOVED]
    if not wanted:
        return
    found: dict[int, list[Place]] = {index: [] for index in range(len(wanted))}
    searched = 0
    for path in workspace.paths:
        file = workspace.read(path)
        if not isinstance(file, SourceFile) or len(file.text) > MAX_SEARCHED_FILE:
            continue
        searched += len(file.text)
        if searched > MAX_SEARCHED:
            break
        for index, quote in enumerate(wanted):
            if path != quote.path and len(found[index]) < 2 and (place := _anywhere(file, quote)):
                found[index].append(place)
    for index, places in found.items():
        if len(places) == 1:
            wanted[index].found = places[0]


def _anywhere(file: SourceFile, quote: Quote) -> Place | None:
    for pieces in readings(quote.text):
        hit = _search(file, pieces, 1, len(file.lines), 1)
        if hit is not None:
            return Place(file.path, hit.line)
    return None
