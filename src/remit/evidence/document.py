"""Split a text into segments: small pieces, each with its line, section and block, and the tables and headings around.

Claims are searched for in this stream, so that the same grammar reads a heading, a cell, a list entry and a paragraph.
The whole text is read in order, with all headings and with the text around a result. The words of titles, labels and
clauses that have a meaning are in the data file `words.toml`.
"""

from __future__ import annotations

import os
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Literal

import msgspec
from msgspec.structs import replace

from remit.contract.fences import read_fences
from remit.contract.findings import tables
from remit.contract.headings import block_key, column_index, fold
from remit.contract.lines import plain_text
from remit.contract.outline import Head, Node, read_outline
from remit.contract.parse import Document
from remit.contract.result_data import Code, Items, Row, Table
from remit.contract.sections import Section
from remit.lazy import either, lazy_pattern

SegmentKind = Literal["heading", "text", "item", "cell", "code"]
#: A label that names the file of what follows: `- **File**: a/b.py`, `**Location:** a/b.py:12`, `位置：a/b.py`.
_LABEL = lazy_pattern(
    r"[\s*_>\-+]*+(?:<(?:files?|path)>|(?:(?:primary|main|affected|target|source)\s)?"
    r"(?:files?(?:\s(?:path|name|location))?|paths?|locations?|ファイル|場所|文件|位置)"
    r"(?:\(s\))?[*_]{0,2}\s?[:：])",
    re.IGNORECASE,
)
#: `- **Lines**: 12-18` below such a label. One number after `Lines:` is the length of the file.
_LINES_LINE = lazy_pattern(
    r"[\s*_>\-+]*+(?!lines[*_]{0,2}\s?[:：][*_\s~]*+\d++\W*$)"
    r"(?:lines?|行番号|行号|行)[*_]{0,2}\s?[:：][*_]{0,2}\s*+([^\n]{1,80})$",
    re.IGNORECASE,
)
#: A longer line is a sentence, not a label.
_MAX_LABEL = 300
#: A cell with the method of an HTTP request: its row is about an address.
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_METHOD = lazy_pattern(rf"[`*\s]*+(?:{'|'.join(_METHODS)})\b[`*]*+(?:\s*+$|\s++[`*]*+/|\s?[,/|])")
#: Columns of addresses; a column Path has either files or addresses.
_ROUTE_COLUMNS = frozenset(
    [
        "path",
        "パス",
        "路径",
        "endpoint",
        "endpoints",
        "route",
        "routes",
        "url",
        "uri",
        "api",
        "エンドポイント",
        "端点",
        "路由",
    ]
)
#: Columns of files and lines that results do not have.
_FILE_COLUMNS = frozenset(["檔案", "文件名", "文件路径", "ファイル名"])
_LINE_COLUMNS = frozenset(
    ("line", "行", "行番号", "行号", "line number", "line no.", "line #", "line(s)", "line range")
)
_LINES_COLUMNS = frozenset(("lines", "行數"))
#: A range or a list in a column Lines; one number is the length of the file.
_SPREAD = lazy_pattern(r"[`*\s]*+(?:L|\d++(?:\s?[-–—]|,\s\d|,(?!\d{3}(?!\d))\d|\s(?:and|&)\s\d))")
#: A cell with nothing but lines. In a table without a column of files, they belong to a file above it.
_NUMBERS = lazy_pattern(
    "(?>"
    + either(r"`*~\s", "≈")
    + rf"*)L?\d{{1,6}}(?:(?:\s?{either(',-', '–—')}\s?|\s(?:and|&)\s)L?\d{{1,6}}){{0,19}}[`*\s]*+$"
)
_CREATES = ("create", "new", "add", "作成", "新規", "创建", "新建")
#: A code span with a pipe in it, which ends the cell in most programs that show Markdown, and the ends of cells.
_CODE_SPAN = lazy_pattern(r"`[^`\n]*+`")
_CELL_ENDS = lazy_pattern(r"(?<!\\)\|")
_FENCE = lazy_pattern(r"^\s*(`{3,}|~{3,})\s*([^`]*)$")
#: At most this many lines without text are skipped in a paragraph.
_MAX_BLANK = 1_000
_MARKER = lazy_pattern(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+")


class Segment(msgspec.Struct, frozen=True, gc=False):
    """One line of prose, one cell, or one fenced block."""

    kind: SegmentKind
    text: str
    line: int
    section: str | None
    block: str | None
    #: The number of the paragraph, list or table that it belongs to.
    group: int
    #: For a cell: the line of its row, and whether it is in a location column.
    row: int = 0
    is_location: bool = False
    #: For a location: the content of the line column in the same row.
    lines: str = ""
    #: For a fence: the info string after the opening marks.
    info: str = ""
    #: For a heading: its level. For a line of a list: how far it is indented, and whether an entry starts there.
    depth: int = 0
    starts_item: bool = False
    #: For a cell: the head of its column.
    column: str = ""
    #: Whether its lines are those of a location next to it.
    states_lines: bool = False
    #: Whether it is in a column of addresses: a path is a file only if it looks like no address.
    may_be_route: bool = False


def is_label(text: str) -> bool:
    """Return whether a line names the file of what follows: `**File:** a/b.py`."""
    return len(text) <= _MAX_LABEL and _LABEL.match(text) is not None


def segments(document: Document) -> Iterator[Segment]:
    """Yield every segment of a text, in order. A `Lines:` line below a `File:` line belongs to that file."""
    pending: Segment | None = None
    for segment in _segments(document):
        if pending is None and segment.row:
            yield segment
            continue
        if pending is not None:
            lines = _LINES_LINE.match(segment.text) if segment.group == pending.group else None
            yield replace(pending, is_location=True, lines=lines[1]) if lines else pending
            segment = replace(segment, states_lines=True) if lines else segment  # noqa: PLW2901
        is_file = segment.kind in ("text", "item") and is_label(segment.text)
        pending = segment if is_file else None
        if pending is None:
            yield segment
    if pending is not None:
        yield pending


def _segments(document: Document) -> Iterator[Segment]:
    before = [chunk for chunk in document.around if chunk.first_line < document.first_line]
    after = [chunk for chunk in document.around if chunk.first_line > document.first_line]
    walker = _Walker(document)
    for chunk in before:
        yield from walker.walk(read_outline(chunk.text, chunk.first_line))
    walker.places = _Places(document.outline.sections)
    yield from walker.walk(document.outline.nodes)
    walker.places = _Places([])
    for chunk in after:
        yield from walker.walk(read_outline(chunk.text, chunk.first_line))


class _Places:
    """Which section and block of a result each line belongs to."""

    def __init__(self, sections: list[Section]) -> None:
        places: dict[int, tuple[str | None, str | None]] = {}
        for section in sections:
            for part in section.content:
                places[part.line] = section.key, None
            for block in section.blocks:
                place = section.key, block_key(block.heading) if block.heading else None
                places.update(dict.fromkeys((part.line for part in block.content), place))
                places[block.line] = place
            places[section.line] = section.key, None
        self._starts = sorted(places)
        self._places = [places[line] for line in self._starts]

    def at(self, line: int) -> tuple[str | None, str | None]:
        """Return the section and the block of a line."""
        index = bisect_right(self._starts, line)
        return self._places[index - 1] if index else (None, None)


class _Walker:
    def __init__(self, document: Document) -> None:
        self._document = document
        self.places = _Places([])
        self._group = 0

    def walk(self, nodes: list[Node]) -> Iterator[Segment]:
        for node in nodes:
            self._group += 1
            if isinstance(node, Head):
                yield self._segment("heading", node.text, node.line, depth=node.level)
            elif isinstance(node, Code):
                yield self._segment("code", node.text, node.line, node.info)
            elif isinstance(node, Table):
                yield from self._table(node)
            elif isinstance(node, Items):
                for item in node.items:
                    yield from self._item(item.text, item.line)
            else:
                yield from self._lines("text", node.text, self._numbered(node.text, node.line))

    def _segment(self, kind: SegmentKind, text: str, line: int, info: str = "", depth: int = 0) -> Segment:
        section, block = self.places.at(line)
        return Segment(kind, text, line, section, block, self._group, info=info, depth=depth)

    def _numbered(self, text: str, first: int) -> Iterator[tuple[int, str]]:
        """Yield the lines of a paragraph with their numbers; a block quote may have lines without text."""
        number = first
        blank_left = _MAX_BLANK
        for row in text.split("\n"):
            while blank_left and not self._document.line_text(number).strip(" \t>"):
                number, blank_left = number + 1, blank_left - 1
            yield number, row
            number += 1

    def _table(self, table: Table) -> Iterator[Segment]:
        columns = _Columns(table)
        for row in table.rows:
            cells = self._cells(row, len(table.columns))
            lines = columns.lines_of(row, cells)
            section, block = self.places.at(row.line)
            is_request = any(map(_METHOD.match, cells))
            for column, (cell, head) in enumerate(zip(cells, table.columns, strict=False)):
                if not cell:
                    continue
                is_location = columns.is_location(column, cell, lines)
                is_stated = bool(lines) and cell == lines and lines not in cells[:column]
                is_line = is_stated and not columns.locations and not columns.keyed and bool(_NUMBERS.match(cell))
                yield Segment(
                    kind="cell",
                    text=f"line {cell}" if is_line else cell,
                    line=row.line,
                    section=section,
                    block=block,
                    group=self._group,
                    row=row.line,
                    is_location=is_location,
                    lines=lines if is_location else "",
                    column=head,
                    states_lines=is_stated and bool(columns.locations or columns.keyed),
                    may_be_route=is_request or column in columns.routes,
                )

    def _cells(self, row: Row, count: int) -> tuple[str, ...]:
        """Return the cells of a row. A pipe in code marks does not end a cell if the row has the right number then."""
        written = self._document.line_text(row.line).strip(" \t>")
        if "`" not in written or written.count("|") <= count + 1:
            return row.cells
        joined = _CODE_SPAN.sub(lambda span: span[0].replace("|", "\0"), written)
        cells = _CELL_ENDS.split(joined.removeprefix("|").removesuffix("|"))
        return tuple(cell.replace("\0", "|").strip() for cell in cells) if len(cells) == count else row.cells

    def _item(self, text: str, first: int) -> Iterator[Segment]:
        if "\n" not in text and text.strip() and "```" not in text and "~~~" not in text:  # the usual case
            section, block = self.places.at(first)
            yield Segment("item", text, first, section, block, self._group, starts_item=True)
            return
        for number, segment in enumerate(self._lines("item", text, enumerate(text.split("\n"), first))):
            line = segment.text
            depth = len(line) - len(line.lstrip()) + 1 if number else 0
            yield replace(segment, depth=depth, starts_item=not number or bool(_MARKER.match(line)))

    def _lines(self, kind: SegmentKind, text: str, lines: Iterator[tuple[int, str]]) -> Iterator[Segment]:
        """Yield the lines of a paragraph or entry; a fence inside an entry or a block quote is a code segment."""
        if "```" not in text and "~~~" not in text:
            yield from (self._segment(kind, line, number) for number, line in lines if line.strip())
            return
        rows = list(lines)
        spans = {span.start: span for span in read_fences([line for _, line in rows])}
        done = 0
        for index, (number, line) in enumerate(rows):
            if index < done:
                continue
            span = spans.get(index)
            if span is None:
                if line.strip():
                    yield self._segment(kind, line, number)
                continue
            body = "\n".join(row for _, row in rows[index + 1 : span.end])
            info = line.lstrip("`~ \t") if (mark := _FENCE.match(line)) is None else mark[2].strip()
            yield self._segment("code", body, number, info)
            done = span.end + span.is_closed


class _Columns:
    """Which columns of a table have files, and which have their lines."""

    def __init__(self, table: Table) -> None:
        self._names = [fold(column) for column in table.columns]
        files = {index for index, column in enumerate(table.columns) if _is_file_column(column)}
        numbered = {column for column in files if len(files) > 1 and _has_only_numbers(table, column)}
        self._numbered = numbered if numbered != files else set()
        self.routes = {index for index, name in enumerate(self._names) if name in _ROUTE_COLUMNS}
        self.locations = files - self._numbered
        names = set(self._names)
        self._has_lines = bool(self._numbered) or not (
            names.isdisjoint(_LINE_COLUMNS) and names.isdisjoint(_LINES_COLUMNS)
        )
        self._has_lines |= bool(self.locations) and any(name.endswith((" line", " lines")) for name in self._names)
        #: `| File | a.py |` and `| Lines | 12-18 |`: the lines by the row of the file.
        self.keyed = _keyed_lines(table) if len(self._names) == 2 and not self.locations and not self._has_lines else {}
        lists = {column for column, name in enumerate(self._names) if name in _LINES_COLUMNS}
        self._lists = {
            column
            for column in lists
            if any(len(row.cells) > column and _SPREAD.match(row.cells[column]) for row in table.rows)
        }

    def is_location(self, column: int, cell: str, lines: str) -> bool:
        """Return whether a cell names a file; the value of a key is one if the table states its lines."""
        return column in self.locations or (bool(self.keyed) and bool(lines) and column == 1 and cell != lines)

    def lines_of(self, row: Row, cells: tuple[str, ...]) -> str:
        """Return what a row states about its lines: any number under Line, a range or a list under Lines."""
        if not self._has_lines:
            return self.keyed.get(row.line, "")
        for column in self._numbered:
            if column < len(cells):
                return cells[column]
        for column, (name, cell) in enumerate(zip(self._names, cells, strict=False)):
            is_line = name in _LINE_COLUMNS or (column in self._lists and cell.strip("`*~+ ").isdigit())
            is_line |= name.endswith(" line") and bool(self.locations) and bool(_NUMBERS.match(cell))
            is_range = name in _LINES_COLUMNS or (name.endswith(" lines") and bool(self.locations))
            if is_line or (is_range and _SPREAD.match(cell)):
                return cell
        return ""


def _is_file_column(column: str) -> bool:
    is_known = fold(column) in _FILE_COLUMNS or column_index((column,), "location") is not None
    return is_known or "file:line" in column.lower()


def _has_only_numbers(table: Table, index: int) -> bool:
    return all(
        len(row.cells) <= index or not row.cells[index] or _NUMBERS.match(row.cells[index]) for row in table.rows
    )


def _keyed_lines(table: Table) -> dict[int, str]:
    """Return the line of the row with the only file of a table of keys and values, and the lines that it states."""
    files: list[int] = []
    stated: list[str] = []
    for row in table.rows:
        key = row.cells[0].strip("*_ ") if len(row.cells) == 2 else ""
        if key and _is_file_column(key):
            files.append(row.line)
        elif fold(key) in _LINE_COLUMNS | _LINES_COLUMNS:
            stated.append(row.cells[1])
    return {files[0]: stated[0]} if len(files) == len(stated) == 1 and _NUMBERS.match(stated[0]) else {}


def located_tables(document: Document) -> Iterator[tuple[Table, str]]:
    """Yield every table that has a location column, with the heading of its block or section."""
    for section in document.outline.sections:
        if section.key != "findings":
            yield from ((table, section.heading) for table in section.tables() if _has_locations(table))
        for block in section.blocks:
            for part in block.content:
                if isinstance(part, Table) and _has_locations(part):
                    yield part, block.heading or section.heading


def _has_locations(table: Table) -> bool:
    return column_index(table.columns, "location") is not None


def planned_rows(document: Document) -> Iterator[tuple[str, int]]:
    """Yield the file cells, and their lines, of rows in which a design creates a file."""
    for table in tables(document.result, "implementation_map"):
        location, action = column_index(table.columns, "location"), column_index(table.columns, "action")
        if location is None or action is None:
            continue
        for row in table.rows:
            if plain_text(row.cells[action]).lower().startswith(_CREATES):
                yield plain_text(row.cells[location]), row.line


class Headings:
    """The headings of a document and the labels below them, to find the context above a line."""

    def __init__(self, pieces: list[Segment]) -> None:
        self._lines: list[int] = []
        self._chains: list[tuple[Segment, ...]] = []
        chain: list[Segment] = []
        for piece in pieces:
            if piece.kind != "heading":
                continue
            while chain and chain[-1].depth >= piece.depth > 0:
                chain.pop()
            chain.append(piece)
            self._lines.append(piece.line)
            self._chains.append(tuple(chain))

    def above(self, line: int) -> tuple[Segment, ...]:
        """Return the headings above a line, the nearest last; a heading is above its own line."""
        index = bisect_right(self._lines, line)
        return self._chains[index - 1] if index else ()


#: Marks, numbers and signs around the words of a title: `### 3. **Fix:**`.
_MARKS = lazy_pattern(r"^[\s#>*_`\-+|\d.)(\[\]✅❌✓✗→:：]+|[\s*_`:：|。.\-–—)(\[\]✅❌✓✗]+$")
_WORD = lazy_pattern(r"[a-z_][a-z0-9_]*+(?>(?:[-'][a-z]+)*)")
_REMARK = lazy_pattern(r"[(（\[][^()（）\[\]]{0,80}[)）\]]")
#: A title that proposes code has at most this many words.
_MAX_TITLE = 4
_MAX_LENGTH = 80


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Return the words of each group. The file is part of the package."""
    with open(os.path.join(os.path.dirname(__file__), "words.toml"), "rb") as file:  # noqa: PTH118, PTH120, PTH123 (pathlib is slow)
        data = tomllib.load(file)
    return {name: tuple(group["words"]) for name, group in data.items()}


def words(group: str) -> tuple[str, ...]:
    """Return the words of a group."""
    return _groups()[group]


@cache
def _split(group: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Return the single English words, the phrases, and the words of Chinese and Japanese."""
    ascii_words = [word.replace(".", " ") for word in group if word.isascii()]
    single = frozenset(word for word in ascii_words if " " not in word)
    phrases = tuple(f" {word} " for word in ascii_words if " " in word)
    return single, phrases, tuple(word for word in group if not word.isascii())


def has_words(text: str, group: tuple[str, ...]) -> bool:
    """Return whether a text contains one of the words, as a whole word where a script has spaces."""
    single, phrases, others = _split(group)
    lower = text.lower()
    if not text.isascii() and any(word in text for word in others):
        return True
    text_words = _WORD.findall(lower)
    if not single.isdisjoint(text_words):
        return True
    return bool(phrases) and any(phrase in f" {' '.join(text_words)} " for phrase in phrases)


def is_title(text: str, group: tuple[str, ...]) -> bool:
    """Return whether a text is a short title with one of the words: `**Fix:**`, `### Proposed change`, `修正案：`."""
    return is_short(text) and has_words(text, group)


def is_short(text: str) -> bool:
    """Return whether a text is not longer than a title, without its marks, numbers and remarks in brackets."""
    return len(text) <= _MAX_LENGTH and len(_MARKS.sub("", _REMARK.sub("", text)).split()) <= _MAX_TITLE


def without_code(text: str) -> str:
    """Return a text with blanks instead of its code spans: the name of a function is not a word of the text."""
    return _CODE_SPAN.sub(lambda span: " " * len(span[0]), text) if "`" in text else text
