"""What a job needs that takes seconds to import, before the first job is there: one that is taken over cannot wait."""

from __future__ import annotations

import contextlib
import os
from importlib import import_module

from remit.dispatch.models import KEYS

_OF_EVERY_CONVERSATION = (
    "remit.dispatch.conversation",
    "remit.dispatch.tools.toolbox",
    "remit.checking",
    "genai_prices",
)


def preload() -> None:
    """Import the parts of a conversation, and the clients of those providers that there is a key for."""
    for name in _OF_EVERY_CONVERSATION:
        import_module(name)
    for provider, keys in KEYS.items():
        if any(os.environ.get(key) for key in keys):
            with contextlib.suppress(ImportError):  # a job that wants it is told so
                import_module(f"pydantic_ai.models.{provider}")
