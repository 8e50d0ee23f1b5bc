"""A document as a stream of small pieces of text, each with its line and where it stands.

References and quotes are looked for in this stream, so that a heading, a cell, a list entry and a
paragraph are all read by the same grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from remit.contract.headings import block_key, column_index
from remit.contract.model import Block, Code, Content, Heading, Items, Table
from remit.contract.parse import Document

SegmentKind = Literal["heading", "text", "item", "cell", "code"]
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([^`]*)$")


class Segment(NamedTuple):
    """One line of prose, one cell, or one fenced block."""

    kind: SegmentKind
    text: str
    line: int
    section: str | None
    block: str | None
    #: Which paragraph, list or table it belongs to.
    group: int
    #: For a cell: its row's line, and whether its column holds places.
    row: int = 0
    is_place: bool = False
    #: For a fence: what stands after the opening marks.
    info: str = ""


def segments(document: Document) -> Iterator[Segment]:
    """Every piece of a document, in order."""
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
        place = column_index(table.columns, "location")
        for row in table.rows:
            for at, cell in enumerate(row.cells):
                if cell:
                    yield self._segment("cell", cell, row.line)._replace(row=row.line, is_place=at == place)

    def _lines(self, kind: SegmentKind, text: str, first: int) -> Iterator[Segment]:
        """Lines of a paragraph or entry; a fence inside an entry is a fence, not text."""
        fence, body, opened, info = "", [""], 0, ""
        for offset, line in enumerate(text.split("\n")):
            mark = _FENCE.match(line)
            if fence:
                if mark and mark.group(1).startswith(fence) and not mark.group(2).strip():
                    yield self._segment("code", "\n".join(body), first + opened, info=info)
                    fence = ""
                else:
                    body.append(line)
            elif mark and kind == "item":
                fence, body, opened, info = mark.group(1), [], offset, mark.group(2).strip()
            elif line.strip():
                yield self._segment(kind, line, first + offset)
