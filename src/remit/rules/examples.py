"""The faultless documents that every rule's examples are edits of."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from remit.rules.base import Example

_SAMPLES = files("remit.rules") / "samples"


@cache
def sample(kind: str) -> str:
    """The faultless document of a kind."""
    return (_SAMPLES / f"{kind}.md").read_text(encoding="utf-8")


def written(example: Example) -> str:
    """An example's document: the sample with its edits made. An edit that fits nowhere is a mistake."""
    text = sample(example.kind)
    for old, new in example.edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the {example.kind} sample, not once")
        text = text.replace(old, new)
    return text
