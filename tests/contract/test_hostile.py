"""Hostile input: a check never raises, and its work is linear in the size of the input."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import FRAGMENTS, documents

from remit.checking import check_text
from remit.contract.parse import MAX_BYTES, parse
from remit.contract.result_data import Result
from remit.rules.examples import sample_text

FRAGMENT_FILLS = [
    *("*", "[", "|", ">", "> ", "- ", "`", "~", "_", "<", "<!--", "\\", "(", "#", "{", "&#124;", "!", "\t", " ", "a "),
    *("\0", "\u202e", "\u0301", "問", "1.", "9", ":", ": ", "[Name] ", "# a\r", "a|b", "../", "a.py:1 ", "Severity: "),
]
LINE_FILLS = [
    *("# a\n", "### Status\n", "#### Claims\n", "**Summary**\n\n", "**Claims**: x\n", "```\n", "```a\n", "- ```\n"),
    *("> ```\n", "- a\n  - b\n", "> > > a\n", "a\n=\n", "a\n---\n", "|a|b|\n|-|-|\n|c|d|\n\n", "<!--\n", "    a\n"),
    *("1. a\n", "\\# a\n", "### Confidence\n90 - x\nverified: 90\n", "- a: b | Severity: minor\n", "- [x] a\n"),
    *("a: 1, b: 2\n", "## A Result\n"),
]  # fmt: skip


def filled(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


class TestNothingRaises:
    @given(st.text())
    def test_any_text_can_be_checked(self, text: str) -> None:
        assert check_text(text)

    @given(st.binary())
    def test_any_bytes_can_be_checked(self, source: bytes) -> None:
        assert check_text(source)

    @given(documents)
    def test_anything_like_a_result_can_be_checked(self, text: str) -> None:
        assert check_text(text)

    @given(documents, st.integers(0, 400), st.integers(0, 400))
    def test_a_result_cut_anywhere_can_be_checked(self, text: str, start: int, end: int) -> None:
        assert check_text(text[start : start + end])
        assert check_text(text.encode()[start : start + end])

    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(Result.__struct_fields__) | st.text(), inner)
            ),
        )
    )
    def test_any_json_can_be_checked(self, value: object) -> None:
        assert check_text(json.dumps(value))
        assert check_text(json.dumps({"schema": "remit.result/1", "agent": value, "findings": value}))

    @pytest.mark.parametrize("piece", FRAGMENT_FILLS, ids=ascii)
    def test_a_single_line_of_one_mark_is_checked(self, piece: str) -> None:
        head = "## A Result\n\n### Status\nSUCCESS\n\n### Summary\n"
        for text in (head + filled(piece, 50_000), filled(piece, 50_000)):
            (verdict,) = check_text(text)
            assert not verdict.accepted

    @pytest.mark.slow
    @pytest.mark.parametrize("piece", LINE_FILLS, ids=ascii)
    def test_many_lines_of_one_kind_are_checked(self, piece: str) -> None:
        for text in ("## A Result\n\n### Findings\n" + filled(piece, 10_000), filled(piece, 10_000)):
            assert not any(verdict.accepted for verdict in check_text(text))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("## A Result\n\n### Status\nS" + " " * (MAX_BYTES - 40) + "x", id="blanks in a status"),
            pytest.param(" " * MAX_BYTES, id="nothing but blanks"),
            pytest.param("## A Result\n\n### Issues\n- " + "a|b: c" * 170_000, id="pipes in an issue"),
            pytest.param("## A Result\n\n### Issues\n- " + "\\" * (MAX_BYTES - 40), id="backslashes in an issue"),
            pytest.param("## A Result\n\n### Summary\n" + "." * (MAX_BYTES - 40) + "a", id="full stops in a summary"),
            pytest.param("## A Result\n### Confidence Justification\nScore: 9\n" + "b\n" * 50_000, id="long values"),
            pytest.param("# " + ":" * 280 + "a Result\n" * 3_000, id="titles of nothing but colons"),
            pytest.param("## A Result\n### Confidence\n" + "*_" * 262_000 + "`" + "_*" * 262_000, id="marks in marks"),
            pytest.param("*" * MAX_BYTES, id="stars"),
            pytest.param("[" * MAX_BYTES, id="brackets"),
            pytest.param(">" * MAX_BYTES, id="quotes"),
            pytest.param("- " * (MAX_BYTES // 2), id="lists in lists"),
        ],
    )  # fmt: skip
    def test_hostile_texts_at_the_limit_are_checked(self, text: str) -> None:
        assert len(text) <= MAX_BYTES
        assert check_text(text)

    @pytest.mark.parametrize("piece", [*LINE_FILLS, *FRAGMENTS], ids=ascii)
    def test_work_is_linear_in_the_text(self, piece: str) -> None:
        piece = piece if piece.endswith("\n") else piece + "\n"
        once, twice = (calls_to_parse("## A Result\n\n### Findings\n" + piece * count) for count in (60, 120))
        assert twice <= 2.2 * once

    @pytest.mark.slow
    def test_many_headings_are_read(self) -> None:
        assert len(parse("### a\n" * 50_000)[0].result.extra) == 50_000

    def test_an_unclosed_fence_ends_at_the_end_of_the_text(self) -> None:
        (document,) = parse(sample_text("generic") + "\n```\nnever closed\n### Status\nFAILED\n")
        assert document.result.status == "SUCCESS"


def calls_to_parse(text: str) -> int:
    """Count the Python and C calls of parsing: a measure of work that does not depend on time."""
    parse(text)  # so that what is computed once is computed before
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse(text)
    finally:
        sys.setprofile(before)
    return calls
