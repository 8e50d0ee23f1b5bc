"""Numbers of lines: alone, at the end of a label, in brackets, and before a path.

12  12-18  lines 12 and 15  login:12  (12)  [12-18]  line 12 of  the 12th line of  第12行（
"""

from __future__ import annotations

import re

import msgspec

from remit.lazy import either, fold_case, has_word, lazy_any, lazy_pattern

#: Larger numbers cannot be lines of a file and are replaced by this one.
MAX_LINE = 999_999_999
Range = tuple[int, int | None]
#: A hyphen, or one of the dashes ‑ ‒ – —. A set of more than two ranges, with a character above U+00FF, takes ten times
#: as long to compile.
DASH = r"[-\u2011-\u2014]"
#: `line` in Spanish, Portuguese, German, French, Italian, Turkish, Vietnamese, Indonesian, Serbian, Russian and Korean.
LINE_WORDS = (
    r"(?:línea|linea)s?|linhas?|zeilen?|lignes?|rig(?:a|he)|(?:satır|satir)|dòng|baris|lini(?:ja|ji|je|ju|jama)|"
    r"(?-i:[Сс]трок(?:а|и|е|у|ах|ами)?)|라인|줄"
)
#: A part of each of them.
_PARTS = (
    *("linea", "línea", "linha", "zeile", "ligne", "riga", "righe", "sat", "dòng", "baris", "linij"),
    *("трок", "라인", "줄"),
)
LINE_WORD = lazy_any(
    lazy_pattern(r"\b(?:lines?|ln|ll?)\b|\bL\d|\bz\.|行|행|줄", re.IGNORECASE),
    lazy_pattern(rf"\b(?:{LINE_WORDS})\b", re.IGNORECASE, _PARTS),
)
#: A line in one of these languages.
LINE_IN_OTHERS = lazy_pattern(rf"(?:{LINE_WORDS})\W{{0,4}}\d", re.IGNORECASE, _PARTS)
#: A text without one of these does not name a line.
LINE_SIGN = lazy_any(
    lazy_pattern(r"[:#(@\[]|：|（|line|\bl(?:n\.?)?\s?\d|행|줄|行|row|\+|\b[lz]\.\s?\d", re.IGNORECASE),
    LINE_IN_OTHERS,
)
TO_ROW = rf"\s?(?:{DASH}|[~～〜至到]|から)\s?第?\s?"
_LISTED = r"\d+(?:\s?(?:-|–|—|to|through)\s?\d+)?"
#: A number with more digits than this may be continued by its last digits.
_MIN_LONG = 2
#: The same in a cell, where each number may have its own sign: `L12-L18, ~L40`.
_CELL_LINES = r"[~≈]?L?\d+(?:\s?(?:-|–|—|to|through)\s?L?\d+)?"
_BEFORE = lazy_pattern(
    rf"\b(?:lines?|ll?|ln|{LINE_WORDS})\.?\s?[:#]?\s?~?"
    rf"({_LISTED}(?:(?:,\s?(?:and\s)?|\s(?:and|y|e|und|et|i|и)\s|\s?&\s?){_LISTED}){{0,9}})"
    r"(?:\s(?:of|in|from|at|@|del?|du|do|da|no|en|em|von|der|dans|di|в|файла)\s"
    r"(?:(?:(?:the|le|el|la|o)\s)?(?:file|archivo|fichero|arquivo|datei|fichier)\s)?|,\s[*_]{0,2}file[*_]{0,2}:[*_]{0,2}\s)[`\"'*_“‘\[]{0,4}$",
    re.IGNORECASE,
)
#: A line in brackets before its path: `(line 12 a/b.py)`.
_DIRECTLY = lazy_pattern(rf"[(（\[]\s?lines?\s({_LISTED})\s[`\"'*_]{{0,3}}$", re.IGNORECASE)
_ORDINAL = lazy_pattern(r"\b(\d+)(?:st|nd|rd|th)\sline\s(?:of|in|from)\s(?:the\sfile\s)?[`\"'*_]{0,3}$", re.IGNORECASE)
_BRACKETED = lazy_pattern(
    rf"(?:\b(?:lines?|{LINE_WORDS})\s({_LISTED})|第?(\d+(?:{TO_ROW}\d+)?)\s?行目?)\s?[(（\[][`\"'*]{{0,3}}$",
    re.IGNORECASE,
)
_LISTED_ONE = lazy_pattern(r"(\d+)(?:\s?(?:-|–|—|to|through|[~～〜至到]|から)\s?第?\s?(\d+))?", re.IGNORECASE)
_CLOSING = lazy_pattern(r"[`\"'*]{0,3}[)）\]]")
_LOOK_BACK = 80
_DIGIT = lazy_pattern(r"\d")
_IN_BRACKETS = lazy_pattern(rf"[(\[]L?(\d++)(?:{DASH}L?(\d++)|,\s?\d++)?[)\]]|@L?(\d++)(?![\w.@/\-])", re.IGNORECASE)
_AT_END = lazy_pattern(rf"[:：#]L?(\d++)(?:{DASH}L?(\d++))?[`*_]{{0,3}}$", re.IGNORECASE)
_ALONE = lazy_pattern(
    rf"\W*+(?:lines?|{LINE_WORDS}|L)?\s?#?({_CELL_LINES}(?:(?:[,;]\s?(?:and\s)?|\sand\s|\s?&\s?|[、，；]\s?){_CELL_LINES})"
    r"{0,19})(?:\s?[(（][^()（）\d\n]{1,20}[)）])?\W*",
    re.IGNORECASE,
)
#: A call and its line in a cell: "login() at line 12", "`login()` (line 12)"; not "was line 12".
_NAMED = lazy_pattern(
    r"[*\s]*+`?[A-Za-z_]\w{0,80}+\(\)`?[*]*+"
    rf"\s?[(@,:–—-]?\s?(?:at\s|on\s|@\s?)?(?:lines?|{LINE_WORDS})\s"
    rf"({_CELL_LINES}(?:,\s?{_CELL_LINES}){{0,9}})[)`*.\s]*+",
    re.IGNORECASE,
    ("line", *_PARTS),
)
#: A line alone in a comment: `// Line 15: the field`, `# L40-48`, `// 第61行`.
_LINE_COMMENT = lazy_pattern(
    rf"\s*+(?://+|#+|--+|;+|%+|/\*+|\{{/\*|<!--)\s*+(?:(?:lines?|{LINE_WORDS})[\s:]|L(?=\d{{2}})|第)\s?~?(\d{{1,6}})"
    rf"(?:\s?(?:{DASH}|[至到])\s?L?(\d{{1,6}}))?\s?行?(?=\s*(?:$|{either(':(,*', '：（', '–—')}|-\s|-->))",
    re.IGNORECASE,
)
_LINE_STARTS = ("line", "第", *(f"l{digit}" for digit in range(10)), *_PARTS)
_COMMENT_SIGNS = ("/", "#", "-", ";", "%", "{", "<")
#: A longer line is not a comment that states where something is.
MAX_COMMENT = 2_000
#: What may be named after the line in a comment, besides names of code: `# Line 15: the field`, `# Line 12 (setup)`.
_NAMING = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "in",
            "of",
            "from",
            "for",
            "at",
            "inside",
            "function",
            "method",
            "class",
            "struct",
            "field",
        ),
        *(
            "interface",
            "property",
            "attribute",
            "variable",
            "constant",
            "constructor",
            "handler",
            "loop",
            "block",
            "body",
        ),
        *("definition", "declaration", "signature", "header", "setup", "init", "module", "component", "hook", "entry"),
        *("route", "endpoint", "query", "parameter", "argument"),
    )
)
#: A name of code: `open()`, `open_store`, `openStore`, `Store.open`.
_CODE_NAME = lazy_pattern(
    r"(?=`|[A-Za-z\d]*+[_.(]|[A-Za-z\d]*?[a-z][A-Z])`?[A-Za-z_][A-Za-z\d_]*+(?:\.[A-Za-z_][A-Za-z\d_]*+)*+(?:\(\))?`?"
)


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
    found = _BEFORE.search(before) or _ORDINAL.search(before)
    if found is None and "/" in text[start:end]:
        found = _DIRECTLY.search(before)
    if found is None and _CLOSING.match(text, end):
        found = _BRACKETED.search(before)
    if found is None:
        return None
    return LineMention(_listed(next(filter(None, found.groups()))), start - len(before) + found.start(), end)


