"""Rule `wrong-column`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks, is_prose
from remit.contract.headings import column_index
from remit.contract.kinds import Column
from remit.contract.result_data import Table
from remit.rules.base import Case, Example, Fault, Rule

_REFERENCES = (
    Column("item", "Item", "its name"),
    Column("location", "Location", "`path/to/file.py:12`"),
    Column("relevance", "Relevance", "why it matters"),
)


def _missing_columns(tables: list[Table], columns: tuple[Column, ...], name: str, line: int) -> Iterator[Fault]:
    required = [column for column in columns if column.required]
    if not tables:
        names = " | ".join(column.name for column in required)
        yield Fault(line=line, message=f"{name} is not a table; it needs the columns {names}")
    for table in tables[:1]:
        missing = [column.name for column in required if column_index(table.columns, column.key) is None]
        if missing:
            yield Fault(line=table.line, message=f"the table of {name} has no column {', '.join(missing)}")


class WrongColumn(Rule):
    """A required table does not have all its columns.

    A program cannot read a column that is missing or has another name.
    """

    name = "wrong-column"
    code = "KND002"
    level = "L2"
    requires = ("references-missing",)
    help = "Write the table with all its columns, and use the column names of the contract."
    good = (
        Example(
            "exploration",
            edits=(
                (
                    "| login | `app/login.py:7` | function |\n",
                    "| login | `app/login.py:7` | function |\n\n| Not an entry | Why |\n| --- | --- |\n| main | it only prints |\n",
                ),
            ),
        ),
        Example("exploration", edits=(("| Entry | File:Line | Type |", "| ENTRY | Location | type |"),)),
    )
    bad = (
        Example(
            "exploration",
            edits=(("| Entry | File:Line | Type |", "| Entry | File:Line | Colour |"),),
            expect=("wrong-column",),
        ),
        Example(
            "generic",
            edits=(("| Item | Location | Relevance |", "| Item | Location | Mood |"),),
            expect=("wrong-column",),
        ),
        Example(
            "verification",
            edits=(
                (
                    "| Claim | Location | Outcome |\n| --- | --- | --- |\n| Unknown users get nothing | `app/login.py:10` | VERIFIED |\n| Tokens are unpredictable | `app/session.py:10` | UNVERIFIED |",
                    "- Unknown users get nothing, `app/login.py:10`: VERIFIED",
                ),
            ),
            expect=("wrong-column",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.found_nothing:
            return
        section = case.document.section("references")
        if section is not None and section.content and not case.failed:
            yield from _missing_columns(section.tables(), _REFERENCES, "Key References", section.line)
        for group in case.kind.required_groups():
            for spec in group:
                for block in blocks(case.result, spec.key):
                    if spec.form == "table" and not is_prose(block):
                        tables = [part for part in block.content if isinstance(part, Table)]
                        yield from _missing_columns(tables, spec.columns, spec.name, block.line)
