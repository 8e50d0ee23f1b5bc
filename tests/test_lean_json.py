"""JSON of hooks is read and written as the standard module does, without loading it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.lean_json import dumps, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_is_written_and_read_as_by_the_module(value: object) -> None:
    written = dumps(value)
    assert written == json.dumps(value, separators=(",", ":")).encode()
    assert loads(written) == value
    assert loads(json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value


@given(st.binary(max_size=60) | st.text(alphabet='[]{}",:0123456789 \\ultrefanI\n', max_size=30).map(str.encode))
def test_any_bytes_are_judged_as_by_the_module(data: bytes) -> None:
    try:
        expected = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        with pytest.raises((ValueError, RecursionError)):
            loads(data)
    else:
        assert repr(loads(data)) == repr(expected)


@pytest.mark.parametrize("data", [b"", b" ", b"{} x", b"nul", b"\xff", b"[" * 200_000, b"1" * 5_000])
def test_what_is_not_json_is_an_error(data: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        loads(data)


def test_a_mark_of_byte_order_is_skipped() -> None:
    assert loads(b'\xef\xbb\xbf {"a": 1}\n') == {"a": 1}


def test_values_that_json_lacks_are_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    for value in (float("nan"), [float("inf")], endless):
        with pytest.raises(ValueError, match=r"float|Circular"):
            dumps(value)
    with pytest.raises(TypeError, match="object"):
        dumps({"a": object()})
    assert dumps({"a": range(2)}, list) == b'{"a":[0,1]}'
    assert loads(b"-Infinity") == float("-inf")
    assert loads(b"[NaN]", lambda _: None) == [None]
