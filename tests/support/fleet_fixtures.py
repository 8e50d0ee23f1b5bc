"""Fixtures of tests that run a fleet; a `conftest.py` imports them by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.fleet import Fleet, Postgres, opened
from support.model_process import RemoteServer, model_process
from support.ready_process import Source, process_source

#: A new fleet on a database of its own, by the script of its model.
MakeFleet = Callable[..., Fleet]


@pytest.fixture(scope="session")
def source() -> Iterator[Source]:
    """Where processes of remit come from."""
    with process_source() as found:
        yield found


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """One server for all tests that do not harm it."""
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    server.close()


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], RemoteServer]]:
    """Start a model server with a script."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(model_process(script, tmp_path))


@pytest.fixture
def fleet(source: Source, postgres: Postgres, tmp_path: Path) -> Iterator[MakeFleet]:
    """Make a fleet on a new database."""
    with ExitStack() as stack:

        def made(model: RemoteServer | None = None, address: str | None = None, name: str = "fleet") -> Fleet:
            where = postgres.database() if address is None else address
            return stack.enter_context(opened(source, tmp_path / name, where, model))

        yield made
