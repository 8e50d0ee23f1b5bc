"""Symbols that should be at a reference: `a/b.py:12` (login), or `login()` in the same row."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable

from remit.evidence.file_names import has_known_ending
from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile

#: The maximum distance of a symbol or quote from the cited lines.
REACH = 5

#: A character of a name. Words in Japanese, Chinese and Korean, all above U+10FF, may follow a name without a space.
#: The ranges of their characters would take ten times as long to compile.
_CHARACTER = r"(?:(?![^\0-\u10ff])\w|\$)"
_NAME = rf"[A-Za-z_$](?:(?:\.|::|#|->)?+{_CHARACTER}){{0,400}}"
_FUNCTION = r"(?:\s?(?:関数|函数|方法|メソッド|クラス|类|함수|메서드|클래스)(?:の?内|内部|中|里|で|に|の)?)?"
_AFTER = lazy_pattern(
    rf"[`*\"']{{0,3}}\s?[(（]\s?(`?)({_NAME})(\([^()`\n]{{0,80}}\))?(?:`|\b|(?<=[$)])|(?={_FUNCTION}[)）])){_FUNCTION}\s?[)）]"
)
#: The longest symbol with its brackets.
_MAX_SYMBOL = 1_400
#: The same for a text without letters of these scripts, in a fifth of the time to compile.
_PLAIN_NAME = r"[A-Za-z_$](?:(?:\.|::|#|->)?+[\w$]){0,400}"
_PLAIN_AFTER = lazy_pattern(
    rf"[`*\"']{{0,3}}\s?\(\s?(`?)({_PLAIN_NAME})(\([^()`\n]{{0,80}}\))?(?:`|\b|(?<=[$)])|(?=\)))\s?\)"
)
_CALL = lazy_pattern(rf"`({_NAME})\(\)`")
#: ``no direct `open()` / `read()` in it``; ``no `open()` error`` is about an error.
_DENIED = lazy_pattern(
    r"\b(?:no|without)\s(?:direct\s)?(?:`[\w.:]{1,80}\(\)`(?:\s?(?:/|or)\s?)?){1,5}(?!\s(?!(?:in|on|at|here)\b)\w)",
    re.IGNORECASE,
    ("no", "without"),
)
#: Words before a symbol that is to be written, is gone, or is elsewhere: a new `drain()`, → `drain()`.
_TO_WRITE = lazy_pattern(
    r"(?:\b(?:add|adds|create|creates|extract|extracts|introduce|introduces|implement|define|write|new|removed?|removes|"
    r"deleted?|drop(?:ped)?|renamed?)\s(?:(?:a|an|the|all|new|old|shared|helper|function|method|public|private|unnecessary|"
    r"redundant|unused|duplicate)\s){0,3}|新增\s?|抽出\s?|抽取\s?|新建\s?|追加\s?|移除\s?|删除\s?|削除\s?|"
    r"\b(?:used|called|read|set|needed|returned)\sby\s|(?:→|⇒|->|=>)\s?)$",
    re.IGNORECASE,
)
#: A call and the location of it: `open(path)` in src/app.py:12.
_LOCATED_CALL = lazy_pattern(
    r"(?<!\bby )`([\w.:$]{1,80})\([^()`\n]{0,80}\)`\s(?:in|at|@)\s[`*\[]{0,3}[\w./-]{1,200}\.\w{1,8}\b"
)
_LOOK_BACK = 60
_SEPARATOR = lazy_pattern(r"\.|::|#|->")
_WORD = lazy_pattern(r"[\w$]+")
#: Plain words in brackets after a reference that are remarks, not symbols.
_REMARKS = frozenset(
    """
    above added also approx approximately async backend below branch caller callee changed class client comment config
    confirmed constructor core created critical current declaration default definition deleted deprecated docs
    documentation draft duplicate entry entrypoint error example excerpt existing export exported external fixed
    frontend full function generated helper here high implementation import important imports info initial inline
    inside interface internal legacy likely low maybe medium method middleware migration minor missing mock modified
    modify module moved new none note ok old only optional outdated partial partially planned private probably public
    read related removed renamed return returns root same see server similar simplified snippet start static stub
    success test tests this todo type types unchanged unused updated usage used util utils verified whole wip entire
    all complete breaks broken bug crash crashes dead duplicated fails failing hang hangs hardcoded leak leaks panic
    panics race slow typo unreachable unsafe wrong warn warning debug trace fatal notice verbose
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_PROSE = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc")
_PLAIN = lazy_pattern(r"[A-Z]?[a-z]+$")
#: A word, the code of a diagnosis, or the number of a finding: `warning`, `WARN`, `TS2532`, `C5`.
_WORD_ALONE = lazy_pattern(r"(?:[A-Z]?[a-z]+|[A-Z]+|[A-Z]{2,4}[a-z]{1,3}|[A-Z]{1,6}\d{2,6}|[A-Z]\d)$")
_SHORTHAND = lazy_pattern(r"[lvp]\d+$", re.IGNORECASE)
_DEFINED = lazy_pattern(
    r"\b(?:def|class|function\*?|func|fn|interface|type|struct|enum|trait|impl|const|let|var|val|module|"
    r"namespace|package|object|record|sub|proc|macro_rules!|CREATE\s+(?:TABLE|FUNCTION|VIEW))"
    r"(?=\s+(?:\([^)\n]{0,80}\)\s*)?([\w$]+))"
)
_CALLABLE = lazy_pattern(r"\b(?:def|class|function|func|fn|struct|interface)\s+([\w$]+)")
#: Up to this many characters around a reference are searched directly.
_SMALL = 20_000
_GLANCE = 200_000
#: After this many names a file is indexed once for all names of the result.
_FEW = 20
#: Fewer letters are not enough to be the beginning of a name.
_MIN_BEGINNING = 4
_MAX_FILES = 8


