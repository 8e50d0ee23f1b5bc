"""How a process connects to PostgreSQL: the settings of a session, when a silent server is given up, and poolers.

A server on another host can stop responding without a sign: the network between them fails, or its host does. Without
limits, a statement would wait for a quarter of an hour, and a dead client would keep its connections for two.
"""

from __future__ import annotations

import asyncio
import select
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool

from remit.errors import EnvironmentBroken

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
        own = conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # its message may contain the password
        raise EnvironmentBroken(
            "REMIT_DATABASE_URL is not a valid address: write postgresql://user@host:port/database"
        ) from None
    parameters: dict[str, Any] = {name: value for name, value in _CLIENT_LIMITS.items() if name not in own}
    parameters["options"] = f"{own['options']} {OPTIONS}" if own.get("options") else OPTIONS
    if "," in str(own.get("host") or own.get("hostaddr") or "") and "target_session_attrs" not in own:
        parameters["target_session_attrs"] = "read-write"  # of several servers, one is the primary
        if "connect_timeout" not in own:
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
            "a connection pooler does not forward the setting search_path: create the database's roles with "
            "`remit db roles`, which stores it with each role"
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
