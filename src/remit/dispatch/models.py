"""Models of any provider, by `provider:model`. Keys come from the provider's own variables and go nowhere else."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from remit.errors import UsageError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

    from remit.registry.model import Brief

#: Where each provider's key is looked for; keys themselves are never stored, shown or logged.
KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
#: Names of models that do something else than answer, by a word in them: the library says of none of these that it
#: cannot call tools.
_OTHER_WORK = {
    "makes embeddings": ("embed", "embedding", "embeddings"),
    "writes down speech": ("whisper", "transcribe", "transcription", "stt"),
    "speaks": ("tts", "speech"),
    "makes pictures": ("dall-e", "gpt-image", "chatgpt-image", "imagen"),
    "makes films": ("sora", "veo"),
    "judges texts": ("moderation", "guard"),
    "sorts texts": ("rerank", "reranker"),
    "reads scans": ("ocr",),
    "only completes text": ("davinci", "babbage"),
}
#: Seconds that a provider may take to answer, or to go on answering.
REQUEST_SECONDS = 600.0
#: Tokens that one answer may have, where the budget allows it.
OUTPUT_TOKENS = 8_192
_built: list[Model] = []


def provider_of(name: str) -> str:
    """The provider of a model's name."""
    return name.partition(":")[0]


def check_model(name: str) -> None:
    """Refuse a model that cannot do a subagent's work: unknown, or without tool calls."""
    from pydantic_ai.models import infer_model_profile, parse_model_id
    from pydantic_ai.providers import infer_provider_class

    provider, model = parse_model_id(name)
    if ":" not in name or provider is None or not model:  # a provider that is guessed from a name is none
        raise UsageError(f"the model {name!r} names no provider: write provider:model, or set `models` in remit.toml")
    try:
        infer_provider_class(provider)
    except ValueError:
        raise UsageError(f"there is no provider {provider!r} (model {name!r})") from None
    except ImportError as error:
        raise UsageError(f"the provider {provider!r} needs a package that is not installed: {error}") from error
    if not infer_model_profile(name).get("supports_tools", True):
        raise UsageError(f"the model {name!r} cannot call tools: choose another")
    for what, words in _OTHER_WORK.items():
        if re.search(rf"(?<![a-z])(?:{'|'.join(words)})(?![a-z])", model.lower()):
            raise UsageError(
                f"the model {name!r} {what} and cannot call tools: choose one that answers in text and calls tools"
            )


def check_key(provider: str) -> None:
    """Refuse a key that cannot be sent: the client would only say that it could not connect."""
    for variable in KEYS.get(provider, ()):
        key = os.environ.get(variable, "")
        if key != key.strip():
            raise UsageError(f"the key in {variable} has white space around it: set it again without")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise UsageError(f"the key in {variable} has characters that no key has: set it again")


@lru_cache(maxsize=32)
def build_model(name: str) -> Model:
    """The model; one client a process, so that its connections are shared by all jobs."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    check_key(provider_of(name))
    try:
        model = infer_model(name)
        _built.append(model)
    except UserError as error:
        missing = KEYS.get(provider_of(name), ())
        if missing and not any(os.environ.get(key) for key in missing):
            raise UsageError(f"there is no key for {provider_of(name)}: set {missing[0]}") from error
        raise UsageError(f"the model {name!r} cannot be used: {' '.join(str(error).split())}") from error
    except ImportError as error:
        raise UsageError(f"the model {name!r} cannot be used: {' '.join(str(error).split())}") from error
    if provider_of(name) == "anthropic" and not model.profile.get("supports_inline_system_prompts"):
        # Else the library adds a paragraph of its own to the system prompt. We send no later ones.
        from pydantic_ai.models.anthropic import AnthropicModel

        if isinstance(model, AnthropicModel):
            inline = {"supports_inline_system_prompts": True}
            return AnthropicModel(model.model_name, provider=model.provider, profile=inline)  # type: ignore[arg-type]
    if provider_of(name) != "anthropic":
        model.continuation_delay = _not_later  # type: ignore[method-assign]
    return model


async def close_models() -> None:
    """Close the connections of this process's models; whoever asks for one next gets new ones."""
    built, _built[:] = list(_built), []
    build_model.cache_clear()
    for model in built:
        async with model:
            pass  # the last one who leaves a model closes its client


def _not_later(response: ModelResponse) -> float | None:
    """We ask for no work in the background: an answer that looks like it is none, and not to be asked for again."""
    if response.state == "suspended":
        from pydantic_ai.exceptions import UnexpectedModelBehavior

        raise UnexpectedModelBehavior("the provider's answer cannot be understood: it has neither words nor an end")
    return None


def instruction_blocks(brief: Brief) -> tuple[tuple[str, ...], str | None]:
    """The brief as system prompts and instructions, so that on the wire the chosen text and the contract are two."""
    texts = tuple(text for text in (brief.system, brief.contract) if text)
    if provider_of(brief.model) == "openai":
        return texts, None
    return (brief.system,) if brief.system else (), brief.contract or None


def model_settings(name: str, output: int) -> ModelSettings:
    """Settings of one request: retrying is ours, caching is the provider's where it has to be asked for."""
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
    """Refuse a limit of money where nobody knows what anything costs: it could not be kept."""
    if model_prices(name)[1] == 0.0:
        raise UsageError(f"the price of {name!r} is not known, so a limit of money cannot be kept: limit its tokens")


def model_prices(name: str) -> tuple[float, float]:
    """Dollars for a token sent and a token got; zeros where the price is not known."""
    from genai_prices import Usage, calc_price

    provider, _, model = name.partition(":")
    found: list[float] = []
    for usage in (Usage(input_tokens=1_000), Usage(output_tokens=1_000)):
        try:
            found.append(float(calc_price(usage, model, provider_id=provider).total_price) / 1_000)
        except (LookupError, ValueError):
            return 0.0, 0.0
    return found[0], found[1]
