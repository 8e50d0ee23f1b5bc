"""The canonical form is read as the grammar reads it, and the cheap test misses no text that states a line."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.evidence.file_names import EXTENSIONS
from remit.evidence.grammar import _RUN, _UNMARKED_RUN, references_in
from remit.evidence.line_mentions import _HINT, _MAYBE, has_hint
from remit.evidence.line_numbers import LINE_SIGN
from remit.evidence.line_ranges import _COLON, _ONE, _PLAIN_ONE, _WIDE_COLON
from remit.evidence.symbols import _AFTER, _match_after
from remit.evidence.written import WrittenReference, canonical_reference, has_marks, may_cite

_PARTS = st.one_of(
    st.sampled_from(("src", "AB", "1", "a-b", "removed", "line", "L2", "example", "node", "api")),
    st.text("aB1_-.", max_size=4),
)
_ENDINGS = st.sampled_from((*sorted(EXTENSIONS), "org", "Go", "exe", "js", "H", "io"))
_LINES = st.one_of(
    st.integers(0, 10**10).map(str), st.sampled_from(("12-18", "18-12", "0", "٣", "12,18", "12:5", "L12"))
)
_TEXTS = st.builds(
    lambda mark, parts, ending, lines: f"{mark}{'/'.join(parts)}.{ending}:{lines}{mark}",
    st.sampled_from(("", "`", "``", "*")),
    st.lists(_PARTS, min_size=1, max_size=4),
    _ENDINGS,
    _LINES,
)
_WORDS = (
    "line ",
    "Lines: ",
    "row",
    "ROW",
    "L1",
    "ln. 1",
    "z. 3",
    "l. 1",
    "linea ",
    "linija",
    "lignes",
    "linhas",
    "Zeile",
    "righe",
    "satir",
    "baris",
    "строк",
    "行",
    "`1",
    ":1",
    "(:1",
    " :1",
    ",:1",
    "/:1",
    "#",
    "+",
    "@",
)


@given(_TEXTS, st.booleans())
def test_a_canonical_reference_is_read_as_the_grammar_reads_it(text: str, bare: bool) -> None:
    # A blank after it has no meaning, and is not canonical: the grammar reads it.
    canonical = canonical_reference(text)
    if canonical is not None:
        for exists in (lambda _: False, lambda _: True):
            assert references_in(f"{text} ", exists, bare=bare) == [canonical] == references_in(text, exists, bare=bare)


@pytest.mark.parametrize(
    "text", ["src/app.py:12", "`src/app.py:12-18`", "app.py:3", "src/app.test.ts:9", "a/b-c_d.F90:1"]
)
def test_the_form_that_results_are_asked_for_is_canonical(text: str) -> None:
    assert canonical_reference(text) is not None
    assert canonical_reference(f"see {text}") is None


def test_a_canonical_reference_has_its_words_and_its_lines() -> None:
    assert canonical_reference("`src/app.py:12-18`") == WrittenReference(
        1, 17, "src/app.py:12-18", "src/app.py", 12, 18
    )


@pytest.mark.parametrize(
    "text", ["node.js:12", "example.org:80", "api.example.rs:443", "github.com/a/b.py:3", "/etc/a.conf:3", "a.exe:3"]
)
def test_what_may_be_something_else_is_left_to_the_grammar(text: str) -> None:
    assert canonical_reference(text) is None


@given(st.lists(st.one_of(st.sampled_from(_WORDS), st.text(max_size=3), st.integers(0, 99).map(str))).map("".join))
def test_the_cheap_test_misses_no_text_that_states_a_line(text: str) -> None:
    if any(character.isdecimal() for character in text):
        states_line = LINE_SIGN.search(text) or _MAYBE.search(text) or _HINT.search(text)
        assert may_cite(text) or not states_line


@given(st.lists(st.one_of(st.sampled_from(_WORDS), st.text(max_size=3), st.integers(0, 99).map(str))).map("".join))
def test_the_tests_before_the_expression_of_a_line_miss_nothing(text: str) -> None:
    if any(character.isdecimal() for character in text):
        assert has_hint(text) == (_HINT.search(text) is not None)


@pytest.mark.parametrize("text", ["QA-001", "Minor", "80", "The name of customer 1 is kept whole", ""])
def test_a_plain_cell_states_no_line(text: str) -> None:
    assert not may_cite(text)


@pytest.mark.parametrize("word", _WORDS)
def test_each_word_and_sign_of_a_line_is_recognised(word: str) -> None:
    assert may_cite(f"a {word} 1")
    for text in (f"a {word} 1", f"a{word}1", f"{word}1"):
        assert has_hint(text) == (_HINT.search(text) is not None)


_PIECES = st.sampled_from(
    (
        *("12", "18", "5", "٣", "L", "~", "≈", "-", "–", "..", ":", "：", ",", " ", "`", "*", ")", "(", "（", "）"),
        *("%", "_", "a", "f", "ff", "行", "の", "関数", "find_user", "()", "$x", ".b", "::", "é", "e\u0301", "\u0e34"),
        *("—", "→", "\n"),
    )
)
_PIECED = st.lists(_PIECES, max_size=8).map("".join)


def _found(match: re.Match[str] | None) -> tuple[tuple[int, int], str | None, str | None] | None:
    return (match.span(), match[1], match[2] or match[3]) if match else None


@given(_PIECED)
def test_a_plain_line_or_range_is_read_like_any_other(text: str) -> None:
    if plain := _PLAIN_ONE.match(text):
        assert _found(_ONE.match(text)) == (plain.span(), plain[1], plain[2])


@given(_PIECED)
@example("(find_user関数)")
@example("(find_user（a）)")
@example("(e\u0301)")
def test_the_simple_expressions_find_the_same_in_texts_without_other_scripts(text: str) -> None:
    assert _found_symbol(_match_after(text, 0)) == _found_symbol(_AFTER.match(text))
    if not has_marks(text):
        assert [one.span() for one in _UNMARKED_RUN.finditer(text)] == [one.span() for one in _RUN.finditer(text)]
    if "：" not in text:
        assert _end(_COLON.match(text)) == _end(_WIDE_COLON.match(text))


def _found_symbol(match: re.Match[str] | None) -> tuple[tuple[int, int], tuple[str | None, ...]] | None:
    return (match.span(), match.groups()) if match else None


def _end(match: re.Match[str] | None) -> int | None:
    return match.end() if match else None