def symbol_after(text: str, end: int, file: SourceFile | None = None, *, has_line: bool = True) -> str:
    """Return the symbol in brackets directly after a reference that ends at `end`, or an empty string.

    A plain word is a symbol only if the file defines it, if it is commonly a remark or the reference has no line.
    """
    near = text[end : end + 5]
    found = _match_after(text, end) if "(" in near or "（" in near else None
    if not found:
        return ""
    ticked, name, called = found.groups()
    if has_known_ending(name) and not called:
        return ""
    if ticked or called:
        return name
    if _SHORTHAND.match(name):
        return ""
    if name.lower() in _REMARKS or (not has_line and _PLAIN.match(name)):
        return name if file is not None and defines(file, name) else ""
    return name


def _match_after(text: str, end: int) -> re.Match[str] | None:
    near = text[end : end + _MAX_SYMBOL]
    is_plain = near.isascii() or not any(one > "\u10ff" and (one.isalnum() or one in "（）") for one in near)
    return (_PLAIN_AFTER if is_plain else _AFTER).match(text, end)


def is_unmarked(text: str, end: int) -> bool:
    """Return whether the symbol after a reference has neither code marks nor the brackets of a call."""
    found = _match_after(text, end)
    return found is not None and not found[1] and not found[3]


def is_plain_word(text: str, end: int) -> bool:
    """Return whether the symbol after a reference is not written like a name: `src/app.py:12 (crash)`, `(WARN)`.

    A name has code marks, a call, or the form of `find_user`, `findUser` or `users.find`. `(Zähler)` is a word.
    """
    found = _match_after(text, end)
    if not found or found[1] or found[3]:
        return False
    is_foreign = not found[2].isascii() and found[2].isalpha() and found[2][1:].islower()
    return is_foreign or _WORD_ALONE.match(found[2]) is not None


def may_be_remark(text: str, start: int, end: int, path: str) -> bool:
    """Return whether a plain word after a reference is likely a remark: `It fails in src/app.py:12 (crash)`.

    It is in lower case, and the reference does not start its line, or is to a text: `docs/page.md:58 (table)`. In wide
    brackets, a plain word is a remark in any case: `src/app.py:12`（Approve）.
    """
    if "（" in text[end : end + 5] and is_plain_word(text, end):
        return True
    is_inside = path.lower().endswith(_PROSE) or bool(_WORD.search(text[:start][:_LOOK_BACK]))
    found = _match_after(text, end) if is_inside and is_plain_word(text, end) else None
    return found is not None and found[2].islower()


def defines(file: SourceFile, name: str) -> bool:
    """Return whether a file defines a function or class of this name."""
    if len(file.text) > _GLANCE or name not in file.text:
        return False
    return any(name in _CALLABLE.findall(file.lines[number - 1]) for number in _lines(file, name))


def symbols_called(text: str) -> list[str]:
    """Return the `name()` in backticks of a cell, except those that are to be written or that it denies."""
    if "()" not in text:
        return []
    denied = {call.start() for one in _DENIED.finditer(text) for call in _CALL.finditer(text, one.start(), one.end())}
    found = [one for one in _CALL.finditer(text) if one.start() not in denied]
    return [one[1] for one in found if not _TO_WRITE.search(text[max(0, one.start() - _LOOK_BACK) : one.start()])]


def calls_with_location(text: str) -> list[str]:
    """Return the names of the calls in backticks of a cell that are followed by their location."""
    return [found[1] for found in _LOCATED_CALL.finditer(text)]


def is_near(line: int, cited: int | None, end_line: int | None) -> bool:
    """Return whether a line is within reach of the cited lines."""
    return cited is None or cited - REACH <= line <= (end_line or cited) + REACH


