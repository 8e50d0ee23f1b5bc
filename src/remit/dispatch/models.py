"""Models of all providers, named `provider:model`. Keys come from the provider's own environment variables."""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache

from remit.errors import UsageError

#: The variables with each provider's key. Keys are never stored, shown or logged.
KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
#: Words in the names of models that cannot call tools, which the library does not report for them.
_WITHOUT_TOOLS = {
    "creates embeddings": ("embed", "embedding", "embeddings"),
    "transcribes speech": ("whisper", "transcribe", "transcription", "stt"),
    "generates speech": ("tts", "speech"),
    "generates images": ("dall-e", "gpt-image", "chatgpt-image", "imagen"),
    "generates videos": ("sora", "veo"),
    "moderates texts": ("moderation", "guard"),
    "ranks texts": ("rerank", "reranker"),
    "recognizes text in images": ("ocr",),
    "only completes text": ("davinci", "babbage"),
}


def provider_of(name: str) -> str:
    """Return the provider in a model's name."""
    return name.partition(":")[0]


def check_model(name: str) -> None:
    """Raise UsageError for a model that is unknown or cannot call tools."""
    from pydantic_ai import models, providers

    provider, model = models.parse_model_id(name)
    if ":" not in name or provider is None or not model:  # a provider that is guessed from the name does not count
        raise UsageError(
            f"the model {name!r} has no provider: write provider:model, or set `models` in your configuration"
        )
    try:
        providers.infer_provider_class(provider)
    except ValueError:
        raise UsageError(f"there is no provider {provider!r} (model {name!r})") from None
    except ImportError as error:
        raise UsageError(f"the provider {provider!r} needs a package that is not installed: {error}") from error
    if not models.infer_model_profile(name).get("supports_tools", True):
        raise UsageError(f"the model {name!r} cannot call tools: choose another")
    for purpose, words in _WITHOUT_TOOLS.items():
        if re.search(rf"(?<![a-z])(?:{'|'.join(words)})(?![a-z])", model.lower()):
            raise UsageError(
                f"the model {name!r} {purpose} and cannot call tools: choose one that answers in text and calls tools"
            )


def check_key(provider: str) -> None:
    """Raise UsageError for a key that cannot be sent; the client would only report a failed connection."""
    for variable in KEYS.get(provider, ()):
        key = os.environ.get(variable, "")
        if key != key.strip():
            raise UsageError(f"the key in {variable} starts or ends with white space: set it without")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise UsageError(f"the key in {variable} contains characters that a key cannot have: set it again")


def need_key(name: str) -> None:
    """Raise UsageError if the environment has no key for a model."""
    variables = KEYS.get(provider_of(name), ())
    if variables and not any(os.environ.get(key) for key in variables):
        raise UsageError(f"there is no key for {provider_of(name)}: set {variables[0]}")


def check_price(name: str) -> None:
    """Raise UsageError for a model with an unknown price: a cost limit could not be enforced."""
    if model_prices(name)[1] == 0.0:
        raise UsageError(f"the price of {name!r} is unknown, so a cost limit cannot be enforced: limit its tokens")


def model_prices(name: str) -> tuple[float, float]:
    """Return the prices in dollars of an input token and an output token; zeros if they are unknown."""
    return _prices_in_hour(name, int(time.time() // 3600))


@lru_cache(maxsize=64)
def _prices_in_hour(name: str, _hour: int) -> tuple[float, float]:
    """Look the prices up: some providers change them by the hour, and every turn asks for them."""
    from genai_prices import Usage, calc_price

    provider, _, model = name.partition(":")
    prices: list[float] = []
    for usage in (Usage(input_tokens=1_000), Usage(output_tokens=1_000)):
        try:
            prices.append(float(calc_price(usage, model, provider_id=provider).total_price) / 1_000)
        except (LookupError, ValueError):
            return 0.0, 0.0
    return prices[0], prices[1]
