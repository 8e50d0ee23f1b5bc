"""Connections to the store, embedded or shared, with its tables made."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from remit.errors import EnvironmentBroken
from remit.store.migrate import migrate
from remit.store.server import EmbeddedServer
from remit.workspace.git_folder import keep_out_of_git

T = TypeVar("T")
Connection = psycopg.AsyncConnection[DictRow]
#: How long writing goes on trying while the database is away: it may be restarting.
RETRY_SECONDS = 60.0
_PAUSE_SECONDS = 0.25
#: After so long a pool begins anew to connect: its pauses double, and would outlast a restart by minutes.
RECONNECT_SECONDS = 4.0
#: Our tables and the queue's, whoever connects; and a worker that froze in a transaction gives its locks back.
OPTIONS = "-c search_path=remit,public -c idle_in_transaction_session_timeout=5s"
#: How a server refuses that will soon be there: such a refusal has no code that the client hands on.
_STARTING = ("is starting up", "is not yet accepting connections", "is in recovery mode")
#: What says that the database is away, not that a statement is wrong.
CONNECTION_ERRORS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
    PoolTimeout,
)
_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)
_SHARED = re.compile(r"\{(\w+)\}")


class DatabaseUnavailable(EnvironmentBroken):
    """The database is away, and was for as long as anybody waits."""


class Database:
    """The store as one process uses it: a pool of connections."""

    def __init__(
        self, address: str, pool: AsyncConnectionPool[Connection], revive: Callable[[], None] | None = None
    ) -> None:
        self.address = address
        self._pool = pool
        self._revive = revive

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        """A connection of the pool. Whoever is cancelled meanwhile hears of it, whatever the pool made of that.

        Before Python 3.12 `wait_for` forgets that it was cancelled if what it waits for comes at the same moment, and
        so does the pool.
        """
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        async with self._pool.connection() as connection:
            if task is not None and task.cancelling() > before:
                raise asyncio.CancelledError
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection in a transaction: all of it or nothing."""
        async with self._connection() as connection, connection.transaction():
            yield connection

    async def rows(self, name: str, /, **values: Any) -> list[DictRow]:
        """The rows of a named query."""
        return await self.patiently(lambda: self.once(name, **values))

    async def once(self, name: str, /, **values: Any) -> list[DictRow]:
        """The rows of a named query that must not be run twice: who asked hears that the database went away."""
        async with self._connection() as connection:  # one statement is a transaction of its own
            return await rows(connection, name, **values)

    async def row(self, name: str, /, **values: Any) -> DictRow | None:
        """The first row of a named query."""
        found = await self.rows(name, **values)
        return found[0] if found else None

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that may be done again, for as long as the database may be restarting."""
        end = asyncio.get_running_loop().time() + RETRY_SECONDS
        while True:
            try:
                return await work()
            except CONNECTION_ERRORS as error:
                if isinstance(error, psycopg.errors.DiskFull) or asyncio.get_running_loop().time() > end:
                    raise _silent(error) from error
                await asyncio.sleep(_PAUSE_SECONDS)
                if self._revive is not None:
                    await asyncio.to_thread(self._revive)

    async def frankly(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that must not be done again: if the database went away, that is said in a sentence."""
        try:
            return await work()
        except CONNECTION_ERRORS as error:
            raise _silent(error) from error


def _silent(error: Exception) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"the database does not answer: {' '.join(str(error).split())}")


async def rows(connection: Connection, name: str, /, **values: Any) -> list[DictRow]:
    """The rows of a named query, in a transaction that is already open."""
    cursor = await connection.execute(query(name), values)
    return await cursor.fetchall() if cursor.description else []


def data_folder(configured: str, start: Path) -> Path:
    """The folder for what remit keeps: the configured one, else `.remit` at the root of the project."""
    if configured:
        return Path(configured).absolute()
    for folder in (start.absolute(), *start.absolute().parents):
        if _is_ours(folder / ".remit") or (folder / ".git").exists():
            return folder / ".remit"
    return start.absolute() / ".remit"


def _is_ours(folder: Path) -> bool:
    """Whether a folder is there and belongs to this user: somebody else's is not for our data."""
    try:
        return folder.is_dir() and folder.stat().st_uid == os.getuid()
    except OSError:
        return False


@asynccontextmanager
async def open_database(
    address: str | None, folder: Path, connections: int = 10, *, is_examined: bool = False
) -> AsyncIterator[Database]:
    """The database at an address, else the embedded one of a data folder; `is_examined`: its tables as they are."""
    server = None if address else EmbeddedServer(folder / "postgres")
    if server is not None:
        _ignored_by_git(folder)
        address = await asyncio.to_thread(server.open)
    try:
        await _connect(str(address), is_examined=is_examined)
        async with _pool(str(address), connections) as pool:
            yield Database(str(address), pool, server.revive if server is not None else None)
    finally:
        if server is not None:
            await asyncio.to_thread(server.close)


def _ignored_by_git(folder: Path) -> None:
    try:
        keep_out_of_git(folder)
    except OSError as error:
        raise EnvironmentBroken(
            f"{folder} cannot be used for remit's data: {error.strerror}; REMIT_DATA names another folder, "
            "REMIT_DATABASE_URL a PostgreSQL server"
        ) from error


async def _connect(address: str, *, is_examined: bool) -> None:
    """See whether there is a database, and bring it up to date."""
    try:
        conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # what it says may hold the password
        raise EnvironmentBroken(
            "REMIT_DATABASE_URL cannot be read as an address: write postgresql://user@host:port/database"
        ) from None
    try:
        async with await _first(address) as first:
            if not is_examined:
                await migrate(first)
    except psycopg.OperationalError as error:
        said = " ".join(str(error).split())
        raise EnvironmentBroken(f"the database does not answer: {said}; is REMIT_DATABASE_URL right?") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise EnvironmentBroken(
            f"remit may not make its tables in this database: {' '.join(str(error).split())}; "
            "give the account of REMIT_DATABASE_URL the right to create schemas"
        ) from error


async def _first(address: str) -> Connection:
    """The first connection; a server that has only begun to start, perhaps for somebody else, is waited for."""
    end = asyncio.get_running_loop().time() + RETRY_SECONDS
    while True:
        try:
            return await psycopg.AsyncConnection.connect(
                address, row_factory=dict_row, options=OPTIONS, connect_timeout=10
            )
        except psycopg.OperationalError as error:
            if not any(words in str(error) for words in _STARTING) or asyncio.get_running_loop().time() > end:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)


@asynccontextmanager
async def _pool(address: str, connections: int) -> AsyncIterator[AsyncConnectionPool[Connection]]:
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        address,
        min_size=1,
        max_size=max(2, connections),
        kwargs={
            "row_factory": dict_row,
            "options": OPTIONS,
            "application_name": f"remit {os.getpid()}",
            "autocommit": True,
        },
        open=False,
        timeout=5,
        reconnect_timeout=RECONNECT_SECONDS,
    )
    async with pool:
        yield pool


@cache
def _subject(subject: str) -> dict[str, str]:
    text = (files("remit.store") / "sql" / f"{subject}.sql").read_text(encoding="utf-8")
    pieces = _NAME.split(text)
    named = {name: sql.strip() for name, sql in zip(pieces[1::2], pieces[2::2], strict=True)}
    return {name: _SHARED.sub(lambda shared: named[shared[1]], sql) for name, sql in named.items()}


def query(name: str) -> str:
    """The query `subject.name`. It is our own text: values go in as parameters only."""
    subject, _, own = name.partition(".")
    return _subject(subject)[own]
