"""A terminal for commands that only a person gives."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

_BY_A_PERSON = ("answer", "dismiss", "restore", "tokens")
_IN_GROUPS = (("gate", "trust"), ("plan", "answer"))


def is_of_a_person(words: Sequence[str]) -> bool:
    """Return whether a command of remit needs a person at a terminal."""
    return tuple(words[:2]) in _IN_GROUPS or "--confirm" in words or (bool(words) and words[0] in _BY_A_PERSON)


@contextlib.contextmanager
def opened_terminal() -> Iterator[int]:
    """Open a terminal, and return the descriptor that a program gets as its standard input."""
    ends = os.openpty()
    try:
        yield ends[1]
    finally:
        for end in ends:
            os.close(end)
