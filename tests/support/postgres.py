"""A PostgreSQL server for tests: one for each test process, with a separate database for each test."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg

from remit.store.database import open_database
from remit.store.server import EmbeddedServer

#: A database with all tables and no rows; the others are copied from it.
_TEMPLATE = "made"
#: What makes a server survive a crash of its machine. Only a test of that needs it.
_SAFETY = ("fsync", "full_page_writes", "synchronous_commit")


class _Administered(EmbeddedServer):
    """A server whose superuser may connect: tests make databases and roles."""

    role = "remit"

    def _access(self) -> str:
        return "local all all trust\n"

    def _limit(self) -> None:
        pass


class Postgres:
    """A server in a folder, used as a server that a user has set up."""

    def __init__(self, folder: Path, *, is_safe: bool = False) -> None:
        self.folder = folder
        self._embedded = _Administered(folder)
        self._embedded.open()
        self._numbers = itertools.count(1)
        if not is_safe:
            for setting in _SAFETY:
                self.execute(f"ALTER SYSTEM SET {setting} = off")
            self.execute("SELECT pg_reload_conf()")
        self.execute(f"CREATE DATABASE {_TEMPLATE}")
        asyncio.run(self._create_tables())

    async def _create_tables(self) -> None:
        async with open_database(self.address(_TEMPLATE), self.folder):
            pass

    def address(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        return self._embedded.address.replace("/postgres?", f"/{database}?")

    def database(self) -> str:
        """Create a database with all tables and return its address."""
        # Copying files takes half the time of copying pages through the log.
        return self._create(f"TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY")

    def empty_database(self) -> str:
        """Create a database without tables and return its address."""
        return self._create()

    def _create(self, options: str = "") -> str:
        name = f"t{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.address(name)

    def drop(self, address: str) -> None:
        """Drop a database and end its connections."""
        name = address.partition("?")[0].rpartition("/")[2]
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @contextlib.contextmanager
    def temporary_database(self) -> Iterator[str]:
        """Yield the address of a database with all tables, and drop it afterwards."""
        address = self.database()
        try:
            yield address
        finally:
            self.drop(address)

    def execute(self, statement: str) -> None:
        """Run a statement in the database `postgres`."""
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(statement.encode())

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return int((self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])

    def crash(self) -> None:
        """End the server at once; it loses what it has not written."""
        postmaster = os.pidfd_open(self.pid)
        os.kill(self.pid, signal.SIGQUIT)  # what `pg_ctl stop -m immediate` sends
        ended, _, _ = select.select([postmaster], [], [], 60)
        assert ended
        os.close(postmaster)

    def start(self) -> None:
        """Start the server again."""
        self._embedded.open()

    def close(self) -> None:
        """Stop the server."""
        self._embedded.close()
