"""Model names: short ones by a table, bare ones by their maker, others as they are."""

from __future__ import annotations

from collections.abc import Mapping

#: Short name -> provider:model; configuration adds to it.
TABLE = {
    "haiku": "anthropic:claude-haiku-5-5",
    "sonnet": "anthropic:claude-sonnet-5-5",
    "opus": "anthropic:claude-opus-5-5",
}
#: "The caller's model": not a choice of its own.
INHERIT = "inherit"
_MAKERS = {"claude": "anthropic", "gpt": "openai", "gemini": "google"}


def full_name(name: str, configured: Mapping[str, str]) -> str:
    """The model that a name stands for, `provider:model` wherever that can be known."""
    table = TABLE | dict(configured)
    written = name.strip()
    chosen = table.get(written) or table.get(written.lower()) or written
    if ":" in chosen:
        return chosen
    maker = _MAKERS.get(chosen.partition("-")[0].lower())
    return f"{maker}:{chosen}" if maker else chosen
