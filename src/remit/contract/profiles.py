"""Profiles: which rules a result is held to, and how hard."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["L1", "L2", "L3"]


class Profile(NamedTuple):
    """A named set of levels. A rule says itself where it departs from its own level."""

    name: str
    summary: str


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("v2", "everything the contract asks; for new agents"),
        Profile("v1", "the flat rules of the contract's first version; for agents written to it"),
        Profile("lenient", "v2 with the confidence and checklist rules as advice; for agents being moved over"),
    )
}

LEVELS: dict[Level, str] = {
    "L1": "hard rule: revise, then reject",
    "L2": "default: revise once unless an override is recorded",
    "L3": "advice: reported, never blocks",
}
