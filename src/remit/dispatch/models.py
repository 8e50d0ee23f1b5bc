"""Models of all providers, named `provider:model`. Keys come from the provider's own environment variables."""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.registry.model import Brief

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings


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
#: Seconds until a provider must answer, or continue its answer.
REQUEST_SECONDS = 600.0
#: The maximum number of tokens of one answer; the budget may allow fewer.
OUTPUT_TOKENS = 8_192
#: The models of this process, to be closed at its end.
_built: list[Model] = []


def provider_of(name: str) -> str:
    """Return the provider in a model's name."""
    return name.partition(":")[0]


def check_model(name: str) -> None:
    """Raise UsageError for a model that is unknown or cannot call tools."""
    from pydantic_ai.models import infer_model_profile, parse_model_id
    from pydantic_ai.providers import infer_provider_class

    provider, model = parse_model_id(name)
    if ":" not in name or provider is None or not model:  # a provider that is guessed from the name does not count
        raise UsageError(f"the model {name!r} has no provider: write provider:model, or set `models` in remit.toml")
    try:
        infer_provider_class(provider)
    except ValueError:
        raise UsageError(f"there is no provider {provider!r} (model {name!r})") from None
    except ImportError as error:
        raise UsageError(f"the provider {provider!r} needs a package that is not installed: {error}") from error
    if not infer_model_profile(name).get("supports_tools", True):
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


@lru_cache(maxsize=32)
def build_model(name: str) -> Model:
    """Return the model. There is one client per process, so that all jobs share its connections."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    check_key(provider_of(name))
    try:
        model = infer_model(name)
        _built.append(model)
    except UserError as error:
        need_key(name)
        raise UsageError(f"the model {name!r} cannot be used: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise UsageError(f"the model {name!r} cannot be used: {' '.join(str(error).split())}") from error
    if provider_of(name) == "anthropic" and not model.profile.get("supports_inline_system_prompts"):
        # Otherwise the library adds a paragraph on later system prompts, which Remit never sends.
        from pydantic_ai.models.anthropic import AnthropicModel

        if isinstance(model, AnthropicModel):
            inline = {"supports_inline_system_prompts": True}
            return AnthropicModel(model.model_name, provider=model.provider, profile=inline)  # type: ignore[arg-type]
    if provider_of(name) != "anthropic":
        model.continuation_delay = _no_continuation  # type: ignore[method-assign]
    return model


async def close_models() -> None:
    """Close the connections of this process's models. The next call of `build_model` opens new ones."""
    built, _built[:] = list(_built), []
    build_model.cache_clear()
    for model in built:
        async with model:
            pass  # the last exit from a model closes its client


def _no_continuation(response: ModelResponse) -> float | None:
    """Raise for an answer that looks like work in the background: Remit never requests that."""
    if response.state == "suspended":
        from pydantic_ai.exceptions import UnexpectedModelBehavior

        raise UnexpectedModelBehavior("the provider's answer cannot be parsed: it has neither text nor an end")
    return None


def instruction_blocks(brief: Brief) -> tuple[tuple[str, ...], str | None]:
    """Return the brief as system prompts and instructions, so that its text and the contract are sent separately."""
    texts = tuple(text for text in (brief.system, brief.contract) if text)
    if provider_of(brief.model) == "openai":
        return texts, None
    return (brief.system,) if brief.system else (), brief.contract or None


def model_settings(name: str, output: int) -> ModelSettings:
    """Return the settings of one request: without the library's retries, with the provider's cache."""
    from pydantic_ai.settings import ModelSettings

    if provider_of(name) == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModelSettings

        return AnthropicModelSettings(
            max_tokens=output,
            timeout=REQUEST_SECONDS,
            request_timeout=REQUEST_SECONDS,
            max_retries=0,
            anthropic_cache_instructions=True,
            anthropic_cache_tool_definitions=True,
            anthropic_cache_messages=True,
        )
    return ModelSettings(max_tokens=output, timeout=REQUEST_SECONDS, request_timeout=REQUEST_SECONDS, max_retries=0)


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
