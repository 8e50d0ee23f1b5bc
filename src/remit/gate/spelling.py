"""Whether a word is English. The list is searched on disk: 17 short reads instead of 75,000 words in memory."""

# ruff: noqa: PTH118, PTH120, PTH123
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

#: Sorted, a word a line; where it comes from stands in the same folder.
LIST = os.path.join(os.path.dirname(__file__), "words", "english.txt")


def is_word(word: str) -> bool:
    """Whether it stands in the list, in any case; a possessive counts as its noun."""
    plain = word.lower().removesuffix("'s").removesuffix("\u2019s")
    if not (plain.isascii() and plain.isalpha()) or len(plain) > 40:
        return False
    with open(LIST, "rb", buffering=256) as file:
        return _find(file, plain.encode("ascii"))


def _find(file: BinaryIO, word: bytes) -> bool:
    """Halve the file: `low` is always the start of a line."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while low < high:
        file.seek((low + high) // 2)
        if file.tell() > low:
            file.readline()  # the rest of a line that began before
        start = file.tell()
        line = file.readline() if start < high else b""
        if not line:
            # The middle lies in the last line of the range: read it from its start.
            file.seek(low)
            return any(file.readline().rstrip(b"\n") == word for _ in range(_lines_left(file, low, high)))
        found = line.rstrip(b"\n")
        if found == word:
            return True
        if found < word:
            low = file.tell()
        else:
            high = start
    return False


def _lines_left(file: BinaryIO, low: int, high: int) -> int:
    left = file.read(high - low).count(b"\n")
    file.seek(low)
    return left


def distance(one: str, other: str, most: int = 2) -> int:
    """Damerau's distance: letters put in, left out, changed, or two neighbours swapped. Beyond `most`: `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        older, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            best = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                best = min(best, older[to - 2] + 1)
            row.append(best)
    return min(row[-1], most + 1)
