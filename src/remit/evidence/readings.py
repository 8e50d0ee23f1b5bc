"""What a quoted text may mean: as written, without line numbers, or one side of a diff."""

from __future__ import annotations

import re
from itertools import pairwise

from remit.contract.expressions import expression

_COMMENT = r"(?://+|#+|--+|;+|%+|/\*+|\{/\*|\(\*|<!--|\*|')"
_DOTS = r"(?:\.{3,}|…|⋮|···)"
#: A line that stands for any lines; `...state,` is code, `... the rest` and `// ...the rest` are not.
_ELLIPSIS = expression(
    rf"\s*+(?:{_COMMENT}\s*+{_DOTS}.{{0,120}}|[(\[{{<]\s*+(?:{_DOTS}|snip\b|omitted\b).{{0,120}}[)\]}}>]\s*+|"
    rf"{_DOTS}(?:[)\]}}>*/]*+|\s.{{0,120}}))$"
)
#: One of these is in every such line.
_SIGNS_OF_ELLIPSIS = ("...", "…", "⋮", "···", "snip", "omitted")
#: What may stand between a line's number and the line; one of them all the way down.
_NUMBERED = tuple(
    expression(rf"\s*+(?:[>*]\s*+)?[Ll]?(\d{{1,7}})(?:{mark})(.*)$")
    for mark in (r"\s*+[|│┃▏→]\s?", r"[:\])-]\s?", r"\.(?:\s|$)", r"\s++|$")
)
_DIFF_HEAD = expression(r"(?:diff --git |index [0-9a-f]{4,}\.|--- \S|\+\+\+ \S|\\ No newline)")
_HUNK = expression(r"@@ .*")


def readings(text: str) -> list[list[str]]:
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
