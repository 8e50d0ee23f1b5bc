"""The lines that are written before or after a path, or alone.

:12  :12-18  :12:5  :12,15  #L12-L18  (12)  , line 12  (lines 12-18)  の12行目  第12行  line 12 of  the 12th line of
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise

import msgspec

from remit.lazy import either, lazy_pattern

#: Larger numbers cannot be lines of a file and are replaced by this one.
MAX_LINE = 999_999_999
Range = tuple[int, int | None]
#: A hyphen, or one of the dashes ‑ ‒ – —. A set of more than two ranges, with a character above U+00FF, takes ten times
#: as long to compile.
DASH = r"[-\u2011-\u2014]"
LINE_WORD = lazy_pattern(r"\b(?:lines?|ln|ll?)\b|\bL\d|行", re.IGNORECASE)
#: A text without one of these does not name a line.
LINE_SIGN = lazy_pattern(
    r"[:#(@\[]|[：（\u2236\ua789]|line|\bl(?:n\.?)?\s?\d|行|row|\+|\bl\.\s?\d",
    re.IGNORECASE,
)
TO_ROW = rf"\s?(?:{DASH}|[~～〜至到]|から)\s?第?\s?"
_LISTED_NUMBERS = r"\d+(?:\s?(?:-|–|—|to|through)\s?\d+)?"
#: The same in a cell, where each number may have its own sign: `L12-L18, ~L40`.
_CELL_LINES = r"[~≈]?L?\d+(?:\s?(?:-|–|—|to|through)\s?L?\d+)?"
_BEFORE = lazy_pattern(
    rf"\b(?:lines?|ll?|ln)\.?\s?[:#]?\s?~?"
    rf"({_LISTED_NUMBERS}(?:(?:,\s?(?:and\s)?|\sand\s|\s?&\s?){_LISTED_NUMBERS}){{0,9}})"
    r"(?:\s(?:of|in|from|at|@)\s(?:(?:the\s)?file\s)?|,\s[*_]{0,2}file[*_]{0,2}:[*_]{0,2}\s)"
    r"[`\"'*_“‘\[]{0,4}$",
    re.IGNORECASE,
)
#: A line in brackets before its path: `(line 12 a/b.py)`.
_DIRECTLY = lazy_pattern(rf"[(（\[]\s?lines?\s({_LISTED_NUMBERS})\s[`\"'*_]{{0,3}}$", re.IGNORECASE)
_ORDINAL = lazy_pattern(r"\b(\d+)(?:st|nd|rd|th)\sline\s(?:of|in|from)\s(?:the\sfile\s)?[`\"'*_]{0,3}$", re.IGNORECASE)
_BRACKETED = lazy_pattern(
    rf"(?:\blines?\s({_LISTED_NUMBERS})|第?(\d+(?:{TO_ROW}\d+)?)\s?行目?)\s?[(（\[][`\"'*]{{0,3}}$",
    re.IGNORECASE,
)
_LISTED_ONE = lazy_pattern(r"(\d+)(?:\s?(?:-|–|—|to|through|[~～〜至到]|から)\s?第?\s?(\d+))?", re.IGNORECASE)
_CLOSES = lazy_pattern(r"[`\"'*]{0,3}[)）\]]")
_LOOK_BACK = 80
_DIGIT = lazy_pattern(r"\d")
_BRACKETED_LINES = lazy_pattern(
    rf"[(\[]L?(\d++)(?:{DASH}L?(\d++)|,\s?\d++)?[)\]]|@L?(\d++)(?![\w.@/\-])", re.IGNORECASE
)
_AT_END = lazy_pattern(rf"[:：#]L?(\d++)(?:{DASH}L?(\d++))?[`*_]{{0,3}}$", re.IGNORECASE)
_ALONE = lazy_pattern(
    rf"\W*+(?:lines?|L)?\s?#?({_CELL_LINES}(?:(?:[,;]\s?(?:and\s)?|\sand\s|\s?&\s?|[、，；]\s?){_CELL_LINES})"
    r"{0,19})(?:\s?[(（][^()（）\d\n]{1,20}[)）])?\W*",
    re.IGNORECASE,
)
#: A call and its line in a cell: "login() at line 12", "`login()` (line 12)"; not "was line 12".
_NAMED = lazy_pattern(
    r"[*\s]*+`?[A-Za-z_]\w{0,80}+\(\)`?[*]*+"
    rf"\s?[(@,:–—-]?\s?(?:at\s|on\s|@\s?)?lines?\s"
    rf"({_CELL_LINES}(?:,\s?{_CELL_LINES}){{0,9}})[)`*.\s]*+",
    re.IGNORECASE,
)
#: A line alone in a comment: `// Line 15: the field`, `# L40-48`, `// 第61行`.
_LINE_COMMENT = lazy_pattern(
    rf"\s*+(?://+|#+|--+|;+|%+|/\*+|\{{/\*|<!--)\s*+(?:lines?[\s:]|L(?=\d{{2}})|第)\s?~?(\d{{1,6}})"
    rf"(?:\s?(?:{DASH}|[至到])\s?L?(\d{{1,6}}))?\s?行?(?=\s*(?:$|{either(':(,*', '：（', '–—')}|-\s|-->))",
    re.IGNORECASE,
)
_COMMENT_SIGNS = ("/", "#", "-", ";", "%", "{", "<")
#: A longer line is not a comment that states where something is.
MAX_COMMENT = 2_000


class LineMention(msgspec.Struct, frozen=True):
    """The lines that a text mentions, and the start and end of the mention."""

    ranges: tuple[Range, ...]
    start: int
    end: int


def lines_before(text: str, start: int, end: int) -> LineMention | None:
    """Return the lines before a path: `line 12 of a/b.py`."""
    before = text[max(0, start - _LOOK_BACK) : start]
    if not _DIGIT.search(before):
        return None
    match = _BEFORE.search(before) or _ORDINAL.search(before)
    if match is None and "/" in text[start:end]:
        match = _DIRECTLY.search(before)
    if match is None and _CLOSES.match(text, end):
        match = _BRACKETED.search(before)
    if match is None:
        return None
    return LineMention(_listed(next(filter(None, match.groups()))), start - len(before) + match.start(), end)


def lines_in_brackets(text: str, start: int) -> LineMention | None:
    """Parse `(12)`, `(12,5)`, `[12-18]` or `@12`, which compilers and editors write."""
    match = _BRACKETED_LINES.match(text, start)
    return LineMention((to_range(match[1] or match[3], match[2]),), start, match.end()) if match else None


def lines_alone(text: str) -> tuple[Range, ...]:
    """Return the lines of a text that contains nothing else, or only a name: `12`, `L12-L18`, `login() at line 12`."""
    match = _ALONE.fullmatch(text) or _NAMED.fullmatch(text) if len(text) <= 200 else None
    return _listed(match[1].replace("L", "").replace("l", "")) if match else ()


def line_in_comment(line: str) -> re.Match[str] | None:
    """Return the line that a comment states without a file, and the end of a range: `# Line 231`, `// Lines 10-14`."""
    is_comment = line.lstrip().startswith(_COMMENT_SIGNS) and len(line) < MAX_COMMENT
    return _LINE_COMMENT.match(line) if is_comment else None


def lines_at_end(text: str) -> tuple[Range, ...]:
    """Return the lines at the end of the text of a link: `login:12`."""
    match = _AT_END.search(text)
    return (to_range(match[1], match[2]),) if match else ()


def to_number(digits: str) -> int:
    """Return the number of a line; a number that no file can have becomes `MAX_LINE`."""
    return int(digits) if len(digits) < 10 else MAX_LINE


def to_range(first: str, last: str | None) -> Range:
    """Return a line or a range, as written: `100-99` runs backwards."""
    return to_number(first), to_number(last) if last else None


def _listed(text: str) -> tuple[Range, ...]:
    return tuple(to_range(match[1], match[2]) for match in _LISTED_ONE.finditer(text))


_CLOSED = r"(?=\s*(?:$|[`)\]|;<]))"
_TILDE = either("~", "〜～")
#: One line or range, with columns; nothing may follow that makes it a version, a percentage or a word.
_ONE = lazy_pattern(
    rf"[~≈]?L?(\d++)(?:C\d++)?(?:(?:{DASH}|{_TILDE}|\.\.\.?)#?L?(\d++)(?:C\d++|:\d++)?(?-i:(?![A-Za-z0-9_]))"
    rf"|:\d++[-–](\d++):\d++|:\d++(?:[-–]\d++)?|ff?(?!\w))?(?-i:(?![A-Za-z0-9%]|_\w|\.(?:\d|[xX](?!\w))|:\d|-[A-Za-z0-9_]))",
    re.IGNORECASE,
)
_NEXT = rf"(?:,\s?(?:and|or)|{either(',;/&', '、，', '和と')}|and|or|及び|および|以及)"

#: A wide colon also comes before a statement: `app.ts`：2 処.
_LISTED = either(r"\d ,~-", "–—", "、", "～〜")
_ANY_COLON = (
    rf"(?::|：(?!\s?`?[~≈]?\d{{1,6}}行(?!目))(?=\s?`?[~≈]?L?\d{_LISTED}{{0,40}}(?:行|$|"
    + either(r"`);|,(\]\n", "（）", "、。", "，；")
    + ")))"
)
_COLON = lazy_pattern(rf"[`*]{{0,3}}{_ANY_COLON}`?(?=[~≈]?L?\d)", re.IGNORECASE)
_LOOSE_COLON = lazy_pattern(rf"[`*]{{0,3}}\s?{_ANY_COLON}\s?(?=[~≈]?L?\d)", re.IGNORECASE)
_MORE_COLON = lazy_pattern(rf"`?\s?{_NEXT}\s?`?[:：](?=L?\d)", re.IGNORECASE)
#: A further line without a colon: `:32, 34 and 52`. `and` before the last one makes the numbers a list.
_LOOSE = lazy_pattern(
    rf"`?(?:,\s(?:(?:and|&|or)\s)?|\s(?:and|&|or)\s)\s?`?(?=\d++(?:{DASH}\d++)?(?![\w%]|\.[a-z]))",
    re.IGNORECASE,
)
_JOINED = lazy_pattern(r"\b(?:and|or)\b|&", re.IGNORECASE)
#: What may follow a list of lines; a number before any other word may be a count: `:32, 34 tests fail`.
_LIST_ENDS = lazy_pattern(r"`|\s*(?:$|[)\]|;:：,(（<—–→]|-\s|\.(?!\d))")
_VERB_FOLLOWS = lazy_pattern(
    r"`?\s++(?:for|are|is|was|were|in|at|on|to|by|as|and|or|but|which|that|where|all|both|each|have|has|do|does|use|uses|"
    r"call|calls|contain|contains|show|shows|should|must|can|may|also|respectively|with|without|not|via)\b",
    re.IGNORECASE,
)
#: What a number before it counts: `line 12, 90 lines`.
_COUNTED = lazy_pattern(
    r"[\s-](?:lines?|loc|rows|tests?|files?|times|methods?|functions?|calls|places|occurrences|errors?|warnings?|"
    r"chars|characters|bytes|tokens|cases)\b",
    re.IGNORECASE,
)
_MEASURED = lazy_pattern(r"[\s-](?:chars?|characters?|columns?|cols|bytes|words|px|wide|long)\b", re.IGNORECASE)
_UP_TO = lazy_pattern(
    rf"`(?:\s?(?!—){DASH}\s?`:?L?|—`:?L?|\s—\s`(?::L?|L))(\d++)`|`{DASH}(\d++)(?![\w.])|`?\s(?:{DASH}|to|through|until)\s`?:L?(\d++)"
    rf"|\s(?:{DASH}|to|through|until)\sL?(\d++)(?=\s*(?:$|[`)\]|;,.<]))",
    re.IGNORECASE,
)
_HASH = lazy_pattern(r"[`*]{0,3}(?:\?plain=1)?#(?=L\d)", re.IGNORECASE)
_PLAIN_HASH = lazy_pattern(r"#(?=\d++(?![\w.\-/#]))")
_MORE_HASH = lazy_pattern(r"`?\s?(?:,|;|&|and|or)\s?`?#?(?=L\d)", re.IGNORECASE)

#: `file=a/b.py,line=12` is a line; `a.csv lines=12` is a number of them.
_WORDS = lazy_pattern(
    r"[`\"'”’*_)\]]{0,3}(?:\s{0,2}(?:[,:：–—@→|]|-{1,2}>?)\s{0,2}|\s{1,2})?[(\[（]?\s?[`*_\"']{0,3}"
    r"((?:(?:see|at|on|in|around|near|about|approx\.?|approximately|from|starting|beginning|between|ab|à)"
    r"\s){0,3})"
    r"[`*_]{0,3}[~≈]?"
    r"(lines?|ln|ll?)[`*_\"']{0,3}\.?\s?(?:[:#]|(?<=line)=)?\s?[`*_\"']{0,3}\s?(?=[~≈]?\d)",
    re.IGNORECASE,
)
#: A description, not a line: `proxy.cfg`: L4 proxy, `store.py` (L1/L2 cache). `L0` is never a line.
_LAYER = lazy_pattern(
    r"[`\"'”’*_)\]]{0,3}(?:\s{0,2}(?:[:：–—→]|-{1,2}>?)\s{1,2}|\s{1,2}[(（]?)(?-i:L)\d(?:\s?[/&,]\s?L\d|\sand\sL\d){0,4}\s+[A-Za-z]",
    re.IGNORECASE,
)
_WORD_RANGE = lazy_pattern(r"\s(?:to|through|until)\sL?(\d++)(?!\w|\.\w)", re.IGNORECASE)
_SPACED_RANGE = lazy_pattern(rf"\s{DASH}\s(\d++)(?!\w|\.\w)")
_BOTH = lazy_pattern(r"\sand\s(\d++)(?!\w|\.\w)", re.IGNORECASE)
_MORE_WORDS = lazy_pattern(
    rf"`?\s?(?:{_NEXT}|vs\.?(?=\s))\s?(?:lines?\s|L)?`?(?=\d|[~≈]\d++\s?[`*]{{0,3}}[)\],;])",
    re.IGNORECASE,
)
#: A remark on a range of a list: `Lines 12-18 (setup) and 30-34`.
_REMARKED = lazy_pattern(
    rf"\s?\([^()\d\n]{{1,60}}\)(?:\s?,\s?(?:and\s)?|\s(?:and|&)\s)`?(?=\d++{DASH}\d)", re.IGNORECASE
)
_MORE_OF_LINE = lazy_pattern(r",\s(?=\d)")
_WORDS_END = lazy_pattern(r"[`*_\"']{0,3}[)\]）]?")
_NEXT_PATH = lazy_pattern(r"\s(?:of|in|from)\s(?:(?:the\s)?file\s)?[`\"'*_(\[]{0,3}([\w./\\@+\-$~]++)", re.IGNORECASE)
_CODE_ENDS = lazy_pattern(r"[)\];]{0,3}`")
#: `(line 12 c/d.py)`
_NEXT_DIRECTLY = lazy_pattern(r"\s[`\"'*_]{0,3}((?>(?:[\w.\\@+\-$~]++/)+)[\w.\\@+\-$~]++)")

_ROW = lazy_pattern(rf"(\d++)(?:{TO_ROW}(\d++))?")
_ROWS = lazy_pattern(
    r"[`\"'*_)\]」』】]{0,3}\s?(?:ファイル|文件)?(?:の|的|中的|中|里的|里)?[\s、，,:：]{0,2}[(（]?\s?(?:第|约|約)?\s?(?=\d)"
)
_ABOUT = lazy_pattern("[约約]")
_ROW_WORD = lazy_pattern(r"\s?行目?")
_MORE_ROWS = lazy_pattern(r"\s?(?:、|，|,|と|和|及び|および|以及)\s?第?\s?(?=\d)")
_ROWS_LABEL = lazy_pattern(r"[`\"'*_)\]」』】]{0,3}[\s、，,:：(（]{0,3}行(?:番号|号)?\s?[:：]?\s?(?=\d)")
_ROWS_END = lazy_pattern(r"[)）]?")

#: The first digit of a line is at most this far behind its path.
_LOOK_AHEAD = 200
#: The next line of a list is at most this far behind the one before it.
_REACH_OF_LIST = 16
#: What continues a range or a list; of a word, its first letters.
_RANGE_SIGNS = (*"-‑‒–—", "to", "th", "un")
_LIST_SIGNS = (*",;/&、，和と及お以", "an", "or")

_RANGE_IN_BRACKETS = lazy_pattern(rf"[`*]{{0,3}}\s[(\[][~≈]?L?(\d++){DASH}L?(\d++)[)\]](?!/\d)", re.IGNORECASE)
#: `a.js` (248,278,296).
_LIST_IN_BRACKETS = lazy_pattern(r"[`*]{0,3}\s\((\d{2,6}(?:,\s?\d{2,6}){1,19})\)")
#: Years, not lines: `report.py` (2024-2025).
_YEARS = range(1990, 2040)
_MAX_YEARS = 5


def lines_after(text: str, start: int, *, in_column: bool = False, is_source: bool = False) -> LineMention | None:
    """Return the lines directly after a path that ends at `start`.

    In a location column a space may follow the colon. After the name of a source file, `#12` is a line.
    """
    if not _DIGIT.search(text, start, start + _LOOK_AHEAD):
        return None
    return (
        _after_colon(text, start, _COLON)
        or _after_hash(text, start, is_source=is_source)
        or _after_words(text, start)
        or _after_brackets(text, start)
        or _after_rows(text, start)
        or (_after_colon(text, start, _LOOSE_COLON) if in_column else None)
    )


@lru_cache(4)
def _code_marks(text: str) -> list[int]:
    return [position for position, character in enumerate(text) if character == "`"]


def is_in_string(text: str, start: int, end: int) -> bool:
    """Return whether a path is in a string of code: `` `load("src/app.sql")` at line 12 `` is not line 12 of it."""
    if text[end : end + 1] not in ("'", '"') or not _CODE_ENDS.match(text, end + 1):
        return False
    return bisect_left(_code_marks(text), start) % 2 == 1 and text[start - 2 : start - 1] != "`"


def measures(text: str, end: int) -> bool:
    """Return whether the number that ends at `end` is the length of a line: `line 80 characters`."""
    return _MEASURED.match(text, end) is not None


def is_count_next(text: str, end: int) -> bool:
    """Return whether the last number of a list that ends at `end` counts something: `line 12, 90 lines`."""
    return _COUNTED.match(text, end) is not None


def _one(text: str, start: int) -> tuple[Range, int] | None:
    if text.startswith(", 0", start - 2) and text[start + 1 : start + 2].isdigit():
        return None  # a mode of a file: `a.py:12`, 0600
    match = _ONE.match(text, start)
    if match is None:
        return None
    first, last = to_range(match[1], match[2] or match[3])
    is_cut = last is not None and last < first and text.startswith("…", match.end())
    return (first, None if is_cut else last), match.end()


def _more(text: str, end: int, ranges: list[Range], sign: re.Pattern[str], *, ascending: bool) -> int:
    """Add the following list entries and return their end; with `ascending`, stop at a smaller number."""
    while (mark := sign.match(text, end)) and (following := _one(text, mark.end())):
        if ascending and following[0][0] <= (ranges[-1][1] or ranges[-1][0]):
            break
        ranges.append(following[0])
        end = following[1]
    return end


def _after_colon(text: str, start: int, sign: re.Pattern[str]) -> LineMention | None:
    mark = sign.match(text, start)
    first = _one(text, mark.end()) if mark else None
    if first is None:
        return None
    ranges, end = [first[0]], first[1]
    if _LONG_FUNCTION.match(text, end):
        return None
    if first[0][1] is None and _sign(text, end).startswith(_RANGE_SIGNS) and (last := _UP_TO.match(text, end)):
        ranges, end = [(first[0][0], to_number(next(filter(None, last.groups()))))], last.end()
    if _sign(text, end).startswith(_LIST_SIGNS) and _DIGIT.search(text, end, end + _REACH_OF_LIST):
        end = _more_after_colon(text, end, ranges)
    if sign is _LOOSE_COLON and not _ENDS.match(text, end):
        return None
    return LineMention(tuple(ranges), start, end)


def _sign(text: str, end: int) -> str:
    """Return the characters that follow, after a closing backtick and a blank."""
    return text[end : end + 4].lstrip("`").lstrip().lower()


def _more_after_colon(text: str, end: int, ranges: list[Range]) -> int:
    """Add the further lines that are listed after a colon, and return their end."""
    end = _more_tight(text, end, ranges)
    end = _more(text, end, ranges, _MORE_COLON, ascending=False)
    return _more_loose(text, end, ranges)


def _more_tight(text: str, start: int, ranges: list[Range]) -> int:
    """Add the further lines of `:32,34,12-18` and `:32/34`, in any order; return their end. `:32,5` has a column."""
    listed: list[Range] = []
    end = _more(text, start, listed, _TIGHT, ascending=False)
    is_column = len(listed) == 1 and text[start] == "," and listed[0][1] is None and listed[0][0] < _MIN_LISTED
    if is_column and ranges[-1][1] is None and listed[0][0] <= ranges[-1][0]:
        return start
    ranges.extend(listed)
    return end


def _more_loose(text: str, start: int, ranges: list[Range]) -> int:
    """Add the further lines of `:32, 34, 36 and 52`, without a last number that may be a count; return their end.

    At the end of a sentence or a code span the lines may have any order.
    """
    end, listed, is_joined = start, list[tuple[Range, int]](), False
    while (sign := _LOOSE.match(text, end)) and (following := _one(text, sign.end())):
        listed.append(following)
        end, is_joined = following[1], bool(_JOINED.search(sign[0]))
    if listed and not _LIST_ENDS.match(text, end):
        starts = [ranges[-1][1] or ranges[-1][0], *(first for (first, _), _ in listed)]
        ascending = next((index for index in range(len(listed)) if starts[index + 1] <= starts[index]), len(listed))
        if ascending < len(listed):
            del listed[ascending:]
            is_joined = True
        is_list = len(listed) > 1 and is_joined
        is_followed = _VERB_FOLLOWS.match(text, end) and (is_joined or len(listed) > 1)
        if listed and not is_list and not is_followed:
            listed.pop()
    ranges.extend(line_range for line_range, _ in listed)
    return listed[-1][1] if listed else start


#: A smaller number after a comma may be a column: `:12,5`.
_MIN_LISTED = 10
#: Between two lines of a list; some of them may be left out: `:9,56,...,866`.
_TIGHT = lazy_pattern(r"[,/](?:(?:\.{3}|…)[,/])?(?=\d)")
#: A number of lines: `loop.rs:1868 行单函数`, a function of 1868 lines.
_LONG_FUNCTION = lazy_pattern(r"\s?行(?:单|代码|函数|文件|长|超|巨)")
_ENDS = lazy_pattern(_CLOSED)


def _after_hash(text: str, start: int, *, is_source: bool) -> LineMention | None:
    mark = _HASH.match(text, start) or (_PLAIN_HASH.match(text, start) if is_source else None)
    first = _one(text, mark.end()) if mark else None
    if first is None:
        return None
    ranges = [first[0]]
    end = _more(text, first[1], ranges, _MORE_HASH, ascending=False)
    return LineMention(tuple(ranges), start, end)


def _after_words(text: str, start: int) -> LineMention | None:
    mark = _WORDS.match(text, start)
    first = _one(text, mark.end()) if mark else None
    if mark is None or first is None:
        return None
    (line, last), end = first
    is_layer = last is None and line < 10 and ((mark[2] == "L" and not line) or _LAYER.match(text, mark.start()))
    if is_layer or measures(text, end):
        return None
    word = mark[2].lower()
    many = word in ("lines", "ll", "l") or text.startswith(" vs", end)
    if last is None:
        up_to = (
            _WORD_RANGE.match(text, end)
            or (_SPACED_RANGE.match(text, end) if many else None)
            or (_BOTH.match(text, end) if "between" in mark[1].lower() else None)
        )
        if up_to:
            last, end = to_number(up_to[1]), up_to.end()
    ranges: list[Range] = [(line, last)]
    end = _more_words(text, end, ranges) if many else _more_of_line(text, end, ranges) if word == "line" else end
    if word == "lines" and ":" in text[mark.end(2) : mark.end()] and ranges == [(line, None)]:
        return None  # a number of lines
    closing = _WORDS_END.match(text, end)
    return LineMention(tuple(ranges), start, closing.end() if closing else end)


def _more_words(text: str, start: int, ranges: list[Range]) -> int:
    """Add the further lines of `lines 18, 34 and 7` and return their end.

    They may have any order, except before other words: `lines 12, 3 tests fail` has a count.
    """
    listed = list(ranges)
    end = _more(text, start, listed, _MORE_WORDS, ascending=False)
    end = _more(text, end, listed, _REMARKED, ascending=True)
    if not _LIST_ENDS.match(text, end):
        return _more(text, start, ranges, _MORE_WORDS, ascending=True)
    ranges[:] = listed
    return end


def _more_of_line(text: str, start: int, ranges: list[Range]) -> int:
    """Add the further lines of `line 3, 65` and return their end; before other words a number may be a count."""
    listed = list(ranges)
    end = _more(text, start, listed, _MORE_OF_LINE, ascending=True)
    if end == start or not _LIST_ENDS.match(text, end):
        return start
    ranges[:] = listed
    return end


def _after_brackets(text: str, start: int) -> LineMention | None:
    """Parse a range or a list in brackets; a single number in brackets may be a count and is ignored."""
    match = _RANGE_IN_BRACKETS.match(text, start)
    if match is None:
        listed = _LIST_IN_BRACKETS.match(text, start)
        numbers = [to_number(number) for number in listed[1].replace(" ", "").split(",")] if listed else []
        is_list = len(numbers) > 1 and all(number < other for number, other in pairwise(numbers))
        return (
            LineMention(tuple((number, None) for number in numbers), start, listed.end())
            if listed and is_list
            else None
        )
    first, last = to_number(match[1]), to_number(match[2])
    is_years = first in _YEARS and last in _YEARS and 0 < last - first <= _MAX_YEARS and "L" not in match[0].upper()
    return None if is_years else LineMention(((first, last),), start, match.end())


def next_path(text: str, mention: LineMention) -> str:
    """Return the path that follows a mention and that the lines belong to: `(see line 12 of c/d.py)`."""
    match = _NEXT_PATH.match(text, mention.end)
    if match is None and "(" in text[mention.start : mention.end] and text[mention.end - 1] != ")":
        match = _NEXT_DIRECTLY.match(text, mention.end)
    return match[1] if match else ""


def _after_rows(text: str, start: int) -> LineMention | None:
    """Parse Japanese and Chinese lines; a number counts if `行` follows it or a later number.

    `120行` is a number of lines: a single line has `第` before it or `目` after it.
    """
    ranges: list[Range] = []
    counted = 0
    is_ordinal = False
    end = position = start
    mark = _ROWS.match(text, start)
    label = _ROWS_LABEL.match(text, start) if mark is None else None
    has_label = label is not None
    while (mark := mark or label) and (row := _ROW.match(text, mark.end())):
        ranges.append(to_range(row[1], row[2]))
        position = row.end()
        is_ordinal |= "第" in text[mark.start() : mark.end()]
        if not is_ordinal and _ABOUT.search(text, mark.start(), mark.end()):
            return None  # a number of lines
        is_labelled = label is not None or (has_label and row[2] is not None)
        if (word := _ROW_WORD.match(text, position)) or is_labelled:
            position = word.end() if word else position
            is_line = bool(is_labelled or row[2]) or text[position - 1] == "目" or is_ordinal
            if not is_line and not counted:
                return None
            counted, end = len(ranges), position
        mark, label = _MORE_ROWS.match(text, position), None
    if not counted:
        return None
    closing = _ROWS_END.match(text, end)
    return LineMention(tuple(ranges[:counted]), start, closing.end() if closing else end)
