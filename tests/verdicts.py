"""Short functions for the verdict on a text and for the rules that it violates."""

from __future__ import annotations

from typing import Any

from remit.checking import Options, Verdict, check_text
from remit.evidence.sources import Sources
from remit.rules.examples import TREE
from remit.workspace.files import WorkTree

#: The checkout that the samples refer to.
SAMPLE_TREE = Sources(workspace=WorkTree(TREE))


def verdict(text: str | bytes, sources: Sources | None = None, **options: Any) -> Verdict:
    """Return the verdict on the only result in a text, by default without a checkout."""
    (only,) = check_text(text, "result.md", Options(**options), sources)
    return only


def broken(text: str | bytes, sources: Sources | None = None, **options: Any) -> list[str]:
    """Return the rules that the only result in a text violates, in document order."""
    return [violation.rule for violation in verdict(text, sources, **options).violations]


def blocking(text: str | bytes, sources: Sources | None = None, **options: Any) -> list[str]:
    """Return the violated rules of level L1 and L2."""
    return [one.rule for one in verdict(text, sources, **options).violations if one.level != "L3"]
