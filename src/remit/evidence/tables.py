"""Tables whose rows speak of files."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import tables
from remit.contract.headings import column_index
from remit.contract.lines import plain_text
from remit.contract.model import Table
from remit.contract.parse import Document

_CREATES = ("create", "new", "add", "作成", "新規", "创建", "新建")


def located_tables(document: Document) -> Iterator[tuple[Table, str]]:
    """Every table that has a column for places, with the name of what it stands in."""
    for section in document.outline.sections:
        if section.key != "findings":
            yield from ((table, section.heading) for table in section.tables() if _has_places(table))
        for block in section.blocks:
            for part in block.content:
                if isinstance(part, Table) and _has_places(part):
                    yield part, block.heading or section.heading


def _has_places(table: Table) -> bool:
    return column_index(table.columns, "location") is not None


def planned_rows(document: Document) -> Iterator[tuple[str, int]]:
    """The cells, and their lines, of files that a design says it creates."""
    for table in tables(document.result, "implementation_map"):
        where, action = column_index(table.columns, "location"), column_index(table.columns, "action")
        if where is None or action is None:
            continue
        for row in table.rows:
            if plain_text(row.cells[action]).lower().startswith(_CREATES):
                yield plain_text(row.cells[where]), row.line
