"""Rule `line-missing`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.contract.headings import block_key, column_index
from remit.contract.lines import plain_text
from remit.contract.result_data import Items, Row, Table
from remit.evidence.document import located_tables
from remit.evidence.model import Checked
from remit.rules.base import Case, Example, Fault, Rule
from remit.rules.evidence.finding_without_reference import issue_references

#: Words of a finding about all of a file.
_WHOLE_FILE = re.compile(r"\b(?:whole|entire) file\b|ファイル全体|整个文件", re.IGNORECASE)
#: The blocks whose rows state whole files.
_OF_FILES = ("files_created", "files_modified", "files")


class LineMissing(Rule):
    """A row, an issue, a step or a Key Reference names a file without a line.

    A reader opens a file at a line, and only a line can be compared with what the text says of it. Rows that state new
    or whole files need none, nor do folders, nor a finding that says "whole file".
    """

    name = "line-missing"
    code = "EVD025"
    level = "L2"
    levels = {"v1": "L1"}
    requires = ("wrong-column",)
    help = "Add the line to the path: `path/to/file.py:12`; if all of the file is meant, say `whole file`."
    prompt = "A location has its line, except `whole file` and new files."
    good = (
        Example("generic", edits=(("`app/session.py:8` | where the token is made", "`app/` | the code"),)),
        Example("generic", edits=(("`app/session.py:8` | where the token is made", "`app/session.py` | whole file"),)),
        Example("design", edits=(("| open_session | `app/session.py:8` | Modify |\n", ""),)),
    )
    bad = (
        Example(
            "generic",
            edits=(("`app/session.py:8` | where the token is made", "`app/session.py` | where the token is made"),),
            expect=("line-missing",),
        ),
        Example(
            "exploration",
            edits=(("| login | `app/login.py:7` | function |", "| login | `app/login.py` | function |"),),
            expect=("line-missing",),
        ),
        Example(
            "exploration",
            edits=(("Compare the password → `app/login.py:17` (check_password)", "Compare it → `app/login.py`"),),
            expect=("line-missing",),
        ),
        Example(
            "generic",
            edits=(
                (
                    "### Next Steps",
                    "### Issues\n- Slow: `app/login.py` loads twice | Severity: minor\n\n### Next Steps",
                ),
            ),
            expect=("line-missing",),
        ),
        Example(
            "generic",
            edits=(("`app/session.py:8` | where the token is made", "`app/session.py` | where the token is made"),),
            expect=("line-missing",),
            profile="v1",
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        cited: dict[int, list[Checked]] = {}
        for reference in case.evidence.references:
            cited.setdefault(reference.at, []).append(reference)
        for line, words in (*_rows(case), *_steps(case)):
            yield from _without_line(cited.get(line, []), line, words)
        for issue, references in issue_references(case):
            yield from _without_line(references, issue.line, issue.title)


def _rows(case: Case) -> Iterator[tuple[int, str]]:
    """Yield the rows that state places, each with its words."""
    for table, heading in located_tables(case.document):
        if block_key(heading) not in _OF_FILES:
            yield from ((row.line, " ".join(row.cells)) for row in table.rows if not _creates(table, row))
    for block in blocks(case.result, "pattern_analysis"):
        for table in (part for part in block.content if isinstance(part, Table)):
            yield from ((row.line, " ".join(row.cells)) for row in table.rows)


def _creates(table: Table, row: Row) -> bool:
    """Return whether a row of an Implementation Map creates its file."""
    action = column_index(table.columns, "action")
    return action is not None and plain_text(row.cells[action]).lower().startswith(
        ("create", "new", "作成", "新", "创建")
    )


def _steps(case: Case) -> Iterator[tuple[int, str]]:
    """Yield the steps of an Execution Flow."""
    for block in blocks(case.result, "execution_flow"):
        for part in block.content:
            if isinstance(part, Items):
                yield from ((item.line, item.text) for item in part.items)


def _without_line(references: list[Checked], line: int, words: str) -> Iterator[Fault]:
    """Yield a fault if files are named and none of them with a line."""
    files = [found for found in references if found.facts.state != "folder" and not found.path.endswith("/")]
    if files and all(found.line is None for found in files) and not _WHOLE_FILE.search(words):
        yield Fault(line=line, message=f"{files[0].display_text} has no line", mark=files[0].display_text)