def lines_in_brackets(text: str, at: int) -> LineMention | None:
    """Parse `(12)`, `(12,5)`, `[12-18]` or `@12`, which compilers and editors write."""
    found = _IN_BRACKETS.match(text, at)
    return LineMention((to_range(found[1] or found[3], found[2]),), at, found.end()) if found else None


def lines_alone(text: str) -> tuple[Range, ...]:
    """Return the lines of a text that contains nothing else, or only a name: `12`, `L12-L18`, `login() at line 12`."""
    found = _ALONE.fullmatch(text) or _NAMED.fullmatch(text) if len(text) <= 200 else None
    return _listed(found[1].replace("L", "").replace("l", "")) if found else ()


def line_in_comment(line: str) -> re.Match[str] | None:
    """Return the line that a comment states without a file, and the end of a range: `# Line 231`, `// Lines 10-14`."""
    is_comment = line.lstrip().startswith(_COMMENT_SIGNS) and len(line) < MAX_COMMENT
    return _LINE_COMMENT.match(line) if is_comment and has_word(fold_case(line), _LINE_STARTS) else None


def names_only_code(line: str) -> bool:
    """Return whether a comment with a line has no remark, or one that names code: `# Line 15: the field of Store`.

    Each other remark may call the code old, new or better: `# Line 20: should be`, `# Line 20 (old)`, `# Line 20: ✅`.
    """
    found = line_in_comment(line)
    remark = line[found.end() :].strip(" \t:：,*-–—>/}") if found else "?"
    if remark.startswith(("(", "（")):
        remark = remark[1:].removesuffix(")").removesuffix("）")
    words = remark.split()
    return all(word.strip(",") in _NAMING or _CODE_NAME.fullmatch(word.strip(",")) for word in words)


def lines_at_end(text: str) -> tuple[Range, ...]:
    """Return the lines at the end of the text of a link: `login:12`."""
    found = _AT_END.search(text)
    return (to_range(found[1], found[2]),) if found else ()


def to_number(digits: str) -> int:
    """Return the number of a line; a number that no file can have becomes `MAX_LINE`."""
    return int(digits) if len(digits) < 10 else MAX_LINE


def to_range(first: str, last: str | None) -> Range:
    """Return a line or a range. The last line may have only its last digits: `2638-39`."""
    if last and len(last) < len(first) > _MIN_LONG and len(last) > 1 and to_number(last) < to_number(first):
        whole = first[: -len(last)] + last
        last = whole if to_number(whole) >= to_number(first) else last
    return to_number(first), to_number(last) if last else None


def _listed(text: str) -> tuple[Range, ...]:
    return tuple(to_range(found[1], found[2]) for found in _LISTED_ONE.finditer(text))
