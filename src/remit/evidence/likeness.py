"""How like two texts are: normalised Indel similarity, from 0 to 1.

Few texts are compared here: a library that is faster with many takes longer to load than all of them together.
"""

from __future__ import annotations

from collections.abc import Callable

#: Characters that are compared here at most.
FEW = 20_000

#: Taken off what is asked for: the library says 0 of some texts that are exactly as like as that.
_EDGE = 1e-6
#: A text, and how like it must be: how like it is, or anything less than that if it is not like enough.
Likeness = Callable[[str, float], float]


def likeness_to(wanted: str, characters: int) -> Likeness:
    """Says how like `wanted` other texts are. `characters`: how many these have, with all that were compared before."""
    if characters <= FEW:
        return _own_likeness(wanted)
    from rapidfuzz.distance import Indel  # late: it is slow to load

    return lambda other, least: Indel.normalized_similarity(wanted, other, score_cutoff=max(0.0, least - _EDGE))


def _own_likeness(wanted: str) -> Likeness:
    """The longest common subsequence by Hyyrö's bits: one for each character, cleared where the sequence grows."""
    all_open = (1 << len(wanted)) - 1
    places: dict[str, int] = {}
    for at, character in enumerate(wanted):
        places[character] = places.get(character, 0) | 1 << at

    def likeness(other: str, least: float) -> float:
        total = len(wanted) + len(other)
        if not total or 2 * min(len(wanted), len(other)) < (least - _EDGE) * total:
            return 0.0 if total else 1.0
        still_open = all_open
        for character in other:
            matched = still_open & places.get(character, 0)
            still_open = ((still_open + matched) | (still_open - matched)) & all_open
        common = len(wanted) - still_open.bit_count()
        return 1.0 - (total - 2 * common) / total

    return likeness
