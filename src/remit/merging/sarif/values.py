"""Read untrusted values of a SARIF file: a value that is missing, broken or of the wrong type counts as absent.

A file is decoded level by level (`parse_object`), so that a broken part affects only itself.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

MAX_DETAILS = 20_000
#: The limit characters of a text that are searched for a title.
MAX_HEAD = 1_000
MAX_NAME = 200

T = TypeVar("T")
Fields = dict[str, msgspec.Raw]

_SURROGATE = re.compile(rb"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[dD][89a-fA-F][\da-fA-F]{2}")


def as_utf8(data: bytes) -> bytes:
    """Return the file as UTF-8 without a byte order mark, invalid bytes and lone surrogates."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    data = data.decode(encoding, "replace").encode("utf-8", "replace")
    return _SURROGATE.sub(lambda match: match[0] if len(match[0]) == 12 else b"\\ufffd", data)


def parse_object(raw: bytes | msgspec.Raw | None, kind: type[T]) -> T | None:
    """Decode one level of the file; None if it is missing, broken or of another type."""
    try:
        return msgspec.json.decode(raw, type=kind) if raw is not None else None
    except (ValueError, RecursionError):
        return None


def as_dict(value: object) -> dict[str, Any]:
    """Return a value that should be an object; an empty one if it is not."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a value that should be a list; an empty one if it is not."""
    return value if isinstance(value, list) else []


def as_text(value: object, limit: int = MAX_DETAILS) -> str:
    """Return a value that should be text, cut at `limit` characters; empty if it is not text."""
    if not isinstance(value, str):
        return ""
    return value if len(value) <= limit else value[: limit - 1] + "…"


def as_number(value: object) -> float | None:
    """Return a number from 0 to 100, also if it is written as a string."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= 100 else None


def item_at(values: list[Any], index: object) -> Any:
    """Return the value at an untrusted index; None if there is no such index."""
    return values[index] if type(index) is int and 0 <= index < len(values) else None
