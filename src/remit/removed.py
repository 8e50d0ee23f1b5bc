"""What stands in for a name that left the product: the reader of `removed.toml`."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any, Literal

Kind = Literal["commands", "options", "settings", "words"]


def instead_of(kind: Kind, name: str) -> str:
    """Return the sentence on what stands in for a removed name; empty for a name that was never there.

    A subcommand is named with its group (`gate trust`), and an option with its command (`check --rerun`).
    """
    return str(_table()[kind].get(name, ""))


def names_of(kind: Kind) -> tuple[str, ...]:
    """Return the removed names of a kind."""
    return tuple(_table()[kind])


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("removed.toml").read_text(encoding="utf-8"))
