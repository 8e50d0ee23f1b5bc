"""Text that PostgreSQL can store: without NUL characters and lone surrogates."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def to_storable(value: T) -> T:
    """Replace the characters that cannot be stored in a text, or in all texts of a nested value."""
    return _storable(value)  # type: ignore[no-any-return]


def is_storable(text: str) -> bool:
    """Return whether a text can be stored unchanged."""
    return _UNSTORABLE.search(text) is None


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_storable(name): _storable(inner) for name, inner in value.items()}
    if isinstance(value, msgspec.Struct):
        return msgspec.convert(_storable(msgspec.to_builtins(value)), type(value))
    return [_storable(inner) for inner in value] if isinstance(value, list | tuple) else value
