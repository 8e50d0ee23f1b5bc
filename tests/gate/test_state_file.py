"""The file of a state: what is appended is read back, and an incomplete line is never used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.gate import state_file
from remit.gate.session import SCHEMA
from remit.gate.session_store import open_session, read_session
from remit.gate.state_file import EncodedEntries, append_state, mark_of, read_state_file, replace_state
from remit.lean_json import dumps, loads


def document(number: int, size: int = 0) -> bytes:
    return dumps({"n": number, "filler": "x" * size})


def numbered(path: Path) -> Any:
    values = read_state_file(str(path), lambda value: isinstance(value, dict)).values
    return None if values is None else values["n"]


def saved(path: Path, count: int, size: int = 0) -> None:
    mark = replace_state(str(path), document(0, size))
    for number in range(1, count):
        mark = append_state(str(path), document(number, size), mark)
        assert mark == mark_of(str(path))


@pytest.mark.parametrize("size", [0, 5_000, 100_000], ids=["small", "one page and more", "more than the tail"])
def test_the_last_document_counts(tmp_path: Path, size: int) -> None:
    saved(tmp_path / "s", 4, size)
    assert (tmp_path / "s").read_bytes().count(b"\n") == 3
    assert numbered(tmp_path / "s") == 3


def test_an_append_that_was_cut_anywhere_leaves_the_document_before(tmp_path: Path) -> None:
    saved(tmp_path / "s", 3)
    whole = (tmp_path / "s").read_bytes()
    start = whole.rfind(b"\n")
    for end in range(start, len(whole)):
        (tmp_path / "s").write_bytes(whole[:end])
        assert numbered(tmp_path / "s") == 1, whole[start:end]
    (tmp_path / "s").write_bytes(whole)
    assert numbered(tmp_path / "s") == 2


def test_nothing_is_appended_after_an_incomplete_line(tmp_path: Path) -> None:
    saved(tmp_path / "s", 2)
    with (tmp_path / "s").open("ab") as file:
        file.write(b'\n{"n": 2, "fil')
    stored = read_state_file(str(tmp_path / "s"), lambda value: isinstance(value, dict))
    assert (stored.mark, stored.data) == (None, document(1))
    assert append_state(str(tmp_path / "s"), document(3), stored.mark) is None


def test_a_document_of_many_lines_is_read(tmp_path: Path) -> None:
    (tmp_path / "s").write_text('{\n "n": 5\n}\n')
    stored = read_state_file(str(tmp_path / "s"), lambda value: isinstance(value, dict))
    assert stored.values == {"n": 5}
    assert stored.mark is None, "it is replaced by the next save"


def test_a_file_that_changed_in_between_is_not_appended_to(tmp_path: Path) -> None:
    saved(tmp_path / "s", 2)
    mark = mark_of(str(tmp_path / "s"))
    (tmp_path / "s").write_bytes(document(9))
    assert append_state(str(tmp_path / "s"), document(3), mark) is None
    mark = mark_of(str(tmp_path / "s"))
    (tmp_path / "link").hardlink_to(tmp_path / "s")
    assert append_state(str(tmp_path / "s"), document(3), mark_of(str(tmp_path / "s"))) is None, "it has a second name"
    (tmp_path / "s").unlink()
    assert append_state(str(tmp_path / "s"), document(3), mark) is None
    assert mark_of(str(tmp_path / "s")) is None


def test_a_full_disk_leaves_the_earlier_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "s", 2)
    before = (tmp_path / "s").read_bytes()

    def write_a_part(descriptor: int, data: bytes) -> int:
        monkeypatch.undo()
        return os.write(descriptor, data[:5])

    monkeypatch.setattr(state_file.os, "write", write_a_part)
    assert append_state(str(tmp_path / "s"), document(2), mark_of(str(tmp_path / "s"))) is None
    assert (tmp_path / "s").read_bytes() == before

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state_file.os, "write", fail)
    assert append_state(str(tmp_path / "s"), document(2), mark_of(str(tmp_path / "s"))) is None


def test_a_long_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_file, "MAX_APPENDED", 4_000)
    longest = 0
    for number in range(40):
        with open_session(str(tmp_path), "one") as state:
            state.warn(f"warning {number}")
        longest = max(longest, (tmp_path / "one.json").stat().st_size)
    found = read_session(str(tmp_path), "one")
    assert found is not None
    assert len(found.warnings) == 40
    assert longest < 4_000
    assert (tmp_path / "one.json").read_bytes().count(SCHEMA.encode()) < 10


def test_a_save_that_a_client_waits_for_does_not_replace_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "MAX_APPENDED", 4_000)
    sizes = []
    for _ in range(40):
        with open_session(str(tmp_path), "one", is_urgent=True) as state:
            state.prompts += 1
        sizes.append((tmp_path / "one.json").stat().st_size)
    assert 4_000 < max(sizes) < 8_000, "it may become twice as long"
    while (tmp_path / "one.json").stat().st_size < 4_000:
        with open_session(str(tmp_path), "one", is_urgent=True) as state:
            state.prompts += 1
    with open_session(str(tmp_path), "one") as state:
        prompts = state.prompts
    assert (tmp_path / "one.json").stat().st_size < 1_000, "the next save replaces it"
    found = read_session(str(tmp_path), "one")
    assert found is not None
    assert found.prompts == prompts


entries = st.lists(
    st.dictionaries(st.text("ab\u00e9\ud800", max_size=3), st.integers() | st.none(), max_size=3), max_size=5
)


@given(st.lists(st.tuples(st.integers(0, 6), entries, st.integers()), max_size=6))
def test_entries_that_were_encoded_before_are_the_same_again(steps: list[tuple[int, list[Any], int]]) -> None:
    encoded = EncodedEntries()
    now: list[Any] = []
    for dropped, new, number in steps:
        now = [*now[dropped:], *new]
        if now:
            now[-1]["last"] = number  # the last entry may be changed
        assert loads(encoded.encode(now)) == now


def test_another_list_is_encoded_as_a_whole() -> None:
    encoded = EncodedEntries()
    first, second, third = {"n": 1}, {"n": 2}, {"n": 3}
    for entries in ([first, second, third], [first, third], [second], [], [third, first], [first, second, third]):
        assert loads(encoded.encode(entries)) == entries


def test_what_is_not_a_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (state_file.MAX_FILE_SIZE + 1))
    for name in ("missing", "folder", "pipe", "large"):
        assert numbered(tmp_path / name) is None
