"""Read and write JSON without the module `json`, which loads `re` and takes longer to load than a hook runs.

The C functions behind that module do the work.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Reading:
    """The options of the C scanner: those of `json.loads`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    def __init__(self, parse_constant: Callable[[str], Any]) -> None:
        self.parse_constant = parse_constant
        self.memo: dict[str, str] = {}


def loads(data: bytes, parse_constant: Callable[[str], Any] = _NUMBERS.__getitem__) -> Any:
    """Return the value of a JSON text in UTF-8. Raises ValueError or RecursionError, as `json.loads` does."""
    reading: Any = _Reading(parse_constant)
    scan = make_scanner(reading)
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass").strip(_SPACE)
    try:
        value, end = scan(text, 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one value")
    return value


def _refuse(value: object) -> Any:
    raise TypeError(f"a value of the type {type(value).__name__} is not JSON")


def dumps(value: Any, default: Callable[[Any], Any] = _refuse) -> bytes:
    """Return a value as JSON in ASCII, without spaces; `default` returns what is written instead of another object.

    Raises ValueError for numbers that JSON lacks.
    """
    markers: dict[int, Any] = {}  # which make a value that contains itself an error
    encoder: Any = make_encoder(markers, default, encode_basestring_ascii, None, ":", ",", False, False, False)  # noqa: FBT003
    return "".join(encoder(value, 0)).encode("ascii")
