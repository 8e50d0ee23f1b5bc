"""Split a document into segments: small pieces of text, each with its line, section and block.

References and quotes are searched for in this stream, so that the same grammar reads a heading, a cell, a list
entry and a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from remit.contract.headings import block_key, column_index, fold
from remit.contract.model import Block, Code, Content, Heading, Items, Table
from remit.contract.parse import Document
from remit.lazy import lazy_pattern

SegmentKind = Literal["heading", "text", "item", "cell", "code"]
#: `- **File**: a/b.py`, and `- **Lines**: 12-18` below it.
_FILE_LINE = lazy_pattern(r"[\s*_>\-+]*+(?:file|path|location|ファイル|文件)[*_]{0,2}\s?[:：]", re.IGNORECASE)
_LINES_LINE = lazy_pattern(
    r"[\s*_>\-+]*+(?:lines?|行番号|行号|行)[*_]{0,2}\s?[:：][*_]{0,2}\s*+([^\n]{1,80})$", re.IGNORECASE
)
_LINE_COLUMNS = frozenset({"line", "line number", "line no.", "line #", "行", "行番号", "行号"})
_SPREAD = lazy_pattern(r"[`*\s]*+(?:L|\d++\s?[-–—])")
_FENCE = lazy_pattern(r"^\s*(`{3,}|~{3,})\s*([^`]*)$")


class Segment(NamedTuple):
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


def segments(document: Document) -> Iterator[Segment]:
    """Yield every segment of a document, in order. A `Lines:` line below a `File:` line belongs to that file."""
    pending: Segment | None = None
    for segment in _segments(document):
        if pending is not None:
            lines = _LINES_LINE.match(segment.text) if segment.group == pending.group else None
            yield pending._replace(is_location=True, lines=lines[1]) if lines else pending
        pending = segment if segment.kind in ("text", "item") and _FILE_LINE.match(segment.text) else None
        if pending is None:
            yield segment
    if pending is not None:
        yield pending


def _segments(document: Document) -> Iterator[Segment]:
    walker = _Walker()
    for section in document.outline.sections:
        walker.section, walker.block = section.key, None
        if section.heading:
            yield walker.heading(section.heading, section.line)
        if section.key != "findings":
            yield from walker.content(section.content)
            continue
        for block in section.blocks:
            yield from walker.findings_block(block)


class _Walker:
    def __init__(self) -> None:
        self.section: str | None = None
        self.block: str | None = None
        self.group = 0

    def heading(self, text: str, line: int) -> Segment:
        self.group += 1
        return Segment("heading", text, line, self.section, self.block, self.group)

    def findings_block(self, block: Block) -> Iterator[Segment]:
        self.block = block_key(block.heading) if block.heading else None
        if block.heading:
            yield self.heading(block.heading, block.line)
        yield from self.content(block.content)

    def content(self, content: list[Content] | tuple[Content, ...]) -> Iterator[Segment]:
        for part in content:
            self.group += 1
            if isinstance(part, Heading):
                yield self.heading(part.text, part.line)
            elif isinstance(part, Code):
                yield self._segment("code", part.text, part.line, info=part.info)
            elif isinstance(part, Table):
                yield from self._table(part)
            elif isinstance(part, Items):
                for item in part.items:
                    yield from self._lines("item", item.text, item.line)
            else:
                yield from self._lines("text", part.text, part.line)

    def _segment(self, kind: SegmentKind, text: str, line: int, *, info: str = "") -> Segment:
        return Segment(kind, text, line, self.section, self.block, self.group, info=info)

    def _table(self, table: Table) -> Iterator[Segment]:
        locations = {at for at, column in enumerate(table.columns) if column_index((column,), "location") is not None}
        for row in table.rows:
            lines = _lines_of_row(table.columns, row.cells)
            for at, cell in enumerate(row.cells):
                if cell:
                    own = self._segment("cell", cell, row.line)
                    is_location = at in locations
                    yield own._replace(row=row.line, is_location=is_location, lines=lines if is_location else "")

    def _lines(self, kind: SegmentKind, text: str, first: int) -> Iterator[Segment]:
        """Yield the lines of a paragraph or entry; a fence inside an entry or a block quote is a code segment."""
        fence, body, opened, info = "", [""], 0, ""
        for offset, line in enumerate(text.split("\n")):
            mark = _FENCE.match(line)
            if fence:
                if mark and mark.group(1).startswith(fence) and not mark.group(2).strip():
                    yield self._segment("code", "\n".join(body), first + opened, info=info)
                    fence = ""
                else:
                    body.append(line)
            elif mark:
                fence, body, opened, info = mark.group(1), [], offset, mark.group(2).strip()
            elif line.strip():
                yield self._segment(kind, line, first + offset)
        if fence:
            yield self._segment("code", "\n".join(body), first + opened, info=info)


def _lines_of_row(columns: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Return the content of the line column: a number or range under Line, only a range under Lines (else a count)."""
    for column, cell in zip(columns, cells, strict=False):
        name = fold(column)
        if name in _LINE_COLUMNS or (name == "lines" and _SPREAD.match(cell)):
            return cell
    return ""