def occurs_near(file: SourceFile, symbol: str, line: int | None, end_line: int | None) -> bool:
    """Return whether a symbol occurs within reach of the lines; False if they are too long to search directly."""
    first, around = _around(file, line, end_line)
    return bool(around) and bool(_near(around, first, _last_part(symbol)))


def begins_name_near(file: SourceFile, symbol: str, line: int | None, end_line: int | None) -> bool:
    """Return whether a name within reach of the lines begins with a symbol: `SevenPoint` and `SevenPointValidator`."""
    if line is None or len(symbol) < _MIN_BEGINNING:
        return False
    names = (name for text in _around(file, line, end_line)[1] if symbol in text for name in _WORD.findall(text))
    rests = (name.removeprefix(symbol) for name in names if name.startswith(symbol))
    return any(rest[:1] == "_" or rest[:1].isupper() for rest in rests)


class SymbolFinder:
    """Finds the symbols of one result; a file with many of them is indexed once."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self._names = frozenset(map(_last_part, symbols))
        self._files: OrderedDict[str, _NameIndex] = OrderedDict()

    def find(self, file: SourceFile, symbol: str, line: int | None, end_line: int | None) -> int | None:
        """Return the line of a symbol, or None if it does not occur in the file.

        The line is within reach of the cited lines if possible, else the nearest definition, else the nearest use.
        """
        name = _last_part(symbol)
        if line is None:
            return next(iter(self._index(file).uses(name)), None)
        first, around = _around(file, line, end_line)
        if around:
            near = _near(around, first, name)
        else:
            uses = self._index(file).uses(name)
            near = uses[bisect_left(uses, first) : bisect_right(uses, (end_line or line) + REACH)]
        if near:
            return _nearest(near, line)
        index = self._index(file)
        return _nearest(index.definitions(name), line) or _nearest(index.uses(name), line)

    def locations(self, file: SourceFile, symbol: str) -> list[int]:
        """Return the lines that define a symbol; without any, the lines on which it occurs."""
        name, index = _last_part(symbol), self._index(file)
        return index.definitions(name) or index.uses(name)

    def _index(self, file: SourceFile) -> _NameIndex:
        index = self._files.get(file.path)
        if index is None:
            index = self._files[file.path] = _NameIndex(file, self._names)
            if len(self._files) > _MAX_FILES:
                self._files.popitem(last=False)
        return index


class _NameIndex:
    """The lines on which names occur in one file, in order."""

    def __init__(self, file: SourceFile, names: frozenset[str]) -> None:
        self._file = file
        self._names = names
        self._uses: dict[str, list[int]] = {}
        self._definitions: dict[str, list[int]] = {}

    def uses(self, name: str) -> list[int]:
        if name not in self._uses:
            many = len(self._uses) >= _FEW
            self._uses.update(
                _all_lines(self._file, self._names | {name}) if many else {name: _lines(self._file, name)}
            )
        return self._uses[name]

    def definitions(self, name: str) -> list[int]:
        if name not in self._definitions:
            lines = self._file.lines
            defined = [number for number in self.uses(name) if name in _DEFINED.findall(lines[number - 1])]
            self._definitions[name] = defined
        return self._definitions[name]


def _around(file: SourceFile, line: int | None, end_line: int | None) -> tuple[int, list[str]]:
    """Return the number of the first line within reach, and the lines; no lines if they are too long to search."""
    first = max(1, line - REACH) if line is not None else 1
    last = min(len(file.lines), (end_line or line) + REACH) if line is not None else len(file.lines)
    if last - first > _SMALL or sum(map(len, around := file.lines[first - 1 : last])) > _SMALL:
        return first, []
    return first, around


def _near(around: list[str], first: int, name: str) -> list[int]:
    return [number for number, text in enumerate(around, first) if name in _WORD.findall(text)]


def _last_part(symbol: str) -> str:
    return _SEPARATOR.split(symbol)[-1]


def _lines(file: SourceFile, name: str) -> list[int]:
    text, found = file.text, []
    number, counted = 1, 0
    at = text.find(name)
    while at >= 0:
        word = _WORD.match(text, at)
        end = word.end() if word else at + 1
        if end == at + len(name) and not (at and _WORD.match(text[at - 1])):
            number += text.count("\n", counted, at)
            counted = at
            found.append(number)
        at = text.find(name, end)
    return list(dict.fromkeys(found))


def _all_lines(file: SourceFile, names: frozenset[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in names}
    for number, text in enumerate(file.lines, 1):
        for name in names.intersection(_WORD.findall(text)):
            found[name].append(number)
    return found


def _nearest(numbers: list[int], line: int) -> int | None:
    """Return the number nearest to a line, the smaller of two; `numbers` ascend."""
    at = bisect_left(numbers, line)
    return min(numbers[max(0, at - 1) : at + 1], key=lambda number: (abs(number - line), number), default=None)
