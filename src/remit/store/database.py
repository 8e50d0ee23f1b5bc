"""Connect to the store, embedded or shared, and run its named queries."""

from __future__ import annotations

import asyncio
import os
import re
import select
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import Int8
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from remit.errors import EnvironmentBroken
from remit.store.schema import create_tables
from remit.store.server import EmbeddedServer

T = TypeVar("T")
Connection = psycopg.AsyncConnection[DictRow]
Cursor = psycopg.AsyncCursor[DictRow]
#: How long a statement is retried while the database is unavailable, for example during a restart.
RETRY_SECONDS = 60.0
_PAUSE_SECONDS = 0.25
#: How long a new connection waits for the answer to its first query.
_ANSWER_SECONDS = 20.0
#: How long the pool tries to connect before it starts over: its pauses double, and would outlast a restart by minutes.
RECONNECT_SECONDS = 4.0
#: Messages of a server that is starting. The client does not report an error code for them.
_STARTING = ("is starting up", "is not yet accepting connections", "is in recovery mode")
#: Errors of the connection, not of a statement.
CONNECTION_ERRORS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
    PoolTimeout,
)
#: Errors with which PostgreSQL rolls a statement back: invalid or failed transaction, no resources, a lock, a cancelled
#: statement, an orderly shutdown, a starting server. Others may follow a commit, such as a crash (57P02), or be errors
#: of a pooler that does not know (08, 58).
_ROLLED_BACK = ("25", "40", "53", "55", "57014", "57P01", "57P03", "57P05")
_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)
_SHARED = re.compile(r"\{(\w+)\}")


class DatabaseUnavailable(EnvironmentBroken):
    """The database did not become available in time."""


class Patience(NamedTuple):
    """How long to wait for a database that does not answer."""

    #: How long to retry a statement; None: for a minute.
    retry_seconds: float | None = None
    #: How long to wait for a connection; None: as long as other tasks use all of them, then as long as the pool.
    wait_seconds: float | None = None


class Database:
    """The store in one process: a pool of connections."""

    def __init__(
        self, target: ConnectionTarget, pool: AsyncConnectionPool[Connection], revive: Callable[[], None] | None = None
    ) -> None:
        self.target = target
        self.address = target.address
        self._pool = pool
        self._revive = revive
        self.patience = Patience()
        #: Waiting for another task is not an outage: only one that has a slot asks the pool, which gives up in seconds.
        self._slots = asyncio.Semaphore(pool.max_size)
        self._holders: set[asyncio.Task[Any] | None] = set()

    def within(self, patience: Patience) -> Database:
        """Return the same store with other limits: not every caller can wait for a minute until it answers again."""
        limited = copy(self)
        limited.patience = patience
        return limited

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Return a connection of the pool, in turn if all are in use. Each of its statements is a transaction."""
        task = asyncio.current_task()
        if task in self._holders:  # it would wait for itself
            async with self._pooled() as connection:
                yield connection
            return
        await self._take_slot()
        self._holders.add(task)
        try:
            async with self._pooled() as connection:
                yield connection
        finally:
            self._holders.discard(task)
            self._slots.release()

    async def _take_slot(self) -> None:
        try:
            async with asyncio.timeout(self.patience.wait_seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise PoolTimeout(f"all connections were in use for {self.patience.wait_seconds:g} seconds") from None

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator[Connection]:
        """Return a connection of the pool. A cancellation meanwhile is raised, even if the pool loses it.

        Before Python 3.12, `wait_for` loses a cancellation that arrives together with its result, and so does the
        pool.
        """
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        async with self._pool.connection(self.patience.wait_seconds) as connection:
            if task is not None and task.cancelling() > before:
                raise asyncio.CancelledError
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction and return its connection."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def in_transaction(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work in a transaction, and repeat it while the database may be restarting."""

        async def attempt() -> T:
            async with self.transaction() as connection:
                return await work(connection)

        return await self.with_retry(attempt)

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[Connection]:
        """Open a transaction in which `send` does not wait for the response of the server.

        The whole transaction takes one round trip, if its rows are fetched after it. The library's own transactions
        wait for the server at their start, before their end and after it.
        """
        async with self.connection() as connection:
            try:
                async with connection.pipeline():
                    await connection.execute("BEGIN")
                    yield connection
                    await connection.execute("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):  # a connection that is lost has no transaction
                    await connection.rollback()
                raise

    async def rows(self, name: str, /, **values: Any) -> list[DictRow]:
        """Return the rows of a named query."""
        return await self.with_retry(lambda: self.once(name, **values))

    async def once(self, name: str, /, **values: Any) -> list[DictRow]:
        """Return the rows of a named query that must not be repeated. Raises the connection's errors."""
        async with self.connection() as connection:
            return await rows(connection, name, **values)

    async def repeated(self, name: str, /, **values: Any) -> list[DictRow]:
        """Return the rows of a query that a conversation sends in each turn: it is prepared at its first use.

        All its integers have one type. The library chooses the type by the size of a number, and each combination of
        types is a separate statement, which the server parses and plans again.
        """
        typed = {key: Int8(value) if type(value) is int else value for key, value in values.items()}

        async def work() -> list[DictRow]:
            async with self.connection() as connection:
                return await (await connection.execute(query(name), typed, prepare=True)).fetchall()

        return await self.with_retry(work)

    async def filtered(self, name: str, /, **values: Any) -> list[DictRow]:
        """Return the rows of a query with optional filters. It is planned for these values, not once for all."""

        async def work() -> list[DictRow]:
            async with self.connection() as connection:
                cursor = await connection.execute(query(name), values, prepare=False)
                return await cursor.fetchall()

        return await self.with_retry(work)

    async def row(self, name: str, /, **values: Any) -> DictRow | None:
        """Return the first row of a named query, or None."""
        result = await self.rows(name, **values)
        return result[0] if result else None

    async def with_retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work that may be repeated, again and again while the database may be restarting.

        Raises DatabaseUnavailable after a minute or the limit of its patience, or at once if the disk is full.
        """
        limit = RETRY_SECONDS if self.patience.retry_seconds is None else self.patience.retry_seconds
        deadline = asyncio.get_running_loop().time() + limit
        while True:
            try:
                return await work()
            except CONNECTION_ERRORS as error:
                if isinstance(error, psycopg.errors.DiskFull) or asyncio.get_running_loop().time() > deadline:
                    raise _unavailable(error) from error
                await asyncio.sleep(_PAUSE_SECONDS)
                if self._revive is not None:
                    await asyncio.to_thread(self._revive)

    async def without_retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work that must not be repeated. Raises DatabaseUnavailable if the connection fails."""
        try:
            return await work()
        except CONNECTION_ERRORS as error:
            raise _unavailable(error) from error


def is_rolled_back(error: Exception) -> bool:
    """Return whether an error of a statement proves that its transaction was rolled back."""
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    return state is not None and state.startswith(_ROLLED_BACK)


def _unavailable(error: Exception) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"the database does not answer: {' '.join(str(error).split())}")


