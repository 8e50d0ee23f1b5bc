"""Where fences begin and end: nested fences of one length, and fences that are never closed."""

from __future__ import annotations

import pytest
from msgspec.structs import astuple

from remit.contract.fences import FenceSpan, read_fences, unusual_fences
from remit.contract.outline import Head, read_outline
from remit.contract.result_data import Code, Text


def spans(text: str) -> list[tuple[int, int, bool]]:
    return [astuple(span) for span in read_fences(text.split("\n"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no fence", []),
        ("a\n```py\nx\n```\nb", [(1, 3, True)]),
        ("```\nx\n```\n```\ny\n```", [(0, 2, True), (3, 5, True)]),
        # A nested fence of the same length.
        ("```\n```bash\nx\n```\n```\nafter", [(0, 4, True)]),
        ("```md\n# t\n```bash\nx\n```\nmore\n```\nafter\n```py\ny\n```", [(0, 6, True), (8, 10, True)]),
        # It does not balance: one fence is not closed.
        ("```a\nx\n```b\ny\n```\nafter\n```\nz\n```", [(0, 4, True), (6, 8, True)]),
        ("```py\nx\n\n## Next\n\n```js\ny\n```\nend", [(0, 3, False), (5, 7, True)]),
        ("```py\nx\n\n## Next\n\nend", [(0, 3, False)]),
        ("```py\n# x\n\n# y\n", [(0, 5, False)]),
        ("```py\n## x", [(0, 2, False)]),
        # Longer fences and tildes contain shorter ones.
        ("````md\n```py\nx\n```\n````\nafter\n```\ny\n```", [(0, 4, True), (6, 8, True)]),
        ("~~~\n```\n~~~\nafter", [(0, 2, True)]),
        ("````md\nx", [(0, 2, False)]),
        ("- ```py\n  x\n  ```\nafter", [(0, 2, True)]),
    ],
)
def test_fences_are_read_so_that_they_balance(text: str, expected: list[tuple[int, int, bool]]) -> None:
    assert spans(text) == expected


def test_only_fences_that_commonmark_misreads_are_unusual() -> None:
    assert unusual_fences(["1. step", "   ```py", "   x", "   ```", "```", "y", "```"]) == []
    assert unusual_fences(["```", "```py", "x", "```", "```"]) == [FenceSpan(0, 4)]
    assert unusual_fences(["- a", "  ```py", "  x", "b", "```js", "y", "```"]) == [FenceSpan(4, 6)]


def test_text_after_a_nested_fence_is_read() -> None:
    nodes = read_outline("```\nrun:\n```bash\nx\n```\n```\n\nIt is `a.py:3`.\n\n## Next\n")
    assert [type(node) for node in nodes] == [Code, Text, Head]
    assert nodes[0] == Code(text="run:\n```bash\nx\n```", line=1)
    assert isinstance(nodes[1], Text)
    assert (nodes[1].text, nodes[1].line) == ("It is `a.py:3`.", 8)


def test_text_after_a_fence_that_is_never_closed_is_read_from_the_next_heading() -> None:
    nodes = read_outline("Start\n\n```py\nx = 1\n\n## Next\n\nIt is `a.py:3`.\n", 10)
    assert [(type(node), node.line) for node in nodes] == [(Text, 10), (Code, 12), (Head, 15), (Text, 17)]


def test_a_fence_in_a_list_ends_with_its_entry() -> None:
    nodes = read_outline("- a\n  ```py\n  x\n\nAfter.\n\n```js\ny\n```\n\nEnd.")
    assert [node.line for node in nodes] == [1, 5, 7, 11]


@pytest.mark.parametrize("unit", ["```a\n", "```\n", "```a\n```\n```\n", "```a\n\n## x\n\n", "````\n```\n"])
def test_many_fences_are_read_once(unit: str) -> None:
    lines = (unit * 2_000).split("\n")
    assert read_fences(lines)[0].start == 0
