"""The token estimate, compared with a real tokenizer and checked on artificial texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.contract.tokens import estimate_tokens

FIXTURES = Path(__file__).parents[1] / "fixtures" / "tokens"
CORPUS = json.loads((FIXTURES / "corpus.json").read_text(encoding="utf-8"))

HOSTILE = {
    "one letter": "a",
    "one capital": "A",
    "one digit": "7",
    "blanks": " ",
    "line ends": "\n",
    "carriage returns": "\r\n",
    "a rule": "=",
    "zero bytes": "\0",
    "emoji": "\U0001f600",
    "a joined emoji": "\U0001f469\u200d\U0001f467",
    "combining marks": "\u0301",
    "lone surrogates": "\ud800",
    "hiragana": "ま",
    "rare Han": "龘",
    "private use": "\ue000",
    "the last code point": "\U0010ffff",
    "every kind in turn": "aA0 .\n'é語",
}

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
# Long runs and changes of kind, where the pieces of the tokenizer begin and end.
RUNS = ["a", "a" * 19, "A", "B" * 8, "0", "123", " ", " " * 31, "\n", ".", "....", "'", "é", "語", "す"]
text_of_runs = st.lists(st.sampled_from(RUNS), max_size=20).map("".join)


@pytest.mark.parametrize(
    ("text", "count"),
    [pytest.param(document["text"], document["o200k_base"], id=document["name"]) for document in CORPUS],
)
def test_every_document_of_the_corpus_is_within_15_percent_of_the_real_count(text: str, count: int) -> None:
    assert abs(estimate_tokens(text) - count) <= 0.15 * count


def test_the_mean_error_over_the_corpus_is_within_5_percent() -> None:
    errors = [abs(estimate_tokens(document["text"]) / document["o200k_base"] - 1) for document in CORPUS]
    assert sum(errors) / len(errors) <= 0.05


def test_the_corpus_has_every_class_of_document_in_its_size() -> None:
    assert {document["language"] for document in CORPUS} == {
        "english",
        "japanese",
        "chinese",
        "python",
        "typescript",
        "json",
        "shell",
        "test-output",
        "markdown-result",
    }
    assert all(300 <= len(document["text"]) <= 3000 for document in CORPUS)
    assert len({document["name"] for document in CORPUS}) == len(CORPUS)


def test_the_empty_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0


@pytest.mark.parametrize("text", ["a", "7", " ", "\n", ".", "\0", "é", "中", "の", "\u0301"])
def test_a_single_character_is_one_token(text: str) -> None:
    assert estimate_tokens(text) == 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("We don't know.", 4),
        ("2024", 2),
        ("port 8080", 4),
        ("user_name", 2),
        ("if done:\n        return", 5),
    ],
)
def test_pieces_of_the_tokenizer_are_recognised(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(any_text | text_of_runs)
def test_the_estimate_is_bounded_by_the_number_of_characters(text: str) -> None:
    assert min(1, len(text)) <= estimate_tokens(text) <= 3 * len(text)


@given(any_text | text_of_runs, any_text | text_of_runs)
def test_joining_two_texts_changes_the_sum_by_at_most_three_tokens(first: str, second: str) -> None:
    apart = estimate_tokens(first) + estimate_tokens(second)
    assert abs(estimate_tokens(first + second) - apart) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_text_is_estimated_in_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit.encode("utf-8", "surrogatepass")))
    once = estimate_tokens(text)
    assert once > 1000
    assert estimate_tokens(text * 2) == pytest.approx(2 * once, rel=0.001)
