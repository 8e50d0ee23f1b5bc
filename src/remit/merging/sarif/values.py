"""Values of a SARIF file, of which nothing is trusted: what is missing, broken or of a wrong type is not said.

A file is opened level by level (`opened`), so that a broken part costs only itself.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

MAX_DETAILS = 20_000
#: As much of a text as a title is looked for in.
MAX_HEAD = 1_000
MAX_NAME = 200

T = TypeVar("T")
Fields = dict[str, msgspec.Raw]

_SURROGATE = re.compile(rb"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[dD][89a-fA-F][\da-fA-F]{2}")


def as_utf8(data: bytes) -> bytes:
    """The file without a byte order mark, bytes that are no text, and halves of characters."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    data = data.decode(encoding, "replace").encode("utf-8", "replace")
    return _SURROGATE.sub(lambda found: found[0] if len(found[0]) == 12 else b"\\ufffd", data)


def parse_object(raw: bytes | msgspec.Raw | None, kind: type[T]) -> T | None:
    """One level of the file; None if it is not there, broken, or of another kind."""
    try:
        return msgspec.json.decode(raw, type=kind) if raw is not None else None
    except (ValueError, RecursionError):
        return None


def as_dict(value: object) -> dict[str, Any]:
    """A value that should be an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A value that should be a list; anything else is an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object, most: int = MAX_DETAILS) -> str:
    """A value that should be text, cut where it is longer than `most`; anything else is empty."""
    if not isinstance(value, str):
        return ""
    return value if len(value) <= most else value[: most - 1] + "…"


def as_number(value: object) -> float | None:
    """A number from 0 to 100, also one that is written as a string."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= 100 else None


def item_at(values: list[Any], index: object) -> Any:
    """The value at an index that may be anything."""
    return values[index] if type(index) is int and 0 <= index < len(values) else None
