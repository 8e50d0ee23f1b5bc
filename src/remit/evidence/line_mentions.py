"""Lines that a text mentions without a file: `line 12`, `(lines 12-18)`, `L12`, `:12`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.evidence.file_names import CJK
from remit.evidence.line_ranges import COUNTS, LINE_WORDS, MAX_LINE, is_count_next
from remit.lazy import lazy_pattern

_DASH = "[-–—‑]"
_NUMBER = rf"[~≈]?L?(?:\d{{1,6}})(?:\s?(?:{_DASH}|\bto\b|\bthrough\b)\s?L?\d{{1,6}})?"
_REMARK = r"\s?\([^()\d\n]{1,60}\)"
_LIST = (
    rf"{_NUMBER}(?:(?:(?:,\s?(?:and\s|&\s)?|\s(?:and|&|vs\.?|y|e|und|et|и)\s|\s?/\s?)|{_REMARK}(?:,\s|\sand\s))"
    rf"{_NUMBER}){{0,19}}"
)
#: Nothing may follow that makes the number a part of something else.
_AFTER = r"(?![\w%]|[.:]\d|-[\w])"
#: With regard to case, which these scripts do not have: else each of their characters is folded, which takes long.
_CJK = rf"(?-i:[{CJK}])"
_OPENS = rf"(?-i:[`(（【「，、；：{CJK}])"
_HINT = lazy_pattern(rf"(?:lines?|{LINE_WORDS})\W{{0,4}}\d|\bL\d|(?:[,/\s]|{_OPENS}):\d|`\d|行", re.IGNORECASE)
#: Matches wherever `_HINT` does, and takes a tenth of the time to compile: most reports need only this one.
_MAYBE = lazy_pattern(rf"(?:lines?|{LINE_WORDS})\W{{0,4}}\d|\bL\d|(?-i:[^!-'*+.0-9:-_a-~)\-]):\d|`\d|行", re.IGNORECASE)
_ROW = rf"\d{{1,6}}(?:\s?(?:{_DASH}|[~～〜至到])\s?第?\s?\d{{1,6}})?"
_MENTION = lazy_pattern(
    rf"(?<![\w\-.])(?P<word>(?:lines?|ln)(?!\d)|{LINE_WORDS})[*_]{{0,2}}\.?\s?(?P<sign>[#:]?)[*_]{{0,2}}\s?[`*_]{{0,2}}(?P<listed>{_LIST}){_AFTER}"
    rf"|(?<![\w/.\-:#@])(?P<letter>(?:L(?!0)\d{{2,6}}+(?:{_DASH}L?\d{{1,6}}+)?+|L[1-9]{_DASH}L?\d{{1,6}}+)"
    rf"(?:\s?[/,、，]\s?L\d{{1,6}}+(?:{_DASH}L?\d{{1,6}}+)?+){{0,19}}+)(?![\w.\-/]\w|\w)"
    rf"|(?:(?<={_OPENS})|(?<=\bat\s)|(?<=[+&]\s)|(?<=[`\d](?:,|/)\s)|(?<={_CJK}\s)|(?P<loose>(?<=\w\s))):"
    rf"(?P<colon>\d{{1,6}}(?:{_DASH}\d{{1,6}})?(?:[/,]:?\d{{1,6}}(?:{_DASH}\d{{1,6}})?){{0,9}})(?![\w.:%]\w|\w)"
    rf"|第\s?(?P<row>{_ROW}(?:\s?[,，、和]\s?第?\s?{_ROW}){{0,19}})\s?行"
    rf"|(?<!\d)(?P<rows>\d{{1,6}}(?:\s?(?:{_DASH}|[~～〜])\s?\d{{1,6}})?)\s?行目",
    re.IGNORECASE,
)
_IN_BRACKETS = lazy_pattern(r"\([^()]*+\)")
_RANGE = lazy_pattern(rf"(\d{{1,6}})(?:\s?(?:{_DASH}|[~～〜至到]|to|through)\s?第?\s?L?(\d{{1,6}}))?", re.IGNORECASE)
#: Words that give a number another owner: `line 12 of the log`, `line 3 in this plan`.
_OTHER_OWNER = lazy_pattern(
    r"[)\]`*]{0,3}\s(?:(?:of|from)\s(?!(?:the|this|that|its|same|said)\s(?:same\s)?(?:file|module|source|script)\b|it\b)"
    r"|in\s(?:the\s|this\s|that\s|your\s|my\s)?(?:\w{1,20}\s)?"
    r"(?:output|log|logs|trace|traceback|document|doc|docs|spec|ticket|issue|plan|diff|report|transcript|response|table|prompt)\b)",
    re.IGNORECASE,
)
_OTHER_LINE = lazy_pattern(
    r"(?:command|workflow|plan|spec|design|log|tag|subject|status|product|bus|phone|punch|first|last|top|bottom|dead|base)[\s-]$",
    re.IGNORECASE,
)
_PORT = lazy_pattern(
    r"\b(?:ports?|listen(?:s|ing)?(?:\son)?|localhost|bind(?:s|ing)?(?:\sto)?|tcp|udp)\W{0,4}$", re.IGNORECASE
)
#: An ID in a table or heading: `L2-1`. A line has two digits or a second L.
_ID = lazy_pattern(r"L\d[-–]\d", re.IGNORECASE)
_LOOK_BACK = 40


class Mention(NamedTuple):
    """Lines that a text mentions, and where."""

    start: int
    end: int
    ranges: tuple[tuple[int, int | None], ...]
    #: Whether only a word precedes it: `the check :72`. It is a line only next to another line of the file.
    is_loose: bool = False
    #: Whether it is written as `:12`, and as `L12`.
    is_colon: bool = False
    is_letter: bool = False


def mentions_in(text: str, *, has_ids: bool) -> Iterator[Mention]:
    """Yield the lines in a text. In a cell or heading, which may have IDs, `L2-1` is not a line."""
    for found in _MENTION.finditer(text):
        start, end = found.span()
        listed = next(filter(None, found.group("listed", "letter", "colon", "row", "rows")))
        if found["word"]:
            is_count = found["word"].lower() in COUNTS and found["sign"] == ":" and listed.isdigit()
            if is_count or _OTHER_LINE.search(text, max(0, start - _LOOK_BACK), start):
                continue
        if found["colon"] and _PORT.search(text, max(0, start - _LOOK_BACK), start):
            continue
        if found["letter"] and has_ids and _ID.match(listed):
            continue
        if not _OTHER_OWNER.match(text, end):
            ranges = ranges_in(_IN_BRACKETS.sub("", listed) if "(" in listed else listed)
            if found["word"] and len(ranges) > 1 and is_count_next(text, end):
                ranges = ranges[:-1]
            yield Mention(
                start, end, ranges, found["loose"] is not None, found["colon"] is not None, found["letter"] is not None
            )


def without_line_mentions(text: str) -> str:
    """Return a text whose line numbers belong to no file that is named elsewhere: `line 12` becomes `line no. 12`."""
    return _MENTION.sub(_separated, text) if has_hint(text) else text


def _separated(found: re.Match[str]) -> str:
    whole = found[0]
    if found["row"] or found["rows"]:
        return whole.replace("行", "・行", 1)
    first = next(at for at, character in enumerate(whole) if character.isdigit())
    return f"{whole[:first].rstrip()} no. {whole[first:]}"


def ranges_in(listed: str) -> tuple[tuple[int, int | None], ...]:
    """Return the lines and ranges of a list: `12, 15-18`."""
    pairs = (one.groups() for one in _RANGE.finditer(listed))
    return tuple((min(int(first), MAX_LINE), int(last) if last else None) for first, last in pairs)


def has_hint(text: str) -> bool:
    """Return whether a text may state a line without its file."""
    return _MAYBE.search(text) is not None and _HINT.search(text) is not None
