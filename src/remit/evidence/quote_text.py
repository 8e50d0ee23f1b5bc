"""Read the text of a quote: line numbers, the sides of a diff, ellipses and typography."""

from __future__ import annotations

import re
from itertools import pairwise

from remit.lazy import lazy_pattern

_COMMENT = r"(?://+|#+|--+|;+|%+|/\*+|\{/\*|\(\*|<!--|\*|')"
_DOTS = r"(?:\.{3,}|…|⋮|···)"
#: A line that stands for omitted lines; `...state,` is code, `... the rest` and `// ...the rest` are not.
_ELLIPSIS = lazy_pattern(
    rf"\s*+(?:{_COMMENT}\s*+{_DOTS}.{{0,120}}|[(\[{{<]\s*+(?:{_DOTS}(?![\w$])|{_DOTS}?(?:snip|omitted|truncated)\b).{{0,120}}[)\]}}>]\s*+|"
    rf"{_DOTS}(?:[)\]}}>*/]*+|\s.{{0,120}}))$"
)
#: Every such line contains one of these.
_SIGNS_OF_ELLIPSIS = ("...", "…", "⋮", "···", "snip", "omitted", "truncated")
#: The separators between a line number and the line; a quote uses one of them throughout.
_NUMBERED = tuple(
    lazy_pattern(rf"\s*+(?:[>*]\s*+)?[Ll]?(\d{{1,7}})(?:[-–][Ll]?\d{{1,7}}(?=:))?(?:{mark})(.*)$")
    for mark in (r"\s*+[|│┃▏→]\s?", r"\t", r"[:\])-]\s?", r"\.(?:\s|$)", r"\s++|$")
)
_DIFF_HEAD = lazy_pattern(r"(?:diff --git |index [0-9a-f]{4,}\.|--- \S|\+\+\+ \S|\\ No newline)")
_HUNK = lazy_pattern(r"@@ .*")
#: What editors and chat programs turn quotes and spaces into.
INVISIBLE = "\u200b\u2060\ufeff"
TYPOGRAPHY = str.maketrans("“”„‘’‚", "\"\"\"'''", INVISIBLE)
#: A note that an author adds at the end of a quoted line: `limit = 5  ← too low`, `- a rule  // ← hardcoded`.
_NOTE = lazy_pattern(
    r"(?m)\s++(?:(?://+|#|--+|;|%|/\*+|<!--)\s*+[←⬅👈⚠❌✅✓✗🔴🟡🟢▲◀]|(?<=\s\s)(?:[←⬅👈◀]|<--+|<==+)(?=[\ufe0f\s]))[^\n]*+$"
)
_SIGNS_OF_NOTE = ("←", "⬅", "👈", "⚠", "❌", "✅", "✓", "✗", "🔴", "🟡", "🟢", "▲", "◀", "<--", "<==")
#: Escapes that Markdown and HTML force on code outside a fence.
_ESCAPES = lazy_pattern(r"\\([_*|<>`#\[\](){}~!&$])|&(lt|gt|amp|quot|apos|nbsp|#39|#x27);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "#39": "'", "#x27": "'"}

#: Lines and arrows of a diagram, and text without the signs of code.
_DRAWN = lazy_pattern(r"[├└┌┐┘┤┬┴┼╔╗╚╝║▼▲↓↑]|(?:^|\s)[→⇒⟶]\s|^\s*(?:\|--|\+--|`--)")
_STEP = lazy_pattern(r"\s*(?:\d{1,3}[.)]|(?i:step)\s\d{1,3}\s?[.:)–—-]?)\s+[^;{}()=<>\[\]_$@|\\]+$")
_NUMBERED_STEP = lazy_pattern(r"\s*+(\d{1,2})[.)]\s")
_SENTENCE = lazy_pattern(r"\s*(?:[-*•]\s+)?[^\W\d_a-zа-я][^;{}()=<>\[\]_$@|\\]*$")
_SMALL_WORD = lazy_pattern(r"(?<![\w.])[^\W\d_A-Z]{2,}(?![\w.]\w)")
_MIN_SMALL_WORDS = 3
#: A line of the output of a program or of its tests: `Expected: 502`, `TypeError: x is null`.
_RESULT = lazy_pattern(
    r"\s*+(?:[A-Z]\w{0,40}(?:Error|Exception)|Error|Expected|Received|Actual|FAIL(?:ED)?|PASS(?:ED)?|panicked at)\s?:\s"
)
_MAX_LINES = 200


def is_code(text: str) -> bool:
    """Return whether a text may be code: no diagram and no output, and it does not mostly have sentences or steps."""
    lines = [line for line in text.split("\n")[:_MAX_LINES] if line.strip()]
    if any(_DRAWN.search(line[:_MAX_LINES]) or _RESULT.match(line) for line in lines):
        return False
    steps = [number for line in lines if (number := _step_number(line))]
    if len(steps) > 1 and steps == list(range(1, len(steps) + 1)):
        return False
    return 2 * sum(map(_is_sentence, lines)) <= len(lines)


def _step_number(line: str) -> int:
    """Return the number of a step of a list, `1. SELECT count`, or 0."""
    match = _NUMBERED_STEP.match(line)
    return int(match[1]) if match else 0


def _is_sentence(line: str) -> bool:
    line = line[:_MAX_LINES]
    if _STEP.match(line):
        return True
    return bool(_SENTENCE.match(line)) and len(_SMALL_WORD.findall(line)) >= _MIN_SMALL_WORDS


def quote_readings(text: str) -> list[list[str]]:
    """Return every reading of a quote: the pieces between its ellipses, with white space collapsed by line."""
    lines = text.split("\n")
    styles = _NUMBERED if any(_may_be_numbered(line) for line in lines) else ()
    bases = [lines, *(plain for style in styles if (plain := _without_numbers(lines, style)) is not None)]
    sides = [*bases, *(side for base in bases for side in _sides(base))]
    straight = undo_typography(text)
    sides += [straight.split("\n")] if straight != text else []
    readings = [pieces for side in sides if (pieces := _pieces(side))]
    return [pieces for index, pieces in enumerate(readings) if pieces not in readings[:index]]


def undo_typography(text: str) -> str:
    """Return a text with straight quotes, without invisible characters and without escapes of Markdown and HTML."""
    straight = text if text.isascii() else text.translate(TYPOGRAPHY)
    if "\\" not in straight and "&" not in straight:
        return straight
    return _ESCAPES.sub(lambda match: match[1] or _ENTITIES[match[2]], straight)


def without_notes(text: str, source: str) -> str:
    """Return a quote without the notes of its author at the ends of lines: marks that its source does not have."""
    signs = [sign for sign in _SIGNS_OF_NOTE if sign in text]
    if not signs or any(sign in source for sign in signs):
        return text
    return _NOTE.sub("", text)


def is_ellipsis(line: str) -> bool:
    """Return whether a line stands for omitted lines."""
    return any(sign in line for sign in _SIGNS_OF_ELLIPSIS) and bool(_ELLIPSIS.match(line))


def _may_be_numbered(line: str) -> bool:
    return line.lstrip().lstrip(">*").lstrip().lstrip("Ll")[:1].isdecimal()


def _without_numbers(lines: list[str], style: re.Pattern[str]) -> list[str] | None:
    """Return the lines without their numbers, if all of them are numbered and the numbers ascend."""
    plain: list[str] = []
    numbers: list[int] = []
    for line in lines:
        match = style.match(line)
        if match:
            numbers.append(int(match[1]))
            plain.append(match[2])
        elif line.strip() and not is_ellipsis(line):
            return None
        else:
            plain.append(line)
    if style is _NUMBERED[-1] and any(other - number != 1 for number, other in pairwise(numbers)):
        return None  # `77 => x` alone, or numbers that do not follow each other, are code
    is_one = style is _NUMBERED[-1] and len(numbers) == 1
    return plain if numbers and not is_one and all(number < other for number, other in pairwise(numbers)) else None


def _sides(lines: list[str]) -> list[list[str]]:
    """Return the old side of a diff, and the new side if lines were added; no side if it is not a diff."""
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
