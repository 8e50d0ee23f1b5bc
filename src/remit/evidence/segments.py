"""Split a text into segments: small pieces, each with its line, section and block.

References and quotes are searched for in this stream, so that the same grammar reads a heading, a cell, a list
entry and a paragraph. The whole text is read in order, with all headings and with the text around a result.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from remit.contract.fences import read_fences
from remit.contract.headings import block_key, column_index, fold
from remit.contract.model import Code, Items, Row, Table
from remit.contract.outline import Head, Node, read_outline
from remit.contract.parse import Document
from remit.contract.sections import Section
from remit.evidence.line_numbers import LINE_WORDS
from remit.evidence.tables import (
    FILE_COLUMNS,
    LINE_COLUMNS,
    LINES_COLUMNS,
    NUMBERS,
    lines_of_keys,
    lines_of_row,
    number_columns,
    spread_columns,
)
from remit.lazy import has_word, lazy_pattern

SegmentKind = Literal["heading", "text", "item", "cell", "code"]
#: `- **File**: a/b.py`, and `- **Lines**: 12-18` below it.
_FILE_LINE = lazy_pattern(
    r"[\s*_>\-+]*+(?:file|path|location|ファイル|文件|archivo|datei|fichier|arquivo|файл|파일)[*_]{0,2}\s?[:：]",
    re.IGNORECASE,
    ("file", "path", "location", "ファイル", "文件", "archivo", "datei", "fichier", "arquivo", "файл", "파일"),
)
#: The first letters of such labels, here and in the scopes of files.
_KEY_STARTS = frozenset("adflmpstADFLMPST<")
#: One number after `Lines:` is the length of the file.
_LINES_LINE = lazy_pattern(
    rf"[\s*_>\-+]*+(?!(?:lines|líneas|lineas|linhas|zeilen|lignes|строк)[*_]{{0,2}}\s?[:：][*_\s~]*+\d++\W*$)"
    rf"(?:lines?|行番号|行号|行|{LINE_WORDS})[*_]{{0,2}}\s?[:：][*_]{{0,2}}\s*+([^\n]{{1,80}})$",
    re.IGNORECASE,
)
#: A cell with the method of an HTTP request: its row is about an address.
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_METHOD = lazy_pattern(rf"[`*\s]*+(?:{'|'.join(_METHODS)})\b[`*]*+(?:\s*+$|\s++[`*]*+/|\s?[,/|])")
#: Columns of addresses; a column Path has either files or addresses.
_ROUTE_COLUMNS = frozenset(
    {
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
    }
)
_PROPOSAL_COLUMNS = frozenset(
    """
    fix fixes recommendation recommendations suggestion suggestions proposal solution solutions remedy remediation
    mitigation action improvement refactoring after replacement alternative instead target patch патч
    empfehlung lösung vorschlag recommandation correctif proposition recomendación solución propuesta sugerencia
    recomendação solução correção sugestão raccomandazione soluzione рекомендация решение исправление предложение
    修正 修正案 対策 改善案 提案 推奨 方案 建议 修复 改进 拆法 改法 修法 做法 권장 제안 개선안
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
) | {"replaced by", "replace with", "new name", "change to", "should be"}
#: `Suggested fix`, `优化建议`.
_PROPOSAL_COLUMN = lazy_pattern(
    r"\b(?:recommended|suggested|proposed|possible)\s|(?:建议|方案|对策|対策|措施|办法|改善案)$",
    words=(
        *("recommended", "suggested", "proposed", "possible"),
        *("建议", "方案", "对策", "対策", "措施", "办法", "改善案"),
    ),
)
_PROPOSAL = lazy_pattern(
    r"[\s*_]*+(?:create|add|extract|introduce|define|implement|write|replace|rename|use|move|split|新增|抽出|抽取|改为)\b",
    re.IGNORECASE,
)
#: A code span with a pipe in it, which ends the cell in most programs that show Markdown, and the ends of cells.
_CODE_SPAN = lazy_pattern(r"`[^`\n]*+`")
_CELL_ENDS = lazy_pattern(r"(?<!\\)\|")
_FENCE = lazy_pattern(r"^\s*(`{3,}|~{3,})\s*([^`]*)$")
#: At most this many lines without text are skipped in a paragraph.
_MAX_BLANK = 1_000
_PRE = lazy_pattern(r"<pre[\s>]", re.IGNORECASE)
_PRE_END = lazy_pattern(r"(?<!`)</pre>")
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
    #: For a cell: the head of its column if it may name a file.
    column: str = ""
    #: Whether its lines are those of a location next to it.
    states_lines: bool = False
    #: Whether it is in a column of addresses: a path is a file only if it looks like no address.
    may_be_route: bool = False
    #: Whether it is in a column of proposals.
    proposes: bool = False


def may_start_key(text: str) -> bool:
    """Return whether a line may start with a label that names a file: `- **File**: a/b.py`. Most lines do not."""
    first = text.lstrip(" \t*_>-+")[:1]
    return (first in _KEY_STARTS and (":" in text or "：" in text or "<" in text)) or first > "\x7f"


