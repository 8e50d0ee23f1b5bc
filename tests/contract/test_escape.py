"""Escapes and their removal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import item, line, maybe_line, paragraph

from remit.contract.escape import (
    UNGUARDED_PIPE,
    guard_cell,
    guard_colons,
    guard_heading,
    guard_lines,
    guard_pipes,
    join_colon,
    split_colon,
    unguard_cell,
    unguard_colons,
    unguard_heading,
    unguard_lines,
    unguard_pipes,
)
from remit.contract.outline import read_outline
from remit.contract.result_data import Text


@given(paragraph | item)
def test_guarded_lines_round_trip(text: str) -> None:
    assert unguard_lines(guard_lines(text)) == text


@given(paragraph)
def test_a_guarded_paragraph_is_read_as_one_paragraph(text: str) -> None:
    assert read_outline(guard_lines(text)) == [Text(text=guard_lines(text))]


@given(line, st.booleans())
def test_guarded_headings_round_trip(text: str, taken: bool) -> None:
    assert unguard_heading(guard_heading(text, taken=taken)) == text


@given(line)
def test_a_heading_never_loses_all_its_words(text: str) -> None:
    assert unguard_heading(text)
    assert unguard_heading(text) == unguard_heading(text).strip()


@given(maybe_line)
def test_guarded_cells_round_trip(text: str) -> None:
    assert unguard_cell(guard_cell(text)) == text


@given(item)
def test_guarded_pipes_round_trip_and_do_not_separate(text: str) -> None:
    assert unguard_pipes(guard_pipes(text)) == text
    assert not UNGUARDED_PIPE.search(guard_pipes(text))


@given(item)
def test_guarded_colons_round_trip(text: str) -> None:
    assert unguard_colons(guard_colons(text)) == text


@given(maybe_line, st.just("") | item)
def test_a_name_and_its_text_round_trip(name: str, words: str) -> None:
    assert split_colon(join_colon(name, words)) == (name, words)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("a: b: c", "a", "b: c"),
        ("a.py:12", "a.py:12", ""),
        ("`a.py:3`: b", "`a.py:3`", "b"),
        ("a：b", "a：b", ""),
        ("a:", "a", ""),
    ],
)
def test_a_name_ends_at_the_first_colon_before_a_blank(text: str, name: str, words: str) -> None:
    assert split_colon(text) == (name, words)
