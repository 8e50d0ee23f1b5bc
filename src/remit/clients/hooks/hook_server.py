"""Whether a server answers hooks over HTTP, and the message to the user if it does not."""

from __future__ import annotations

import socket

from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.responses import message
from remit.errors import RemitError
from remit.gate.leftover_processes import is_running, parent_process
from remit.gate.session_store import open_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.hooks.responses import Answer

_SECONDS = 2.0
#: What to do if hooks over HTTP are not answered.
NO_SERVER = "start it with `remit serve`"


def is_answering(url: str) -> bool:
    """Return whether a `remit serve` answers at a loopback address such as http://127.0.0.1:8321."""
    authority = url.partition("://")[2].partition("/")[0]
    host, _, port = authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    if not port.isdecimal():
        host, port = authority, "80"
    request = f"GET /health HTTP/1.0\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS) as connection:
            connection.settimeout(_SECONDS)
            connection.sendall(request.encode())
            return connection.recv(64).split(b" ", 2)[1:2] == [b"200"]
    except (OSError, ValueError):
        return False


def note_client(project: str, session: str) -> None:
    """Record the client's process, which has started this one: the server accepts hooks of the session only from it.

    A client that still runs is not replaced: a program of an agent could otherwise put itself in its place.
    """
    client = parent_process()
    if client is None or not session:
        return
    try:
        with open_session(folder_of(project), session) as state:
            if not any(is_running(process) for process in state.clients):
                state.clients = [client]
    except (OSError, RemitError):  # the server then accepts any process that has the secret
        return


def absence_notice(url: str, *, is_closed: bool) -> Answer | None:
    """Return a message for the user if no server answers hooks at an address."""
    if is_answering(url):
        return None
    effect = (
        "every call is denied (gate.on_fault is closed)" if is_closed else "nothing is checked and nothing is denied"
    )
    return message(
        f"remit: no server answers the hooks at {url}, so {effect}. Start it with `remit serve`, or run "
        "`remit install claude-code` without --http."
    )
