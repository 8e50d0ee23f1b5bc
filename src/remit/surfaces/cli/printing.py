"""Putting lines on the screen: coloured on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from remit.reports.layout import Line


def columns() -> int:
    """How wide the output may be."""
    try:
        wide = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        wide = 80
    return max(40, min(wide, 140))


def print_lines(lines: Iterable[Line]) -> None:
    """Write styled lines; colour only where a person is looking."""
    if not sys.stdout.isatty():
        for line in lines:
            sys.stdout.write("".join(piece.text for piece in line).rstrip() + "\n")
        sys.stdout.flush()  # what is said on standard error after this stands after it
        return
    from rich.console import Console  # late: a pipe does not need it
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*[(piece.text, piece.style) for piece in line]))


def print_text(text: str) -> None:
    """Write text as it is, in UTF-8 whatever the terminal's encoding."""
    if text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
