"""Every connection has limits and settings; what an address sets itself is kept."""

from __future__ import annotations

import asyncio
import socketserver
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from support.waiting import PATIENCE

from remit.errors import EnvironmentBroken
from remit.store import database
from remit.store.database import OPTIONS, SessionFacts, connection_target, is_refused_option, open_database

ONE = "postgresql://fleet@db1.example/fleet"
TWO = "postgresql://fleet@db1.example:5432,db2.example:5432/fleet"


def test_a_silent_server_is_given_up() -> None:
    parameters = connection_target(ONE).parameters

    assert parameters["connect_timeout"] == 10
    assert parameters["tcp_user_timeout"] == 20_000
    assert parameters["keepalives_idle"] + parameters["keepalives_count"] * parameters["keepalives_interval"] <= 30
    assert "target_session_attrs" not in parameters
    make_conninfo(ONE, **parameters)  # the client library knows all of them


@pytest.mark.parametrize(
    ("answer", "words"),
    [(b"", "answered no query for 0.2 seconds"), (b"H\xffgarbage" * 1_000, "the database does not answer")],
    ids=["nothing", "garbage"],
)
def test_a_server_that_does_not_answer_as_postgresql_does_is_given_up(
    answer: bytes, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(database, "_ANSWER_SECONDS", 0.2)
    end = Event()

    class Server(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.request.sendall(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")  # accepts anybody; ready for a query
            self.request.recv(65_536)
            self.request.sendall(answer)
            end.wait(PATIENCE)

    async def connect(port: int) -> None:
        address = f"postgresql://remit@127.0.0.1:{port}/none?sslmode=disable&gssencmode=disable"
        async with open_database(address, tmp_path):
            pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever).start()
        with pytest.raises(EnvironmentBroken, match=words):
            asyncio.run(connect(server.server_address[1]))
        end.set()
        server.shutdown()


@pytest.mark.parametrize("name", ["connect_timeout", "tcp_user_timeout", "keepalives_idle", "keepalives_count"])
def test_a_limit_in_the_address_is_kept(name: str) -> None:
    assert name not in connection_target(f"{ONE}?{name}=7").parameters
    assert name not in connection_target(f"{TWO}?{name}=7").parameters


def test_of_several_hosts_the_one_that_accepts_writes_is_used_and_a_dead_one_costs_little() -> None:
    parameters = connection_target(TWO).parameters

    assert (parameters["target_session_attrs"], parameters["connect_timeout"]) == ("read-write", 3)
    assert "target_session_attrs" not in connection_target(f"{TWO}?target_session_attrs=any").parameters


def test_settings_of_the_session_are_added_to_those_of_the_address() -> None:
    assert "search_path=remit,public" in OPTIONS
    assert connection_target(ONE).parameters["options"] == OPTIONS
    own = connection_target(f"{ONE}?options=-c%20work_mem%3D8MB").parameters["options"]
    assert own == f"-c work_mem=8MB {OPTIONS}"


def test_behind_a_pooler_nothing_is_prepared() -> None:
    target = connection_target(ONE)

    assert "prepare_threshold" not in target.after(SessionFacts()).parameters
    pooled = target.without_options().after(SessionFacts(is_pooled=True))
    assert pooled.parameters["prepare_threshold"] is None
    assert "options" not in pooled.parameters
    assert pooled.session.is_pooled


@pytest.mark.parametrize(
    ("message", "is_refused"),
    [
        ("FATAL:  unsupported startup parameter: options", True),
        ("FATAL:  unsupported startup parameter in options: search_path", True),
        ('FATAL:  role "fleet" does not exist', False),
    ],
)
def test_a_pooler_that_refuses_settings_is_recognised(message: str, *, is_refused: bool) -> None:
    assert is_refused_option(psycopg.OperationalError(message)) is is_refused


def test_a_text_that_is_not_an_address_is_reported_without_it() -> None:
    with pytest.raises(EnvironmentBroken, match="REMIT_DATABASE_URL is not a valid address") as raised:
        connection_target("nonsense hunter2")
    assert "hunter2" not in str(raised.value)
