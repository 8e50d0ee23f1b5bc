"""Fixtures that several folders use. Heavy modules are imported late: most tests need none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.client_session import Client
    from support.commands import ForkServer
    from support.fleet import Fleet, Store
    from support.model_process import RemoteServer
    from support.postgres import Postgres

#: Makes a fleet on a new database.
MakeFleet = Callable[..., "Fleet"]


@pytest.fixture(scope="session")
def source() -> ForkServer:
    """The server that processes of remit are forked from."""
    from support.commands import CAN_FORK, fork_server

    if not CAN_FORK:
        pytest.skip("processes cannot be watched by file descriptor on this system")
    return fork_server()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """The PostgreSQL server of this test process, for tests that do not harm it."""
    from support.postgres import Postgres

    server = Postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    server.close()


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[Postgres]:
    """A server of one test, which may break it."""
    from support.postgres import Postgres

    server = Postgres(tmp_path / "own", is_safe=True)
    yield server
    server.start()
    server.close()


@pytest.fixture
def address(postgres: Postgres) -> Iterator[str]:
    """The address of a database of this test."""
    with postgres.temporary_database() as made:
        yield made


@pytest.fixture
def store(address: str) -> Store:
    """Queries on a database of this test."""
    from support.fleet import Store

    return Store(address)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], RemoteServer]]:
    """Start a model server with a script."""
    from support.model_process import model_process

    with ExitStack() as stack:
        yield lambda script: stack.enter_context(model_process(script, tmp_path))


@pytest.fixture
def fleet(source: ForkServer, postgres: Postgres, tmp_path: Path) -> Iterator[MakeFleet]:
    """Make a fleet on a new database."""
    from support.fleet import opened

    with ExitStack() as stack:

        def make(model: RemoteServer | None = None, address: str | None = None, name: str = "fleet") -> Fleet:
            if address is None:
                address = stack.enter_context(postgres.temporary_database())
            return stack.enter_context(opened(source, tmp_path / name, address, model))

        yield make


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Client]:
    """Begin a session of Claude Code with these settings that the person names, in a separate home folder."""
    from support.client_session import Client

    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "REMIT_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    def begun(settings: str) -> Client:
        if settings:
            monkeypatch.setenv("REMIT_CONFIG", str(tmp_path / "shop/remit.toml"))
        return Client(tmp_path, settings)

    return begun
