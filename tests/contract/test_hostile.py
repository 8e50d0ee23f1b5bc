"""Whatever the bytes: parsing never raises, and what is too costly is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.checking import check_text
from remit.contract.outline import MAX_CELLS
from remit.contract.parse import MAX_BYTES, parse

SIZE = 200_000

HOSTILE = {
    "stars": "*" * SIZE,
    "brackets": "[" * SIZE,
    "pipes": "|" * SIZE,
    "quotes": ">" * SIZE,
    "nested lists": "- " * (SIZE // 2),
    "nested quotes": "> " * (SIZE // 2) + "a",
    "backticks": "`" * SIZE,
    "open fences": "```\n" * (SIZE // 4),
    "many fences": "```a\nb\n```\n" * (SIZE // 10),
    "headings": "# a\n" * (SIZE // 4),
    "titles": "## A Result\n" * (SIZE // 40),
    "wrapped titles": "```md\n## A Result\n" * (SIZE // 40),
    "bold names": "**Status:** SUCCESS\n\n" * (SIZE // 40),
    "underlines": "a\n=\n" * (SIZE // 4),
    "one line": "a " * (SIZE // 2),
    "backslashes": "\\" * SIZE,
    "placeholders": "[Name] " * (SIZE // 7),
    "comments": "<!--" * (SIZE // 4),
    "entities": "&#124;" * (SIZE // 6),
    "boxes": "### Verification Completed\n" + "- [ ] a\n" * (SIZE // 10),
    "issues": "## A Result\n### Issues\n" + "- a: b | Severity: x\n" * (SIZE // 40),
    "colons": "### Confidence\n" + ":" * SIZE,
    "digits": "### Confidence\n" + "9" * SIZE,
    "table": "| a |\n| - |\n" + "| b |\n" * (SIZE // 20),
    "NULs": "\0" * SIZE,
    "right to left": "\u202e" * (SIZE // 3),
    "combining marks": "a" + "\u0301" * (SIZE // 2),
    "carriage returns": "# a\r" * (SIZE // 4),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_and_judged(text: str) -> None:
    assert all(verdict.verdict != "accept" for verdict in check_text(text))


def test_a_document_over_the_limit_is_refused() -> None:
    (document,) = parse("a" * (MAX_BYTES + 1))
    assert document.refusal == "it is larger than 1,024 KiB"
    assert parse("a" * MAX_BYTES)[0].refusal is None


def test_a_wide_table_over_many_short_rows_is_refused() -> None:
    (document,) = parse("|a" * 1000 + "|\n" + "|-" * 1000 + "|\n" + "x\n" * 1000)
    assert document.refusal == f"its tables have more than {MAX_CELLS:,} cells"


FRAGMENTS = [
    "## Code Explorer Result",
    "# x Result",
    "### Status",
    "SUCCESS",
    "### Status: FAILED",
    "**Summary:** a",
    "### Findings",
    "#### Entry Points",
    "| a | b |",
    "|---|---|",
    "| `a.py:1` | x |",
    "```",
    "```markdown",
    "~~~",
    "### Confidence",
    "92 - why",
    "verified_confidence: 90",
    "- [x] a",
    "- [ ] b",
    "1. c",
    "> q",
    "---",
    "===",
    "  indented",
    "\t tab",
    "### 信頼度",
    "\\# x",
    "- t: d | Severity: critical",
    "<!-- c",
    "-->",
    "{",
    "}",
    "[Name]",
    "\x1b[31m",
    "\u202e",
    "",
    "",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("\n".join))
def test_any_mixture_of_pieces_is_read_and_judged(text: str) -> None:
    for document in parse(text):
        assert document.result is not None
    check_text(text)


@given(st.text())
def test_any_text_is_read_and_judged(text: str) -> None:
    assert check_text(text)


@given(st.binary())
def test_any_bytes_are_read_and_judged(data: bytes) -> None:
    assert check_text(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_any_json_is_read_and_judged(value: object) -> None:
    import json

    assert check_text(json.dumps(value))
    assert check_text(json.dumps({"schema": "remit.result/1", "agent": value, "findings": value}))


def test_every_part_knows_its_line() -> None:
    table = "| Item | Location |\n|-|-|\n| a | b |\n| c | d |\n"
    text = f"words\n\n## A Result\n\n### Status\nSUCCESS\n\n### Key References\n{table}"
    (document,) = parse(text)
    assert document.title_line == 3
    assert document.line_of("status") == 5
    assert [reference.line for reference in document.result.references] == [11, 12]
