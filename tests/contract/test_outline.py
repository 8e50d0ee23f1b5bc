"""The blocks of a Markdown text and their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents

from remit.contract.outline import MAX_NESTING, Head, Node, read_outline, unreadable_reason
from remit.contract.result_data import Code, Item, Items, Row, Table, Text


def lines_of(nodes: list[Node]) -> list[int]:
    return [node.line for node in nodes]


def test_every_block_has_its_line() -> None:
    text = "# a\n\nb\nc\n\n- d\n- e\n\n| f |\n| - |\n| g |\n\n```\nh\n```\n\ni\n===\n\n> j\n\n---\n\nk"
    nodes = read_outline(text)
    assert lines_of(nodes) == [1, 3, 6, 9, 13, 17, 20, 24]
    items, table = nodes[2], nodes[3]
    assert isinstance(items, Items)
    assert isinstance(table, Table)
    assert [item.line for item in items.items] == [6, 7]
    assert [row.line for row in table.rows] == [11]


def test_lines_can_be_counted_from_another_number() -> None:
    assert lines_of(read_outline("# a\n\nb", 40)) == [40, 42]


@pytest.mark.parametrize("before", ["日本語", "👩‍💻 é", "\x1b\x7f", "𝔘" * 50])
def test_non_ascii_characters_do_not_shift_offsets(before: str) -> None:
    nodes = read_outline(f"{before}\n\n## {before}\n\n- {before}\n\n| {before} | b |\n|-|-|\n| c | {before} |\n")
    assert nodes == [
        Text(text=before),
        Head(2, before, 3),
        Items(items=(Item(text=before),)),
        Table(columns=(before, "b"), rows=(Row(cells=("c", before)),)),
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("# a", "a"),
        ("#  a  ", "a"),
        ("# a #", "a"),
        ("# a ###", "a"),
        ("# a#", "a#"),
        ("# a \\#", "a \\#"),
        ("# #", None),
        ("#", None),
        ("a\nb\n===", "a b"),
        ("#0\n---", "#0"),
    ],
)
def test_the_marks_of_a_heading_are_removed(written: str, text: str | None) -> None:
    assert [node.text for node in read_outline(written) if isinstance(node, Head)] == ([] if text is None else [text])


def test_an_item_keeps_nested_content() -> None:
    (items,) = read_outline("- a\n  b\n\n  - c\n\n    ```\n    d\n    ```\n- e\n")
    assert items == Items(items=(Item(text="a\nb\n\n- c\n\n  ```\n  d\n  ```"), Item(text="e")))


def test_ordered_lists_are_marked() -> None:
    assert [node.ordered for node in read_outline("1. a\n2. b\n\n- c") if isinstance(node, Items)] == [True, False]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("```\na\n```", Code(text="a")),
        ("```python x\na\n\n b\n```", Code(text="a\n\n b", info="python x")),
        ("~~~~ a`b\n```\n~~~\n~~~~", Code(text="```\n~~~", info="a`b")),
        ("  ```\n  a\n    b\n  ```", Code(text="a\n  b")),
        ("    a\n      b", Code(text="a\n  b")),
        ("```\nnever closed", Code(text="never closed")),
        ("```\n```", Code(text="")),
    ],
)
def test_code_is_kept_unchanged(written: str, code: Code) -> None:
    assert read_outline(written) == [code]


def test_cells_may_contain_any_text() -> None:
    (table,) = read_outline("| `a \\| b` | [c](d) |\n| --- | :-: |\n| *e | f* | g |\n| h |\n")
    assert table == Table(columns=("`a \\| b`", "[c](d)"), rows=(Row(cells=("*e", "f*")), Row(cells=("h", ""))))


def test_quotes_and_markup_are_paragraphs() -> None:
    assert read_outline("> a\n> - b\n\n<div>c</div>\n\n[d]: e") == [
        Text(text="a\n- b"),
        Text(text="<div>c</div>"),
        Text(text="[d]: e"),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "---", "***", ">", "<!-- -->"[:0], "#"])
def test_empty_blocks_are_left_out(text: str) -> None:
    assert read_outline(text) == []


@pytest.mark.parametrize("mark", [">", "- ", "* ", "1. "])
def test_deep_nesting_is_text(mark: str) -> None:
    (node,) = read_outline(mark * 10_000 + "a")
    assert isinstance(node, Items | Text)
    assert read_outline(mark * (MAX_NESTING - 1) + "a")


@pytest.mark.parametrize("text", ["a|b", "--|--", "---", "a|b\n\n-|-", "|-|-|\n" * 3])
def test_few_cells_are_not_refused(text: str) -> None:
    assert unreadable_reason(text) is None


@pytest.mark.parametrize("indent", ["", "  ", "> ", ">> "])
def test_wide_tables_are_refused_in_any_position(indent: str) -> None:
    row = "|" + "a|" * 300
    assert unreadable_reason("\n".join(indent + line for line in [row, "|" + "-|" * 300, *["|x"] * 400])) is not None


@given(documents | st.text())
def test_lines_never_decrease(text: str) -> None:
    lines = lines_of(read_outline(text))
    assert lines == sorted(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)
