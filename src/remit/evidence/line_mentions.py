"""Lines that a text mentions without a file: `line 12`, `(lines 12-18)`, `L12`, `:12`.

Labels of findings look like lines: `L3` is the third finding of low severity. A text that numbers its findings starts
headings, entries of lists, bold lines or the first cells of rows with these labels, as 1, 2, 3.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from remit.evidence.file_names import CJK
from remit.evidence.line_numbers import DASH, LINE_IN_OTHERS, LINE_WORDS, MAX_LINE
from remit.evidence.line_ranges import COUNTS, is_count_next, measures
from remit.evidence.segments import Segment
from remit.evidence.written import may_cite
from remit.lazy import lazy_any, lazy_pattern

_NUMBER = rf"[~≈]?L?(?!0\d)\d{{1,6}}(?:\s?(?:{DASH}|[~～〜]|\bto\b|\bthrough\b)\s?L?\d{{1,6}})?"
_REMARK = r"\s?\([^()\d\n]{1,60}\)"
_LIST = (
    rf"{_NUMBER}(?:(?:(?:,\s?(?:and\s|&\s)?|\s(?:and|&|vs\.?|y|e|und|et|и)\s|\s?/\s?)|{_REMARK}(?:,\s|\sand\s))"
    rf"{_NUMBER}){{0,19}}"
)
#: Nothing may follow that makes the number a part of something else.
_AFTER = r"(?!(?!(?-i:[をのはがにでと付]))[\w%]|[.:]\d|-[\w])"
#: With regard to case, which these scripts do not have: else each of their characters is folded, which takes long.
_CJK = rf"(?-i:[{CJK}])"
_OPENS = rf"(?-i:[`(（【「，、；：{CJK}])"
#: `Lines changed: 12-18` states lines; `Lines changed: 120` is a count.
_DONE = r"(?: (?:changed|modified|affected|edited|touched|updated))?"
_HINT = lazy_pattern(
    rf"(?:lines?{_DONE}|\bl\.|{LINE_WORDS})\W{{0,4}}\d|\bL\d|(?:[,/\s]|{_OPENS}):\d|`\d|行", re.IGNORECASE
)
#: Matches wherever `_HINT` does, and takes a tenth of the time to compile: most reports need only this one.
_MAYBE = lazy_any(
    lazy_pattern(
        r"(?:lines?(?: [a-z]{4,6}ed)?|\bl\.)\W{0,4}\d|\bL\d|(?-i:[^!-'*+.0-9:-_a-~)\-]):\d|`\d|行", re.IGNORECASE
    ),
    LINE_IN_OTHERS,
)
#: The same for a printable ASCII text in lower case. Each branch starts with one letter or sign, so that the search
#: skips all other characters: it takes a tenth of the time.
_ASCII_MAYBE = lazy_pattern(
    r"l(?:i(?:nes?(?: [a-z]{4,6}ed)?|neas?|nhas?|gnes?|nij[aeiu](?:ma)?)\W{0,4}\d|(?<=\bl)\.\W{0,4}\d|(?<=\bl)\d)|"
    r"zeilen?\W{0,4}\d|rig(?:a|he)\W{0,4}\d|satir\W{0,4}\d|baris\W{0,4}\d|`:?\d|\(:\d|,:\d|/:\d| :\d"
)
_ROW = rf"\d{{1,6}}(?:\s?(?:{DASH}|[~～〜至到])\s?第?\s?\d{{1,6}})?"
_MENTION = lazy_pattern(
    rf"(?<![\w\-.])(?P<word>(?:lines?{_DONE}|ln)(?!\d)|l(?=\.\s?\d)|{LINE_WORDS})[*_]{{0,2}}\.?\s?(?P<sign>[#:]?)[*_]{{0,2}}\s?[`*_]{{0,2}}(?P<listed>{_LIST}){_AFTER}"
    rf"|(?<![\w/.\-:#@])(?P<letter>(?:L(?!0)\d{{2,6}}+(?:{DASH}L?\d{{1,6}}+)?+|L[1-9]{DASH}L?\d{{1,6}}+)"
    rf"(?:(?:\s?[/,、，]\s?L|/)\d{{1,6}}+(?:{DASH}L?\d{{1,6}}+)?+){{0,19}}+)(?![\w.\-/]\w|\w)"
    rf"|(?:(?<={_OPENS})|(?<=\bat\s)|(?<=[+&]\s)|(?<=[`\d](?:,|/)\s)|(?<={_CJK}\s)|(?P<loose>(?<=\w\s))):"
    rf"(?P<colon>\d{{1,6}}(?:{DASH}\d{{1,6}})?(?:[/,]:?\d{{1,6}}(?:{DASH}\d{{1,6}})?){{0,9}})(?![\w.:%]\w|\w)"
    rf"|(?<!\w)行(?:号|番号)?\s?[:：]?\s?(?P<labelled>{_ROW}(?:\s?[,，、和]\s?{_ROW}(?!\s?[个個件处処])){{0,19}})(?![\w%.])"
    rf"|第\s?(?P<row>{_ROW}(?:\s?[,，、和]\s?第?\s?{_ROW}){{0,19}})\s?行"
    rf"|(?<!\d)(?P<rows>\d{{1,6}}(?:\s?(?:{DASH}|[~～〜])\s?\d{{1,6}})?)\s?行目"
    rf"|(?<=[(（])(?P<span>\d{{1,6}}\s?{DASH}\s?\d{{1,6}})\s?行(?=[)）])",
    re.IGNORECASE,
)
_IN_BRACKETS = lazy_pattern(r"\([^()]*+\)")
_DASHED = lazy_pattern(DASH)
_RANGE = lazy_pattern(rf"(\d{{1,6}})(?:\s?(?:{DASH}|[~～〜至到]|to|through)\s?第?\s?L?(\d{{1,6}}))?", re.IGNORECASE)
#: Words that give a number another owner: `line 12 of the log`, `line 3 in this plan`.
_OTHER_OWNER = lazy_pattern(
    r"[)\]`*]{0,3}\s(?:(?:of|from)\s(?!(?:the|this|that|its|same|said)\s(?:same\s)?(?:file|module|source|script)\b|it\b)"
    r"|in\s(?:the\s|this\s|that\s|your\s|my\s)?(?:\w{1,20}\s)?"
    r"(?:output|log|logs|trace|traceback|document|doc|docs|spec|ticket|issue|plan|diff|report|transcript|response|table|prompt)\b)",
    re.IGNORECASE,
)
_OTHER_LINE = lazy_pattern(
    r"(?:total|command|workflow|plan|spec|design|log|tag|subject|status|product|bus|phone|punch|first|last|top|bottom|dead|base)[\s-]$",
    re.IGNORECASE,
)
#: A format, not a line: `{:02}`.
_FORMAT = lazy_pattern(r"\W*0\d")
_PORT = lazy_pattern(
    r"\b(?:ports?|listen(?:s|ing)?(?:\son)?|localhost|bind(?:s|ing)?(?:\sto)?|tcp|udp)\W{0,4}$|\bdefaults?(?:\sto)?\s`$",
    re.IGNORECASE,
)
_PORT_AFTER = lazy_pattern(
    r"`?\s(?:(?:HTTPS?|gRPC|TCP|UDP|API|admin|metrics|web|health)\s){0,2}(?:server|port|listener)\b",
    re.IGNORECASE,
)
_MIN_PORT = 4
#: An ID in a table or heading: `L2-1`. A line has two digits or a second L.
_ID = lazy_pattern(r"L\d[-–]\d", re.IGNORECASE)
_LOOK_BACK = 40
_JOINED_LAST = lazy_pattern(r"\b(?:and|y|und|et)\s\d++$|&\s\d++$", re.IGNORECASE)
_MIN_LIST = 2
_QUOTES = ('"', "“", "”", "„", "«", "»")
#: A label at the start of a text: `### L3 — title`, `- **L3.** title`, `| L3 |`, `**[L3] title**`.
_LABEL = lazy_pattern(r"[\s*_`\[(#]*+([A-Z])-?(\d{1,3})(?=[\s*_`\])]*+(?:$|[:：.)—–|-](?!\d)|[^\W\d_]))")
_MARKER = lazy_pattern(r"\s*+(?:(?:[-+*]|\d{1,9}[.)])\s++)?+(?:\[[ xX]\]\s++)?+")
_BOLD = ("**", "__")
#: The same labels inside a text, also as a range: `L1-L3`. A path, an anchor and `:L3` are not labels.
_USE = lazy_pattern(rf"(?<![\w/.#:\-@])L-?(\d{{1,3}})((?:\s?{DASH}\s?L?\d{{1,3}})?)(?!\w|[/.]\w|-[\w-]*\.\w)")
#: A range of labels from the first one: `H1-H5`.
_LABEL_RANGE = lazy_pattern(rf"(?<![\w/.#:\-@])([A-Z])-?1\s?{DASH}\s?\1-?(\d{{1,2}})(?!\w|[/.]\w)")
#: A text without this has no label with L.
_L_LABEL = lazy_pattern(r"L-?\d")
_L_RANGE = lazy_pattern(rf"(?<![\w/.#:\-@])L-?1\s?{DASH}\s?L")
#: This many labels in sequence are a numbering, and one is if the text has labels with other letters: `H1`, `M1`.
_SEQUENCE = 3
#: At most this many numbers of a sequence may be missing: findings that were withdrawn.
_MISSING = 2


class Mention(msgspec.Struct, frozen=True):
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
        listed = next(filter(None, found.group("listed", "letter", "colon", "labelled", "row", "rows", "span")))
        if found["word"]:
            word = found["word"].lower()
            is_count = word in COUNTS and found["sign"] == ":" and listed.isdigit()
            is_count |= " " in word and not _DASHED.search(listed)
            if is_count or measures(text, end) or _OTHER_LINE.search(text, max(0, start - _LOOK_BACK), start):
                continue
        if found["colon"] and (_FORMAT.match(listed) or _PORT.search(text, max(0, start - _LOOK_BACK), start)):
            continue
        if found["colon"] and len(listed) >= _MIN_PORT and listed.isdigit() and _PORT_AFTER.match(text, end):
            continue
        if found["letter"] and has_ids and _ID.match(listed):
            continue
        if text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES:
            continue  # another text states it
        if not _OTHER_OWNER.match(text, end):
            ranges = ranges_in(_IN_BRACKETS.sub("", listed) if "(" in listed else listed)
            if found["word"] and len(ranges) > 1 and is_count_next(text, end) and not _is_last_of_list(listed, ranges):
                ranges = ranges[:-1]
            yield Mention(
                start, end, ranges, found["loose"] is not None, found["colon"] is not None, found["letter"] is not None
            )


def _is_last_of_list(listed: str, ranges: tuple[tuple[int, int | None], ...]) -> bool:
    """Return whether the last number of a list is a line before a verb: `lines 12, 18 and 30 call it`."""
    is_ascending = ranges[-1][0] > ranges[-2][0]
    return is_ascending and (len(ranges) > _MIN_LIST or _JOINED_LAST.search(listed) is not None)


def without_line_mentions(text: str) -> str:
    """Return a text whose line numbers belong to no file that is named elsewhere: `line 12` becomes `line no. 12`."""
    return _MENTION.sub(_separated, text) if has_hint(text) else text


def _separated(found: re.Match[str]) -> str:
    whole = found[0]
    if found["row"] or found["rows"] or found["labelled"] or found["span"]:
        return whole.replace("行", "・行", 1)
    first = next(at for at, character in enumerate(whole) if character.isdigit())
    return f"{whole[:first].rstrip()} no. {whole[first:]}"


def ranges_in(listed: str) -> tuple[tuple[int, int | None], ...]:
    """Return the lines and ranges of a list: `12, 15-18`."""
    ranges: list[tuple[int, int | None]] = []
    for first, last in (one.groups() for one in _RANGE.finditer(listed)):
        start = min(int(first), MAX_LINE)
        # A number inside the range before it is not a line: `lines 1-342, 4 channels`.
        if not ranges or not ranges[-1][0] <= start <= (ranges[-1][1] or 0):
            ranges.append((start, int(last) if last else None))
    return tuple(ranges)


def has_hint(text: str) -> bool:
    """Return whether a text may state a line without its file."""
    if not may_cite(text):
        return False
    is_plain = text.isascii() and text.isprintable()
    maybe = _ASCII_MAYBE.search(text.lower()) if is_plain else _MAYBE.search(text)
    return maybe is not None and _HINT.search(text) is not None


def without_label_ids(pieces: list[Segment], text: str) -> list[Segment]:
    """Return the segments of a text with labels of findings that cannot be read as lines: `L3` becomes `I3`."""
    if not _L_LABEL.search(text) or not (ids := _ids(pieces)):
        return pieces
    return [_masked(piece, ids) if piece.kind != "code" and "L" in piece.text else piece for piece in pieces]


def _label_ranges(pieces: list[Segment]) -> dict[str, int]:
    """Return the last numbers of the ranges of labels that start with 1: `criticals (C1-C3), lows (L1-L10)`."""
    last: dict[str, int] = {}
    texts = [piece.text for piece in pieces if piece.kind != "code" and ("L1" in piece.text or "L-1" in piece.text)]
    if not any(map(_L_RANGE.search, texts)):
        return last
    for piece in pieces:
        for found in _LABEL_RANGE.finditer(piece.text) if piece.kind != "code" else ():
            last[found[1]] = max(last.get(found[1], 0), int(found[2]))
    return last


def _ids(pieces: list[Segment]) -> frozenset[int]:
    """Return the numbers of the labels with L; none if they do not number anything."""
    found: dict[str, set[int]] = defaultdict(set)
    for letter, number in _labels(pieces):
        found[letter].add(number)
    listed = _label_ranges(pieces)
    if len(listed) > 1:
        found["L"].update(range(1, listed.get("L", 0) + 1))
    numbers = found.pop("L", set())
    if not numbers or max(numbers) > len(numbers) + _MISSING:
        return frozenset()
    has_others = any(max(others) <= len(others) + _MISSING for others in found.values())
    return frozenset(numbers) if has_others or len(numbers) >= _SEQUENCE else frozenset()


def _labels(pieces: Iterable[Segment]) -> Iterator[tuple[str, int]]:
    """Yield the letter and the number of each label at the start of a heading, an entry, a bold line or a row."""
    row = 0
    for piece in pieces:
        text = piece.text
        if piece.kind == "cell":
            is_first, row = piece.row != row, piece.row
            if not is_first:
                continue
        elif piece.kind == "item" and piece.starts_item:
            text = _MARKER.sub("", text, count=1)
        elif piece.kind != "heading" and not text.lstrip().startswith(_BOLD):
            continue
        label = _LABEL.match(text)
        if label and (piece.kind != "cell" or not text[label.end() :].strip("*_`]) ")):
            yield label[1], int(label[2])


def _masked(piece: Segment, ids: frozenset[int]) -> Segment:
    def mask(use: re.Match[str]) -> str:
        whole = use[0]
        return whole.replace("L", "I") if int(use[1]) in ids else whole

    # In code, only a label alone is one: `L3`, but not `L3 = 5`.
    parts = piece.text.split("`")
    masked = (_USE.sub(mask, one) if at % 2 == 0 or _USE.fullmatch(one) else one for at, one in enumerate(parts))
    return replace(piece, text="`".join(masked))