async def rows(connection: Connection, name: str, /, **values: Any) -> list[DictRow]:
    """Return the rows of a named query in an open transaction."""
    cursor = await send(connection, name, **values)
    # Not `description`: it builds an object for each column.
    return await cursor.fetchall() if cursor.rownumber is not None else []


async def send(connection: Connection, name: str, /, **values: Any) -> Cursor:
    """Send a named query. In a pipeline, fetching its rows waits for it and for all that was sent before it."""
    return await connection.execute(query(name), values)


@asynccontextmanager
async def open_database(
    address: str | None, folder: Path, connections: int = 10, *, is_examined: bool = False
) -> AsyncIterator[Database]:
    """Open the database at an address, or the embedded one of a data folder. With `is_examined`, create no tables."""
    server = None if address else EmbeddedServer(folder / "postgres")
    place = "the database of REMIT_DATABASE_URL" if address else f"the database in {folder / 'postgres'}"
    if server is not None:
        _prepare(folder)
        address = await asyncio.to_thread(server.open)
    try:
        target = await _connect(connection_target(str(address)), place, is_examined=is_examined)
        async with _pool(target, connections) as pool:
            yield Database(target, pool, server.revive if server is not None else None)
    finally:
        if server is not None:
            await asyncio.to_thread(server.close)


class _Shared:
    """A database that several tasks use: the first one opens it, and the last one closes it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._users = 0
        self._stack = AsyncExitStack()
        self._database: Database | None = None

    async def enter(self, address: str | None, folder: Path) -> Database:
        async with self._lock:
            if self._database is None:
                self._database = await self._stack.enter_async_context(open_database(address, folder))
            self._users += 1
            return self._database

    async def leave(self) -> None:
        async with self._lock:
            self._users -= 1
            if not self._users:
                self._database = None
                await self._stack.aclose()


#: The databases that tasks of each event loop share, by address and folder.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str | None, Path], _Shared]] = WeakKeyDictionary()


@asynccontextmanager
async def shared_database(address: str | None, folder: Path) -> AsyncIterator[Database]:
    """Open a database, or use the one that another task of this event loop has open: many use few connections."""
    databases = _shared.setdefault(asyncio.get_running_loop(), {})
    shared = databases.setdefault((address, folder), _Shared())
    database = await shared.enter(address, folder)
    try:
        yield database
    finally:
        await asyncio.shield(shared.leave())


def _prepare(folder: Path) -> None:
    """Create the folder of the state."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentBroken(
            f"{folder} cannot be used for the state of Remit: {error.strerror}; set REMIT_STATE to another folder, or "
            "REMIT_DATABASE_URL to a PostgreSQL server"
        ) from error


