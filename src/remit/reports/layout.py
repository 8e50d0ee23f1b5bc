"""Lines of styled text: one layout for a terminal (coloured by rich) and for a pipe (plain)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Piece(NamedTuple):
    """Some text in one style (a rich style; empty: none)."""

    text: str
    style: str = ""


Line = list[Piece]


def plain(lines: Iterable[Line]) -> str:
    """The lines for a pipe or a file."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)
