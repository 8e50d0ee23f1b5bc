"""Glob patterns: `*` and `?` within a name, `**` for any folders, `[…]`, and `{a,b}` for choices.

Each name is matched by itself and `**` by a table of what matched before, so no pattern takes long.
Standard library only: the search process loads this module in an isolated interpreter.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

#: More choices than this are a mistake, or meant to use up memory.
MAX_CHOICES = 128
MAX_LENGTH = 4_096
_CHOICE = re.compile(r"\{([^{}]*)\}")
_Name = Callable[[str], object] | None


def choices(pattern: str) -> list[str]:
    """A pattern with braces as the patterns it stands for. Raises ValueError for too many, or too long a one."""
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"more than {MAX_LENGTH:,} characters")
    waiting, done = [pattern], []
    while waiting:
        text = waiting.pop()
        found = _CHOICE.search(text)
        if found is None or "," not in found[1]:
            done.append(text)
            continue
        if len(waiting) + len(done) + found[1].count(",") + 1 > MAX_CHOICES:
            raise ValueError(f"more than {MAX_CHOICES} choices")
        waiting.extend(text[: found.start()] + choice + text[found.end() :] for choice in found[1].split(","))
    return list(dict.fromkeys(done))


class Pattern:
    """A pattern for paths relative to a folder; one without a slash is for the last name only if `anywhere`."""

    def __init__(self, text: str, *, anywhere: bool = False) -> None:
        self._ways: list[list[_Name]] = []
        for way in choices(text):
            names = [name for name in way.split("/") if name not in ("", ".")]
            if anywhere and "/" not in way.strip("/"):
                names.insert(0, "**")
            squeezed = [name for place, name in enumerate(names) if name != "**" or names[place - 1 : place] != ["**"]]
            self._ways.append([None if name == "**" else _name(name) for name in squeezed])

    def matches(self, path: str) -> bool:
        """Whether a path matches one of the ways to read the pattern."""
        parts = path.split("/")
        return any(_matches(parts, way) for way in self._ways)


def _name(pattern: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(pattern)).match


def _matches(parts: list[str], way: list[_Name]) -> bool:
    reached = {0}
    if way and way[0] is None:
        reached.add(1)
    for part in parts:
        after: set[int] = set()
        for place in reached:
            if place == len(way):
                continue
            name = way[place]
            if name is None:
                after.update((place, place + 1))
            elif name(part):
                after.add(place + 1)
        reached = after | {place + 1 for place in after if place < len(way) and way[place] is None}
        if not reached:
            return False
    return len(way) in reached
