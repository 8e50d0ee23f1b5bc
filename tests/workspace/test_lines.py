"""Lines end with a line feed, or a carriage return and a line feed, and with nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.files import Collapsed, SourceFile


def lines(data: bytes) -> list[str]:
    return SourceFile("a.txt", data).lines


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\r\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb\nc", ["a", "b", "c"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r", ["a\r"]),
        (b"a\r\r\nb", ["a\r", "b"]),
    ],
)
def test_a_file_has_the_lines_that_an_editor_shows(data: bytes, expected: list[str]) -> None:
    assert lines(data) == expected


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_other_separators_do_not_end_a_line(separator: str) -> None:
    assert lines(f"a{separator}b\nc\n".encode()) == [f"a{separator}b", "c"]


def test_invalid_utf_8_affects_only_its_own_characters() -> None:
    assert lines(b"caf\xe9\nok\n") == ["caf\ufffd", "ok"]


def test_a_byte_order_mark_does_not_count_as_a_line() -> None:
    assert len(lines(b"\xef\xbb\xbfa\nb\n")) == 2


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), max_size=8), st.booleans())
def test_as_many_lines_as_were_written_are_read(written: list[str], windows: bool) -> None:
    end = "\r\n" if windows else "\n"
    assert lines("".join(line + end for line in written).encode()) == written
    if written and written[-1]:
        assert lines(end.join(written).encode()) == written


def test_collapsed_text_maps_each_word_to_its_line() -> None:
    collapsed = Collapsed(["", "  one\t two", "", "three  "])
    assert collapsed.text == "one two three"
    assert [collapsed.line_at(collapsed.text.index(word)) for word in ("one", "two", "three")] == [2, 2, 4]
    assert collapsed.span(3, 4) == (8, 13)
    assert collapsed.span(5, 9) == (13, 13)


@pytest.mark.parametrize("data", [b"", b"a", b"a\n", b"\n", b"a\n\n", b"a\r\nb", b"a\r\nb\r\n", b"\x0ca\x85\n"])
def test_lines_are_counted_as_they_are_split(data: bytes) -> None:
    assert SourceFile("a.txt", data).line_count == len(lines(data))
