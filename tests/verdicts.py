"""Short ways to ask for a verdict, and for the names of the rules that a text breaks."""

from __future__ import annotations

from typing import Any

from remit.checking import Options, Verdict, check_text


def verdict(text: str | bytes, **options: Any) -> Verdict:
    """The verdict on the one result in a text, checked without a checkout."""
    (only,) = check_text(text, "result.md", Options(**options))
    return only


def broken(text: str | bytes, **options: Any) -> list[str]:
    """The rules that the one result in a text breaks, in the order of the document."""
    return [violation.rule for violation in verdict(text, **options).violations]


def blocking(text: str | bytes, **options: Any) -> list[str]:
    """The broken rules of level L1 and L2."""
    return [violation.rule for violation in verdict(text, **options).violations if violation.level != "L3"]
