"""Read and write JSON without the module `json`, which loads `re` and takes longer to load than a hook runs.

The C functions behind that module do the work. Where Python does not have them, the module itself is used.
"""

from __future__ import annotations

from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: A Python that lacks the C functions, or that wants other arguments or options for them.
_OTHER_PYTHON = (ImportError, AttributeError, TypeError)
_SPACE = " \t\n\r"
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Faster(_local):
    """Functions of a library that a thread has loaded anyway, see `use_faster`."""

    read: Callable[[bytes], Any] | None = None
    write: Callable[[Any], bytes] | None = None


_faster = _Faster()


def use_faster(read: Callable[[bytes], Any], write: Callable[[Any], bytes]) -> None:
    """Use other functions in this thread. A text or value that they refuse with ValueError is handled as before."""
    _faster.read, _faster.write = read, write


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
    if _faster.read is not None:
        try:
            return _faster.read(data)
        except ValueError:  # perhaps a text that only the functions below accept
            pass
    try:
        from _json import make_scanner

        reading: Any = _Reading(parse_constant)
        scan = make_scanner(reading)
    except _OTHER_PYTHON:
        return _module().loads(data, parse_constant=parse_constant)
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass").strip(_SPACE)
    try:
        value, end = scan(text, 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one value")
    return value


def dumps(value: Any, *, allow_nan: bool = False) -> bytes:
    """Return a value as JSON in ASCII, without spaces. Raises ValueError for values that JSON lacks.

    With `allow_nan`, numbers that JSON lacks are written as the module `json` does, and by the functions of
    `use_faster`, which write UTF-8, as null.
    """
    if allow_nan and _faster.write is not None:
        try:
            return _faster.write(value)
        except ValueError:  # perhaps a text with half a surrogate pair
            pass
    try:
        from _json import encode_basestring_ascii, make_encoder

        markers: dict[int, Any] = {}  # which make a value that contains itself an error
        encoder = make_encoder(markers, _refuse, encode_basestring_ascii, None, ":", ",", False, False, allow_nan)  # noqa: FBT003
    except _OTHER_PYTHON:
        return bytes(_module().dumps(value, allow_nan=allow_nan, separators=(",", ":")).encode("ascii"))
    return "".join(encoder(value, 0)).encode("ascii")


def _refuse(value: object) -> Any:
    raise TypeError(f"a value of the type {type(value).__name__} is not JSON")


def _module() -> Any:
    import json

    return json