async def _connect(target: ConnectionTarget, place: str, *, is_examined: bool) -> ConnectionTarget:
    """Test the connection, create the tables unless `is_examined`, and return how to connect from now on."""
    try:
        try:
            connection = await _first_connection(target)
        except psycopg.OperationalError as error:
            if not is_refused_option(error):
                raise
            target = target.without_options()
            connection = await _first_connection(target)
        async with connection:
            target = target.after(await _session_of(connection))
            if not is_examined:
                await _create_tables(connection, place)
    except psycopg.OperationalError as error:
        error_text = " ".join(str(error).split())
        raise EnvironmentBroken(f"the database does not answer: {error_text}; check REMIT_DATABASE_URL") from error
    return target


async def _session_of(connection: Connection) -> SessionFacts:
    """Return what a new session knows. Raises EnvironmentBroken if its server does not answer as PostgreSQL does."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await session_facts(connection)
    except TimeoutError as error:
        why = f"it accepted the connection, but answered no query for {_ANSWER_SECONDS:g} seconds"
        cause: Exception = error
    except psycopg.Error as error:
        why, cause = " ".join(str(error).split()), error
    connection.pgconn.finish()  # closing it in order would wait for an answer
    raise EnvironmentBroken(f"the database does not answer: {why}; check REMIT_DATABASE_URL") from cause


async def _create_tables(connection: Connection, place: str) -> None:
    try:
        await create_tables(connection, place)
    except psycopg.errors.InsufficientPrivilege as error:
        raise EnvironmentBroken(
            f"Remit cannot create its tables in this database: {' '.join(str(error).split())}; grant the account of "
            "REMIT_DATABASE_URL the right to create schemas"
        ) from error


async def _first_connection(target: ConnectionTarget) -> Connection:
    """Open the first connection. Wait for a server that is starting, perhaps for another process."""
    deadline = asyncio.get_running_loop().time() + RETRY_SECONDS
    while True:
        try:
            return await target.connect(row_factory=dict_row)
        except psycopg.OperationalError as error:
            if not any(text in str(error) for text in _STARTING) or asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)


@asynccontextmanager
async def _pool(target: ConnectionTarget, connections: int) -> AsyncIterator[AsyncConnectionPool[Connection]]:
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        target.address,
        min_size=1,
        max_size=max(2, connections),
        kwargs={
            **target.parameters,
            "row_factory": dict_row,
            "application_name": f"remit {os.getpid()}",
            "autocommit": True,
        },
        open=False,
        timeout=5,
        reconnect_timeout=RECONNECT_SECONDS,
        check=check_idle,
    )
    async with pool:
        yield pool


def query(name: str) -> str:
    """Return the SQL of the query `file.name`. Values are passed as parameters, never inserted."""
    file, _, section = name.partition(".")
    return _queries(file)[section]


@cache
def _queries(file: str) -> dict[str, str]:
    text = (files("remit.store") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    pieces = _NAME.split(text)
    named = {name: _compact(sql) for name, sql in zip(pieces[1::2], pieces[2::2], strict=True)}

    def with_shared(sql: str) -> str:
        return _SHARED.sub(lambda shared: with_shared(named[shared[1]]), sql)

    return {name: with_shared(sql) for name, sql in named.items()}


def _compact(sql: str) -> str:
    """Return SQL without its comments and indentation."""
    lines = (line.strip() for line in sql.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


#: The tables of Remit and of the queue; and a worker that froze in a transaction loses its locks.
SESSION = {"search_path": "remit, public", "idle_in_transaction_session_timeout": "5s"}
#: The server ends the connections of clients that have disappeared, so that they do not fill `max_connections`.
_SERVER_LIMITS = {
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
OPTIONS = " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in {**SESSION, **_SERVER_LIMITS}.items())
#: When the client gives a silent server up: seconds to connect, seconds until and between probes of an idle
#: connection, and milliseconds until what was sent must be acknowledged. The address can set each of them.
_CLIENT_LIMITS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
#: How long one of several hosts is tried: every connection tries a dead host first.
_NEXT_HOST_SECONDS = 3
#: The message of a pooler that does not forward settings of a session.
_REFUSED_OPTIONS = "unsupported startup parameter"


_LOOPBACK = ("127.0.0.1", "::1")
#: How long an examination waits for a pooler, which may have no free connection.
_EXAMINE_SECONDS = 3.0


class SessionFacts(NamedTuple):
    """What a session knows about its connection."""

    #: A pooler is between this process and the server.
    is_pooled: bool = False
    is_encrypted: bool = False
    #: The server is on this host.
    is_local: bool = True


@dataclass(frozen=True, slots=True)
class ConnectionTarget:
    """The address of a database, and the parameters of every connection to it."""

    address: str
    parameters: dict[str, Any] = field(default_factory=dict)
    #: Known after the first connection.
    session: SessionFacts = field(default_factory=SessionFacts)

    async def connect(self, **named: Any) -> psycopg.AsyncConnection[Any]:
        """Open a connection that is not part of a pool."""
        return await psycopg.AsyncConnection.connect(self.address, **{**self.parameters, **named})

    def connect_sync(self) -> psycopg.Connection[Any]:
        """Open a connection for a thread."""
        return psycopg.connect(self.address, autocommit=True, **self.parameters)

    def without_options(self) -> ConnectionTarget:
        """Return the target for a pooler that refuses the settings of a session."""
        return replace(self, parameters={name: value for name, value in self.parameters.items() if name != "options"})

    def after(self, session: SessionFacts) -> ConnectionTarget:
        """Return the target after its first session. Behind a pooler, nothing is prepared.

        The next statement may run on another connection of the server, which does not know what was prepared.
        """
        parameters = {**self.parameters, "prepare_threshold": None} if session.is_pooled else self.parameters
        return replace(self, parameters=parameters, session=session)


def connection_target(address: str) -> ConnectionTarget:
    """Return how to connect to an address. What the address sets itself is kept.

    Raises EnvironmentBroken if it is not an address.
    """
    try:
        stated = conninfo_to_dict(address)
        # After a password with a special character, its rest is taken for the host or the database, and shown.
        is_valid = not any("@" in str(stated.get(name, "")) for name in ("host", "port", "dbname"))
    except psycopg.ProgrammingError:  # its message may contain the password
        stated, is_valid = {}, False
    if not is_valid:
        raise EnvironmentBroken(
            "REMIT_DATABASE_URL is not a valid address: write postgresql://user@host:port/database, and special "
            "characters of the password as in %40"
        )
    parameters: dict[str, Any] = {name: value for name, value in _CLIENT_LIMITS.items() if name not in stated}
    parameters["options"] = f"{stated['options']} {OPTIONS}" if stated.get("options") else OPTIONS
    if "," in str(stated.get("host") or stated.get("hostaddr") or "") and "target_session_attrs" not in stated:
        parameters["target_session_attrs"] = "read-write"  # of several servers, one is the primary
        if "connect_timeout" not in stated:
            parameters["connect_timeout"] = _NEXT_HOST_SECONDS
    return ConnectionTarget(address, parameters)


def is_refused_option(error: Exception) -> bool:
    """Return whether a pooler refused the settings of a session."""
    return _REFUSED_OPTIONS in str(error)


async def session_facts(connection: psycopg.AsyncConnection[Any]) -> SessionFacts:
    """Return what a session knows about its connection. Raises EnvironmentBroken if it would not find the tables."""
    cursor = await connection.execute(
        "SELECT pg_backend_pid() AS pid, string_to_array(replace(current_setting('search_path'), ' ', ''), ',') AS path"
    )
    row = await cursor.fetchone()
    if row is None or "remit" not in [name.strip('"') for name in row["path"]]:
        raise EnvironmentBroken(
            "a connection pooler does not forward the setting search_path: store it with the role, by "
            "ALTER ROLE name IN DATABASE name SET search_path = remit, public"
        )
    # A pooler does not know the process of the server that a client will get, so it reports another number.
    is_pooled = row["pid"] != connection.info.backend_pid
    is_local = connection.info.host.startswith("/") or connection.info.hostaddr in _LOOPBACK
    return SessionFacts(is_pooled, bool(connection.pgconn.ssl_in_use), is_local)


async def check_idle(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raise OperationalError if the server has closed an idle connection. Takes no round trip if it is open.

    A server sends nothing to an idle connection but its end, and seldom a notice or a changed setting.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(connection)


async def keeps_sessions(target: ConnectionTarget) -> bool:
    """Return whether a pooler keeps a server connection for each session, not only for each transaction."""
    async with await target.connect(autocommit=True) as first, await target.connect(autocommit=True) as second:
        before = await _process(first)
        try:
            async with asyncio.timeout(_EXAMINE_SECONDS), second.transaction():
                await second.execute("SELECT 1")  # this takes the connection that the first session used last
                during = await _process(first)
        except TimeoutError:  # the pooler has one connection, and the transaction holds it
            return False
        return before == during


async def _process(connection: psycopg.AsyncConnection[Any]) -> int:
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    return int(row[0]) if row else 0
