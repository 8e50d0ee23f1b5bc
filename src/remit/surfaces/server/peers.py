"""Which process of this machine is at the other end of a connection: the peer credentials of a loopback address.

The kernel lists each connection with its user and the number of its socket, and each process with its open sockets. So
a request of a hook can be traced to the client's own process: a program that an agent starts is another process, and
knowing the secret does not help it. Where the system has no `/proc`, nothing is known.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
#: Bytes of a table that are read. A machine with more connections is not one of a person.
_MAX_TABLE = 4_000_000
#: Open files of a process that are looked at.
_MAX_OPEN = 20_000
_MAX_KNOWN = 1_000


#: The addresses of both ends of a connection: of the client, and of the server.
Ends = tuple[tuple[str, int] | None, tuple[str, int | None] | None]


class Peer(NamedTuple):
    """The other end of a connection: its user, and the number of its socket."""

    user: int
    socket: int

    def belongs_to(self, process: int) -> bool:
        """Return whether a process has this socket open."""
        wanted, folder = f"socket:[{self.socket}]", f"/proc/{process}/fd"
        try:
            names = os.listdir(folder)[:_MAX_OPEN]  # noqa: PTH208 (a hook is fast)
        except OSError:
            return False
        for name in names:
            try:
                if os.readlink(f"{folder}/{name}") == wanted:  # noqa: PTH115 (as above)
                    return True
            except OSError:
                continue
        return False


def is_supported() -> bool:
    """Return whether this system states who is at the other end of a connection."""
    return _TABLES[4].exists()


def peer_of(client: tuple[str, int] | None, server: tuple[str, int | None] | None) -> Peer | None:
    """Return the other end of a connection from `client` to `server`; None if the system does not list it."""
    if client is None or server is None or server[1] is None:
        return None
    family = 6 if ":" in client[0] else 4
    try:
        wanted = f"{_hex(client[0], family)}:{client[1]:04X} {_hex(server[0], family)}:{server[1]:04X} ".encode()
        with _TABLES[family].open("rb") as table:
            text = table.read(_MAX_TABLE)
    except (OSError, ValueError):
        return None
    at = text.find(wanted)
    if at < 0:
        return None
    fields = text[at : at + 300].split(b"\n", 1)[0].split()
    return Peer(int(fields[6]), int(fields[8])) if len(fields) > 8 else None


class Peers:
    """The other ends of the connections of a server. The table of the kernel is read once for each connection."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Peer] = {}

    def of(self, client: tuple[str, int] | None, server: tuple[str, int | None] | None) -> Peer | None:
        """Return the other end of a connection.

        A known one stays valid as long as its process has the socket open, which `belongs_to` finds out: no other
        socket has its number, and no other connection its port.
        """
        if client is None:
            return None
        found = self._known.get(client)
        if found is None and (found := peer_of(client, server)) is not None:
            self._known[client] = found
            while len(self._known) > _MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
        return found

    def forget(self, client: tuple[str, int] | None) -> None:
        """Forget a connection whose process is not the one that was expected: its port may be in use again."""
        if client is not None:
            self._known.pop(client, None)


def _hex(address: str, family: int) -> str:
    """Return an address as the kernel lists it: in words of the machine's byte order."""
    packed = socket.inet_pton(socket.AF_INET if family == 4 else socket.AF_INET6, address)
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    order = "<" if sys.byteorder == "little" else ">"
    return "".join(struct.pack(f"{order}I", word).hex().upper() for word in words)
