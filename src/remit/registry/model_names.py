"""Names of models: short names are looked up, and names without a provider get one if it is known."""

from __future__ import annotations

from collections.abc import Mapping

#: Short name -> provider:model; the configuration adds more.
TABLE = {
    "haiku": "anthropic:claude-haiku-5-5",
    "sonnet": "anthropic:claude-sonnet-5-5",
    "opus": "anthropic:claude-opus-5-5",
}
#: The model of the caller; it has no effect here.
INHERIT = "inherit"
_PROVIDERS = {"claude": "anthropic", "gpt": "openai", "gemini": "google"}


def full_name(name: str, configured: Mapping[str, str]) -> str:
    """Return the model of a name as `provider:model`, if the provider is known."""
    table = TABLE | dict(configured)
    name = name.strip()
    model = table.get(name) or table.get(name.lower()) or name
    if ":" in model:
        return model
    provider = _PROVIDERS.get(model.partition("-")[0].lower())
    return f"{provider}:{model}" if provider else model
