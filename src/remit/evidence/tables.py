"""Tables whose rows refer to files, and their columns of lines."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import tables
from remit.contract.headings import column_index, fold
from remit.contract.lines import plain_text
from remit.contract.model import Table
from remit.contract.parse import Document
from remit.lazy import either, lazy_pattern

_CREATES = ("create", "new", "add", "作成", "新規", "创建", "新建")

LINE_COLUMNS = frozenset(
    """
    line 行 行番号 行号 行號 línea linea zeile строка ligne linha 줄 행 라인 linija satır baris dòng regel rivi rad
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
) | {"line number", "line numbers", "line no.", "line #", "line(s)", "line range"}
LINES_COLUMNS = frozenset(("lines", "行數", "líneas", "lineas", "zeilen", "строки", "lignes", "linhas"))
#: Columns of files in languages that a result is not written in.
FILE_COLUMNS = frozenset(
    """
    archivo archivos fichero datei dateien файл файлы fichier fichiers arquivo arquivos 파일 archivo:línea datei:zeile
    файл:строка fichier:ligne arquivo:linha 파일:줄 파일:행
    檔案 檔案:行 檔案:行號 fajl fajlovi plik pliki soubor dosya berkas bestand tiedosto fil
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_SPREAD = lazy_pattern(r"[`*\s]*+(?:L|\d++(?:\s?[-–—]|,\s\d|,(?!\d{3}(?!\d))\d|\s(?:and|&)\s\d))")
#: A cell with nothing but lines. In a table without a column of files, they belong to a file above it.
NUMBERS = lazy_pattern(
    either(r"`*~\s", "≈")
    + rf"*+L?\d{{1,6}}(?:(?:\s?{either(',-', '–—')}\s?|\s(?:and|&)\s)L?\d{{1,6}}){{0,19}}[`*\s]*+$"
)


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


def number_columns(locations: set[int], table: Table) -> set[int]:
    """Return the columns of locations that have nothing but lines, next to another one with the files."""
    if len(locations) < 2:
        return set()
    found = {
        at
        for at in locations
        if all(len(row.cells) <= at or not row.cells[at] or NUMBERS.match(row.cells[at]) for row in table.rows)
    }
    return found if found and found != locations else set()


def lines_of_keys(table: Table) -> dict[int, str]:
    """Return the line of the row with a file, and the lines that another row of keys and values states.

    `| File | a.py |`, and `| Lines | 12-18 |` below it.
    """
    files: list[int] = []
    stated: list[str] = []
    for row in table.rows:
        key = fold(row.cells[0].strip("*_ ")) if len(row.cells) == 2 else ""
        if key in FILE_COLUMNS or (key and column_index((key,), "location") is not None):
            files.append(row.line)
        elif key in LINE_COLUMNS or key in LINES_COLUMNS:
            stated.append(row.cells[1])
    return {files[0]: stated[0]} if len(files) == len(stated) == 1 and NUMBERS.match(stated[0]) else {}


def spread_columns(names: list[str], table: Table) -> frozenset[str]:
    """Return the columns Lines that have a range or a list in some row: then a number alone is a line, too."""
    columns = {name: at for at, name in enumerate(names) if name in LINES_COLUMNS}
    return frozenset(
        name
        for name, at in columns.items()
        if any(len(row.cells) > at and _SPREAD.match(row.cells[at]) for row in table.rows)
    )


def lines_of_row(names: list[str], cells: tuple[str, ...], spread: frozenset[str], qualified: frozenset[str]) -> str:
    """Return the content of the line column: any number under Line, a range or a list under Lines (else a count)."""
    for name, cell in zip(names, cells, strict=False):
        is_line = name in LINE_COLUMNS or (name in spread and cell.strip("`*~+ ").isdigit())
        is_line |= name in qualified and NUMBERS.match(cell) is not None
        if is_line or (name in LINES_COLUMNS and _SPREAD.match(cell)):
            return cell
    return ""
