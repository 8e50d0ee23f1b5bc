"""How like two texts are, with and without the library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.similarity import MAX_PURE_PYTHON, similarity_to

MANY = MAX_PURE_PYTHON + 1
TEXTS = st.text("ab \n日", max_size=40)


@given(wanted=TEXTS, other=TEXTS, least=st.sampled_from([0.0, 0.5, 0.85, 0.9]))
def test_few_texts_are_found_as_like_as_many(wanted: str, other: str, least: float) -> None:
    few, many = similarity_to(wanted, MAX_PURE_PYTHON)(other, least), similarity_to(wanted, MANY)(other, least)
    assert few == many or max(few, many) < least


@pytest.mark.parametrize("characters", [MAX_PURE_PYTHON, MANY])
@pytest.mark.parametrize(
    ("wanted", "other", "likeness"),
    [
        ("", "", 1.0),
        ("abc", "", 0.0),
        ("abcd", "abcd", 1.0),
        ("abcd", "abxd", 0.75),
        ("ab", "ba", 0.5),
        # 6 of 40 characters are in one of them only: exactly as like as is asked for.
        ("abcdefghijklmnopqrst", "abcdefghijklmnopqxyz", 0.85),
    ],
)
def test_likeness_is_the_share_of_characters_that_stand_in_both_in_the_same_order(
    characters: int, wanted: str, other: str, likeness: float
) -> None:
    assert similarity_to(wanted, characters)(other, likeness) == likeness
