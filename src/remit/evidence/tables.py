"""Tables whose rows refer to files."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import tables
from remit.contract.headings import column_index
from remit.contract.lines import plain_text
from remit.contract.model import Table
from remit.contract.parse import Document

_CREATES = ("create", "new", "add", "作成", "新規", "创建", "新建")


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
