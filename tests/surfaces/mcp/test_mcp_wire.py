"""How `remit mcp` reads its input."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.surfaces.mcp import wire
from remit.surfaces.mcp.wire import read_lines


def read(data: bytes) -> list[bytes | None]:
    """Return the lines that arrive through a pipe, in pieces as the system cuts them."""
    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return list(read_lines(ours))
    finally:
        thread.join()
        os.close(ours)


@given(st.lists(st.binary(max_size=200).filter(lambda part: b"\n" not in part), max_size=20))
def test_lines_arrive_as_they_were_sent(parts: list[bytes]) -> None:
    assert read(b"".join(part + b"\n" for part in parts)) == parts


def test_a_last_line_without_an_end_arrives_too() -> None:
    assert read(b"one\ntwo") == [b"one", b"two"]


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_MESSAGE", 100_000)
    long = b"x" * 350_000
    assert read(long + b"\nshort\n" + b"y" * 100_001 + b"\n" + b"z" * 100_000 + b"\n" + long) == [
        None,
        b"short",
        None,
        b"z" * 100_000,
        None,
    ]
