"""What `remit mcp` answers before the library is loaded, and how it reads its input."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.surfaces.mcp import stdio, wire
from remit.surfaces.mcp.stdio import CAPABILITIES_KEY, CLIENT_KEY, EARLY_ANSWERS, VERSION_KEY, EarlyAnswers
from remit.surfaces.mcp.wire import read_lines

TABLE: dict[str, Any] = json.loads(Path(stdio.__file__).with_name(EARLY_ANSWERS).read_text(encoding="utf-8"))
CLIENT = {"name": "client", "version": "1"}
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": CLIENT}
ENVELOPE = {"_meta": {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, CLIENT_KEY: CLIENT}}


def line(method: str, params: Any = None, **fields: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {}), **fields}
    return json.dumps(message).encode()


def early(*, is_read_only: bool = False) -> EarlyAnswers:
    return EarlyAnswers(TABLE, is_read_only=is_read_only)


def names(answer: bytes | None) -> set[str]:
    assert answer is not None
    return {tool["name"] for tool in json.loads(answer)["result"]["tools"]}


@pytest.mark.parametrize("version", [name for name in TABLE["versions"] if name != "2026-07-28"])
def test_a_handshake_of_each_version_is_answered_at_once(version: str) -> None:
    server = early()
    asked = line("initialize", {**HANDSHAKE, "protocolVersion": version}, id=7)
    answer = json.loads(server.answer(asked) or b"")
    assert (answer["id"], answer["jsonrpc"]) == (7, "2.0")
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"]["name"] == "remit"
    assert server.answer(line("notifications/initialized")) == b""
    assert len(names(server.answer(line("tools/list", {}, id="two")))) == 10
    assert server.handshake == [asked, line("notifications/initialized")]
    assert server.answered == 7


def test_a_protocol_without_handshake_is_answered_at_once() -> None:
    server = early()
    found = json.loads(server.answer(line("server/discover", ENVELOPE, id=1)) or b"")["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert len(names(server.answer(line("tools/list", ENVELOPE, id=2)))) == 10
    assert server.handshake == [], "nothing of it has to be repeated for the library"


def test_a_read_only_server_lists_only_what_changes_nothing() -> None:
    server = early(is_read_only=True)
    assert server.answer(line("initialize", HANDSHAKE, id=1))
    listed = names(server.answer(line("tools/list", id=2)))
    assert {"verify_text", "get_job"} <= listed
    assert not listed & {"submit_job", "answer_question", "record_decision"}


@pytest.mark.parametrize(
    "asked",
    [
        b"",
        b"not json",
        b"[" * 100_000,
        b"[]",
        b'"text"',
        line("initialize", HANDSHAKE),
        line("initialize", HANDSHAKE, id=True),
        line("initialize", HANDSHAKE, id=None),
        line("initialize", {**HANDSHAKE, "protocolVersion": "1999-01-01"}, id=1),
        line("initialize", {**HANDSHAKE, "protocolVersion": ["2025-11-25"]}, id=1),
        line("initialize", {**HANDSHAKE, "clientInfo": {}}, id=1),
        line("initialize", {**HANDSHAKE, "capabilities": None}, id=1),
        line("initialize", [HANDSHAKE], id=1),
        line("initialize", id=1),
        line("initialize", HANDSHAKE, id=1, jsonrpc="1.0"),
        line("notifications/initialized"),
        line("tools/list", id=1),
        line("tools/call", {"name": "verify_text"}, id=1),
        line("server/discover", id=1),
        line("server/discover", {"_meta": {VERSION_KEY: "2026-07-28"}}, id=1),
        line("server/discover", {**ENVELOPE, "more": 1}, id=1),
        line("tools/list", {"_meta": {**ENVELOPE["_meta"], VERSION_KEY: "2099-01-01"}}, id=1),
    ],
    ids=lambda asked: asked[:80].decode(),
)
def test_anything_else_is_left_to_the_library(asked: bytes) -> None:
    server = early()
    assert server.answer(asked) is None
    assert server.handshake == []


def test_after_the_handshake_only_a_plain_list_is_answered_at_once() -> None:
    server = early()
    assert server.answer(line("initialize", HANDSHAKE, id=1))
    for asked in (
        line("tools/list", {"cursor": "x"}, id=2),
        line("tools/list", ENVELOPE, id=3),
        line("initialize", HANDSHAKE, id=4),
        line("resources/list", id=5),
        line("tools/list"),
    ):
        assert server.answer(asked) is None


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
