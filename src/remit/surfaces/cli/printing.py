"""Print lines: coloured on a terminal, plain otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from remit.reports.layout import Line


def columns() -> int:
    """Return the width of the output in characters."""
    try:
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        width = 80
    return max(40, min(width, 140))


def print_lines(lines: Iterable[Line]) -> None:
    """Print styled lines, with colours on a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            sys.stdout.write("".join(piece.text for piece in line).rstrip() + "\n")
        sys.stdout.flush()  # later messages on standard error must come after this
        return
    from rich.console import Console  # late: it is not needed for a pipe
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*[(piece.text, piece.style) for piece in line]))


def print_text(text: str) -> None:
    """Print a text as it is, in UTF-8."""
    if text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
