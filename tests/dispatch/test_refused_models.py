"""Unusable models and keys are refused with a hint that never contains the key."""

from __future__ import annotations

import pytest
from support.commands import ANTHROPIC
from support.running import OPENAI, Play, both_providers

from remit.dispatch.model_client import build_model, classify_error
from remit.dispatch.models import check_model
from remit.errors import UsageError

pytest_plugins = ("support.running",)
VARIABLE = {ANTHROPIC: "ANTHROPIC_API_KEY", OPENAI: "OPENAI_API_KEY"}


@pytest.mark.parametrize(
    "name",
    [
        "text-embedding-3-large",
        "whisper-1",
        "tts-1-hd",
        "gpt-4o-mini-tts",
        "gpt-4o-transcribe",
        "dall-e-3",
        "gpt-image-1",
        "omni-moderation-latest",
        "sora-2",
        "davinci-002",
        "meta/Llama-Guard-4-12B",
        "nomic-embed-text:v1.5",
    ],
)
def test_a_model_of_another_kind_is_refused_with_a_hint(name: str) -> None:
    with pytest.raises(UsageError, match="cannot call tools: choose one that answers in text and calls tools"):
        check_model(f"openai:{name}")


@pytest.mark.parametrize("name", ["gpt-5", "o3", "gpt-4o-audio-preview", "chatgpt-4o-latest", "vanguard-1", "soran"])
def test_a_model_that_answers_is_not_refused_for_its_name(name: str) -> None:
    check_model(f"openai:{name}")


@pytest.mark.anyio
@both_providers
@pytest.mark.parametrize("around", ["{}\n", " {}", "{}\r\n"])
async def test_white_space_around_a_key_is_reported(
    play: Play, model: str, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with play({"text": "never asked"}) as fleet:
        monkeypatch.setenv(VARIABLE[model], around.replace("{}", "a-key-of-this-test"))
        build_model.cache_clear()
        done = await fleet.run(model=model)
        assert (done.outcome, done.error) == (
            "error",
            f"the key in {VARIABLE[model]} starts or ends with white space: set it without",
        )
        assert fleet.requests == []


@pytest.mark.parametrize("key", ["schlüssel-value-44", "two words", "with\x1bescape"])
def test_a_key_with_characters_that_cannot_be_sent_is_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    build_model.cache_clear()
    with pytest.raises(
        UsageError, match="the key in OPENAI_API_KEY contains characters that a key cannot have"
    ) as refused:
        build_model(OPENAI)
    assert key not in str(refused.value)


@pytest.mark.anyio
@both_providers
async def test_a_key_without_a_form_that_a_provider_repeats_is_not_stored(
    play: Play, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "abcdef0123456789abcdef0123456789"
    async with play({"fail": {"status": 401, "message": f"Incorrect API key provided: {key}"}}) as fleet:
        monkeypatch.setenv(VARIABLE[model], key)
        build_model.cache_clear()
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        assert f"Incorrect API key provided: [{VARIABLE[model]} removed]" in str(done.error)
        assert await fleet.tables_with(key) == []


def test_a_key_at_the_end_of_a_long_message_is_not_cut_before_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "no-form-at-all-4242")
    failure = classify_error(ValueError("x" * 990 + " no-form-at-all-4242 is wrong"))
    assert "no-form" not in str(failure)
