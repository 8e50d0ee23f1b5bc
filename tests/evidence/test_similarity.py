"""The similarity of two texts."""

from __future__ import annotations

import pytest

from remit.evidence.similarity import similarity_to


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
def test_similarity_is_the_share_of_common_characters_in_order(wanted: str, other: str, similarity: float) -> None:
    assert similarity_to(wanted)(other, similarity) == similarity
