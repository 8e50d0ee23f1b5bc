"""The similarity of two texts, with and without the library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.similarity import MAX_PURE_PYTHON, similarity_to

MANY = MAX_PURE_PYTHON + 1
TEXTS = st.text("ab \n日", max_size=40)


@given(wanted=TEXTS, other=TEXTS, minimum=st.sampled_from([0.0, 0.5, 0.85, 0.9]))
def test_python_and_the_library_give_the_same_similarity(wanted: str, other: str, minimum: float) -> None:
    few, many = similarity_to(wanted, MAX_PURE_PYTHON)(other, minimum), similarity_to(wanted, MANY)(other, minimum)
    assert few == many or max(few, many) < minimum


@pytest.mark.parametrize("characters", [MAX_PURE_PYTHON, MANY])
@pytest.mark.parametrize(
    ("wanted", "other", "similarity"),
    [
        ("", "", 1.0),
        ("abc", "", 0.0),
        ("abcd", "abcd", 1.0),
        ("abcd", "abxd", 0.75),
        ("ab", "ba", 0.5),
        # 6 of 40 characters are in only one of the texts: the similarity equals the minimum.
        ("abcdefghijklmnopqrst", "abcdefghijklmnopqxyz", 0.85),
    ],
)
def test_similarity_is_the_share_of_common_characters_in_order(
    characters: int, wanted: str, other: str, similarity: float
) -> None:
    assert similarity_to(wanted, characters)(other, similarity) == similarity
