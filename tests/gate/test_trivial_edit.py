from __future__ import annotations

import time
from typing import Any

import pytest
from edit_table import DOCUMENT, PAIRS, TABLE
from hypothesis import given
from hypothesis import strategies as st

from remit.gate import trivial_edit
from remit.gate.trivial_edit import EditJudgement, changed_lines, digest, edit_distance

#: The words that the project uses elsewhere.
_WORDS = """
    receive receives recovers separate the backend backed address known errors error answer order orders colour color
    accommodation service respond user admin not now retry retries item entry
"""
WORDS = frozenset(_WORDS.split())


def count_words(*words: str) -> list[int]:
    """Return 1 for the word that is replaced, and one more for each word that the project uses elsewhere."""
    old, new = (word.lower() for word in words)
    return [1 + (old in WORDS), int(new in WORDS)]


def judge_trivial_edit(before: str, after: str, **options: Any) -> EditJudgement:
    return trivial_edit.judge_trivial_edit(before, after, count_words, **options)


KINDS = {"F": "formatting", "T": "typo", "M": "metadata", "-": None}
EDITS = [(DOCUMENT, DOCUMENT.replace(old, new, 1), kind) for old, new, kind in TABLE] + PAIRS


def test_the_table_has_at_least_100_edits_of_each_kind() -> None:
    assert len({(before, after) for before, after, _ in EDITS}) == len(EDITS) >= 100
    assert all(old in DOCUMENT for old, _, _ in TABLE)
    assert sum(kind == "-" for *_, kind in EDITS) >= 50
    assert sum(kind != "-" for *_, kind in EDITS) >= 40


@pytest.mark.parametrize(
    ("before", "after", "kind"), EDITS, ids=[f"{old[:20]} to {new[:20]}" for old, new, _ in TABLE + PAIRS]
)
def test_an_edit_is_judged_as_labelled(before: str, after: str, kind: str) -> None:
    edit = judge_trivial_edit(before, after, path="docs/specs/a.md")
    assert (edit.kind, bool(edit.reason)) == (KINDS[kind], True), edit.reason


def test_two_changed_lines_are_trivial_and_three_are_not() -> None:
    lines = ["- a", "- b", "- c"]
    starred = ["* a", "* b", "* c"]
    assert judge_trivial_edit("\n".join(lines), "\n".join(starred[:2] + lines[2:])).kind == "formatting"
    assert judge_trivial_edit("\n".join(lines), "\n".join(starred)).kind is None
    assert judge_trivial_edit("\n".join(lines), "\n".join(starred), max_lines=3).kind == "formatting"


def test_lines_that_change_far_apart_are_counted_one_by_one() -> None:
    before = ["  a"] + ["x"] * 300 + ["  b"] + ["y"] * 300
    after = ["a", *before[1:301], "b", *before[302:]]
    assert judge_trivial_edit("\n".join(before), "\n".join(after)).changed == 2
    assert judge_trivial_edit("\n".join(["", *before]), "\n".join([*after])).kind is None


def test_white_space_at_the_start_of_a_yaml_line_matters() -> None:
    assert judge_trivial_edit("a:\n  b: 1", "a:\nb: 1", path="specs/api.yaml").kind is None
    assert judge_trivial_edit("a:\n  b: 1", "a:\n  b: 1  ", path="specs/api.yaml").kind == "formatting"


def test_a_word_two_letters_away_may_be_a_misspelling_and_three_are_too_many() -> None:
    assert edit_distance("accomodation", "accommodation") == 1
    assert edit_distance("teh", "the") == 1
    assert edit_distance("definately", "definitely") == 1
    assert edit_distance("abcd", "abef") == 2
    assert edit_distance("abcd", "aefg") == 3
    assert judge_trivial_edit("an axcommodatiox", "an accommodation").kind == "typo"
    assert judge_trivial_edit("an axcommodxtiox", "an accommodation").kind is None
    assert judge_trivial_edit("an occommodation", "an accommodation").kind is None, "another first letter"


@given(st.text(max_size=200), st.text(max_size=200))
def test_judging_never_raises_and_the_same_text_is_trivial(before: str, after: str) -> None:
    judge_trivial_edit(before, after)
    assert judge_trivial_edit(before, before).kind == "formatting"
    assert digest(before) == digest(before.replace("\n", "\r\n").replace("\r\r", "\r")) or "\r" in before


@given(st.text(alphabet="ab -*#_`|>\n\t", max_size=80), st.text(alphabet="ab -*#_`|>\n\t", max_size=80))
def test_a_trivial_edit_keeps_every_letter(before: str, after: str) -> None:
    if judge_trivial_edit(before, after).kind == "formatting":
        assert [sign for sign in before if sign.isalnum()] == [sign for sign in after if sign.isalnum()]


def test_large_and_unusual_texts_are_judged_quickly() -> None:
    started = time.process_time()
    for before, after in [
        ("x" * 2_000_000, "x" * 1_999_999),
        ("a\n" * 300_000, "b\n" * 300_000),
        ("a \n" * 390, "b\n" * 391),
        ("*" * 4_900, "_" * 4_900),
        (" #" * 2_400, "# " * 2_400),
        (">" * 4_900, "> " * 2_400),
    ]:
        judge_trivial_edit(before, after)
    assert time.process_time() - started < 5


def test_changed_lines_are_counted() -> None:
    assert changed_lines("a\nb\nc", "a\nx\nc") == 1
    assert changed_lines("a\nb\nc", "x\ny\nz\nw") == 4
    assert changed_lines("a", "a\n") == 0