def is_proposal(cell: Segment) -> bool:
    """Return whether a cell proposes something: it is in a column of proposals, or begins like one."""
    return cell.proposes or _PROPOSAL.match(cell.text) is not None


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
        is_file = segment.kind in ("text", "item") and may_start_key(segment.text) and _FILE_LINE.match(segment.text)
        pending = segment if is_file else None
        if pending is None:
            yield segment
    if pending is not None:
        yield pending


def without_output(pieces: list[Segment], text: str) -> list[Segment]:
    """Leave out what is inside `<pre>` at the start of a line: it is a code block.

    One that is not closed before the next heading, list or table is text. Fences inside are kept.
    """
    if "<pre" not in text or "</pre>" not in text:
        return pieces
    kept: list[Segment] = []
    inside: list[Segment] = []
    for piece in pieces:
        if piece.kind == "code":
            kept.append(piece)
            inside = [] if _PRE_END.search(piece.text) else inside
        elif piece.kind != "text":
            kept += [*inside, piece]
            inside = []
        elif inside or _PRE.match(piece.text):
            inside.append(piece)
            if end := _PRE_END.search(piece.text):
                rest = piece.text[end.end() :]
                kept += [replace(piece, text=rest)] if rest.strip() else []
                inside = []
        else:
            kept.append(piece)
    return kept + inside


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
        found: dict[int, tuple[str | None, str | None]] = {}
        for section in sections:
            for part in section.content:
                found[part.line] = section.key, None
            for block in section.blocks:
                place = section.key, block_key(block.heading) if block.heading else None
                found.update(dict.fromkeys((part.line for part in block.content), place))
                found[block.line] = place
            found[section.line] = section.key, None
        self._starts = sorted(found)
        self._places = [found[line] for line in self._starts]

    def at(self, line: int) -> tuple[str | None, str | None]:
        """Return the section and the block of a line."""
        at = bisect_right(self._starts, line)
        return self._places[at - 1] if at else (None, None)


class _Walker:
    def __init__(self, document: Document) -> None:
        self._document = document
        self.places = _Places([])
        self._group = 0
        self._has_methods = has_word(document.whole_text, _METHODS)

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
        names = [fold(column) for column in table.columns]
        locations = {
            at
            for at, column in enumerate(table.columns)
            if names[at] in FILE_COLUMNS
            or "file:line" in column.lower()
            or column_index((column,), "location") is not None
        }
        numbered = number_columns(locations, table)
        locations -= numbered
        routes = [name in _ROUTE_COLUMNS for name in names]
        proposals = [name in _PROPOSAL_COLUMNS or bool(_PROPOSAL_COLUMN.search(name)) for name in names]
        spread = spread_columns(names, table)
        # `Verified line`, next to a column of files.
        qualified = frozenset(name for name in names if name.endswith(" line")) if locations else frozenset[str]()
        has_lines = bool(numbered or qualified) or not (
            LINE_COLUMNS.isdisjoint(names) and LINES_COLUMNS.isdisjoint(names)
        )
        keyed = lines_of_keys(table) if len(names) == 2 and not locations and not has_lines else {}
        heads = [column if "." in column else "" for column in table.columns]
        columns = list(zip((at in locations for at in range(len(names))), heads, routes, proposals, strict=True))
        for row in table.rows:
            cells = self._cells(row, len(names))
            lines = lines_of_row(names, cells, spread, qualified) if has_lines else keyed.get(row.line, "")
            if numbered:
                lines = next((cells[at] for at in numbered if at < len(cells)), lines)
            section, block = self.places.at(row.line)
            is_request = self._has_methods and any(map(_METHOD.match, cells))
            # A row may have fewer cells than columns, or more.
            for at, (cell, (is_location, head, is_route, proposes)) in enumerate(zip(cells, columns)):  # noqa: B905
                if not cell:
                    continue
                text, states_lines = cell, False
                if lines:
                    is_location |= at == 1 and cell != lines and bool(keyed)  # noqa: PLW2901
                    is_stated = cell == lines and lines not in cells[:at]
                    is_line = not keyed and not locations and is_stated and NUMBERS.match(cell)
                    text = f"line {cell}" if is_line else cell
                    states_lines = has_lines and bool(locations) and is_stated
                if keyed:
                    states_lines |= cell in keyed.values()
                yield Segment(
                    "cell",
                    text,
                    row.line,
                    section,
                    block,
                    self._group,
                    row.line,
                    is_location,
                    lines if is_location else "",
                    column=head,
                    states_lines=states_lines,
                    may_be_route=is_route or is_request,
                    proposes=proposes,
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
        for at, (number, line) in enumerate(rows):
            if at < done:
                continue
            span = spans.get(at)
            if span is None:
                if line.strip():
                    yield self._segment(kind, line, number)
                continue
            body = "\n".join(row for _, row in rows[at + 1 : span.end])
            info = line.lstrip("`~ \t") if (mark := _FENCE.match(line)) is None else mark[2].strip()
            yield self._segment("code", body, number, info)
            done = span.end + span.is_closed
