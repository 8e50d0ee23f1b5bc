"""Profiles and levels: which rules apply to a result, and how strictly."""

from __future__ import annotations

from typing import Literal

import msgspec

Level = Literal["L1", "L2", "L3"]


class Profile(msgspec.Struct, frozen=True):
    """A named set of levels. A rule declares the profiles in which its level differs from the default."""

    name: str
    summary: str
    #: The names of the rules that apply; None: all rules. With such a set, no form is required: any text is a document.
    only: frozenset[str] | None = None


#: The rules on whether the claims of a text in any form hold.
CLAIM_RULES = frozenset(
    {
        "unreadable",
        *("reference-missing-file", "reference-out-of-range", "reference-relocated"),
        *("quote-mismatch", "quote-relocated", "symbol-missing", "self-conflict", "reference-outdated"),
        *("command-missing", "test-missing"),
        *("no-tool-calls", "test-run-unseen", "change-unseen"),
    }
)


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("v2", "all rules of the contract; for new agents"),
        Profile("v1", "the rules of the first version of the contract; for agents written to it"),
        Profile("claims", "only that the claims hold; for any text that cites code", CLAIM_RULES),
    )
}

LEVELS: dict[Level, str] = {
    "L1": "hard rule: revise on the first attempt, then reject",
    "L2": "default: revise on the first attempt, unless an override is recorded",
    "L3": "advice: reported, never blocks",
}
