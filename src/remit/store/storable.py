"""Text as PostgreSQL can hold it: without character zero and without half characters."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def to_storable(value: T) -> T:
    """A text, or all texts inside a value, with what cannot be stored replaced; a model may put it anywhere."""
    return _storable(value)  # type: ignore[no-any-return]


def is_storable(text: str) -> bool:
    """Whether a text can be stored as it is."""
    return _UNSTORABLE.search(text) is None


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_storable(name): _storable(inner) for name, inner in value.items()}
    if isinstance(value, msgspec.Struct):
        return msgspec.convert(_storable(msgspec.to_builtins(value)), type(value))
    return [_storable(inner) for inner in value] if isinstance(value, list | tuple) else value
