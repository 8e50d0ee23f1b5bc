"""A worker loads the client of the configured model before it claims a job."""

from __future__ import annotations

import pytest

from remit.configuration import load
from remit.dispatch import worker
from remit.errors import UsageError


@pytest.mark.parametrize(
    ("key", "built"),
    [("ANTHROPIC_API_KEY", ["anthropic:claude-sonnet-5"]), ("OPENAI_API_KEY", []), ("GROQ_UNKNOWN", [])],
    ids=["key of the configured model", "key of another provider", "no key"],
)
def test_the_client_of_the_configured_model_is_built_if_it_has_a_key(
    key: str, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(key, "key-of-this-test")
    monkeypatch.setenv("REMIT_MODEL", "anthropic:claude-sonnet-5")
    monkeypatch.setattr(worker, "import_module", lambda name: name)
    monkeypatch.setattr(worker, "build_model", found.append)

    worker.preload()

    assert load()["model"] == "anthropic:claude-sonnet-5"
    assert found == built


def test_a_model_that_cannot_be_built_does_not_stop_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def refuse(name: str) -> None:
        tried.append(name)
        raise UsageError(f"{name} cannot be used")

    monkeypatch.setenv("ANTHROPIC_API_KEY", " key with a space")
    monkeypatch.setenv("REMIT_MODEL", "anthropic:claude-sonnet-5")
    monkeypatch.setattr(worker, "import_module", lambda name: name)
    monkeypatch.setattr(worker, "build_model", refuse)

    worker.preload()

    assert tried == ["anthropic:claude-sonnet-5"]
