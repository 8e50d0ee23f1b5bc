"""Hooks over HTTP: answer the events of Claude Code with the same decision as the hook process.

Any process of this machine can call a loopback address, so a hook sends the secret of its install. The server accepts
the secrets in the install records of the payload's project, of its own folder and of the user, if these records are
this user's own files. An agent can read the secret. So the request must also come from the client's own process, which
the start of the session has recorded, where the system states who is at the other end of a connection: the kernel
lists each connection with its user and the number of its socket, and each process with its open sockets.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import socket
import stat
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec
from starlette.types import Receive, Scope, Send

from remit.clients.claude_code.hook_entries import HTTP_PATH, PROJECT_HEADER
from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.hook_events import fault_response, handle_event
from remit.clients.hooks.payload import Unreadable, parse, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import encode
from remit.clients.setup.file_changes import read_bytes
from remit.errors import RemitError
from remit.gate.call_record import unchanged_tree
from remit.gate.decide import EDITING, READING, SHELLS
from remit.gate.leftover_processes import is_running
from remit.gate.record_store import RecordStore, find_store
from remit.gate.session import SessionState
from remit.gate.session_entries import Process
from remit.gate.session_store import INSTALLED, KeptStates, open_session, read_session
from remit.lean_json import dumps

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
#: Bytes of a table that are read. A machine with more connections is not one of a person.
_MAX_TABLE = 4_000_000
#: Open files of a process that are looked at.
_MAX_OPEN = 20_000
_MAX_KNOWN = 1_000
#: The addresses of both ends of a connection: of the client, and of the server.
Ends = tuple[tuple[str, int] | None, tuple[str, int | None] | None]
_MAX_RECORD = 4_000_000
#: Events at the same time. Each waits for the lock of its session, and a report takes up to seconds to check.
_MAX_THREADS = 64
#: Bytes of a payload and of a command line that may be answered at once, see `_answer_at_once`; event -> tools.
_MAX_AT_ONCE = 64 * 1024
_MAX_COMMAND = 2_000
_REMOVES = re.compile(r"\b(?:rm|rmdir|mv|unlink|shred|find|clean|chmod|chown|chgrp|truncate|trash)\b")
_AT_ONCE = {"PreToolUse": frozenset((*READING, *EDITING, *SHELLS)), "PostToolUse": frozenset((*READING, *EDITING))}
#: Bytes of a payload whose sender has shown the secret. Without it, a payload has at most `_MAX_AT_ONCE`.
_MAX_BODY = 64 * 1024 * 1024
#: Transactions that stay in the journal of a store: about as many pages as a process leaves there.
_MAX_UNCOPIED = 8
_CONTENT_TYPE = (b"content-type", b"application/json")


_encoder = msgspec.json.Encoder(enc_hook=vars)


class _Record(msgspec.Struct):
    """The part of an install record that the server uses."""

    http_secret: str | None = None


class HookServer:
    """Answers hooks. It is a separate application, because a decision must take a millisecond at most."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._home = str(Path.home())
        self._threads = ThreadPoolExecutor(_MAX_THREADS, "hook")
        self._peers = Peers()
        self._states = KeptStates(_encode_state)
        #: Path of an install record -> its time and size, and its secret.
        self._secrets: dict[str, tuple[tuple[int, int], str]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one event."""
        if scope["path"] != HTTP_PATH or scope["method"] != "POST":
            await _respond(send, 404, b"")
            return
        headers = dict(scope["headers"])
        sent, named = headers.get(b"authorization", b""), unquote(headers.get(PROJECT_HEADER, b"").decode("latin-1"))
        ends = (scope.get("client"), scope.get("server"))
        peer = self._peers.of(*ends)
        is_known = self._is_known(sent, [*([named] if named else []), str(self._folder)])
        if (peer is not None and peer.user not in (os.geteuid(), 0)) or (named and not is_known):
            await _respond(send, 401, b"")
            return
        body = await _read(receive, _MAX_BODY if is_known else _MAX_AT_ONCE)
        if body is None:
            await _respond(send, 413 if is_known else 401, b"")
            return
        answer = self._answer_at_once(body, sent, ends) if len(body) <= _MAX_AT_ONCE else None
        if answer is None:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._threads, self.answer, body, sent, ends)
        await _respond(send, *answer)

    def answer(self, body: bytes, authorization: bytes, ends: Ends = (None, None)) -> tuple[int, bytes]:
        """Return the status and the body of the answer to a payload."""
        try:
            payload = parse(body)
        except Unreadable as reason:
            is_known = self._is_known(authorization, [str(self._folder)])
            problem = encode(fault_response("", f"the payload cannot be read: {reason}", ""))
            return (200, problem) if is_known else (401, b"")
        project = project_of(text(payload, "cwd") or str(self._folder))
        if not self._is_known(authorization, [project, str(self._folder)]):
            return 401, b""
        try:
            state = read_session(folder_of(project), text(payload, "session_id"))
        except RemitError:  # the settings state what is answered then
            state = None
        if state is not None and not self._is_client(ends, state.clients):
            return 401, b""
        with self._states:
            return 200, _encoded(handle_event(payload, project=project), payload, project)

    def _answer_at_once(self, body: bytes, authorization: bytes, ends: Ends) -> tuple[int, bytes] | None:
        """Answer an event in the thread that received it: another thread takes longer than most decisions.

        Return None if the answer may take longer: for other events, while another process changes the store, if the
        settings must be compiled, after a small edit of code, and before a command line if files have changed or the
        project is not small.
        """
        try:
            payload = parse(body)
        except Unreadable:
            return None
        tool = text(payload, "tool_name")
        if tool not in _AT_ONCE.get(text(payload, "hook_event_name"), ()):
            return None
        project = project_of(text(payload, "cwd") or str(self._folder))
        if not self._is_known(authorization, [project, str(self._folder)]):
            return 401, b""
        try:
            store = find_store(folder_of(project))
            if store is None:
                return None
            store.leave_checkpoints()
            with self._states:
                answer = self._answer_in_transaction(store, payload, project, ends)
        except RemitError:  # the other thread reports it
            return None
        if store.transactions >= _MAX_UNCOPIED:
            store.transactions = 0
            self._threads.submit(_checkpoint, store.folder)
        return answer

    def _answer_in_transaction(
        self, store: RecordStore, payload: dict[str, Any], project: str, ends: Ends
    ) -> tuple[int, bytes] | None:
        """Answer an event in one transaction, so that the store is compared with its seal once."""
        event, tool = text(payload, "hook_event_name"), text(payload, "tool_name")
        session = open_session(store.folder, text(payload, "session_id"), wait=0)
        session.begin(store)
        try:
            state = session.load()
            if not self._is_client(ends, state.clients):
                return 401, b""
            if tool in EDITING and event == "PostToolUse" and text(payload, "tool_use_id") in state.pending:
                return None  # a small edit of code: its whole text is compared
            context = ProjectContext.open_compiled(project, store)
            if context is None or (tool in SHELLS and not _is_quick(payload, context)):
                return None
            context.held = session
            answer = handle_event(payload, project=project, context=context)
        finally:
            session.roll_back()  # if it was not opened
        return 200, _encoded(answer, payload, project)

    def _is_known(self, authorization: bytes, projects: list[str]) -> bool:
        """Return whether a request has the secret of one of the installs."""
        scheme, _, sent = authorization.partition(b" ")
        if scheme.lower() != b"bearer" or not sent:
            return False
        for project in dict.fromkeys([*projects, self._home]):
            secret = self._secret_of(os.path.join(folder_of(project), INSTALLED))  # noqa: PTH118 (a hook is fast)
            if secret and hmac.compare_digest(secret.encode(), sent):
                return True
        return False

    def _is_client(self, ends: Ends, clients: list[Process]) -> bool:
        """Return whether a request comes from a process that the start of its session has recorded, if it has."""
        if not clients or not is_supported():
            return True
        for _ in range(2):  # the port of a closed connection may be in use again
            peer = self._peers.of(*ends)
            if peer is not None and any(is_running(client) and peer.belongs_to(client.number) for client in clients):
                return True
            self._peers.forget(ends[0])
        return False

    def _secret_of(self, record: str) -> str:
        """Return the secret of an install record; it is read again when the file has changed.

        The record, its folder and the one above are this user's own, and no links: another user could let them lead
        to the files of this user, or change them between two looks.
        """
        try:
            about = os.lstat(record)
            above = (os.lstat(os.path.dirname(record)), os.lstat(os.path.dirname(os.path.dirname(record))))  # noqa: PTH120 (a hook is fast)
        except (OSError, ValueError):
            return ""
        if any(entry.st_uid != os.geteuid() or stat.S_ISLNK(entry.st_mode) for entry in (about, *above)):
            return ""
        stamp = (about.st_mtime_ns, about.st_size)
        known = self._secrets.get(record)
        if known is None or known[0] != stamp:
            known = (stamp, _read_secret(Path(record)))
            self._secrets[record] = known
            while len(self._secrets) > 1000:
                self._secrets.pop(next(iter(self._secrets)))
        return known[1]


def _encode_state(state: SessionState) -> bytes:
    try:
        return _encoder.encode(state)
    except (ValueError, TypeError, RecursionError):  # what only the other functions write, such as half a character
        return dumps(state, vars)


def _checkpoint(folder: str) -> None:
    with suppress(RemitError):
        store = find_store(folder)
        if store is not None:
            store.checkpoint()


def _is_quick(payload: dict[str, Any], context: ProjectContext) -> bool:
    """Return whether the record before a command line takes no longer than to look at a few files."""
    command = text(payload.get("tool_input"), "command")
    if len(command) > _MAX_COMMAND or _REMOVES.search(command):  # git is asked about output that is removed
        return False
    context.unchanged = unchanged_tree(context.folder, context.project)
    return context.unchanged is not None


def _encoded(answer: dict[str, Any] | None, payload: dict[str, Any], project: str) -> bytes:
    try:
        return encode(answer)
    except (ValueError, RecursionError) as error:  # a number or a depth that JSON does not support
        return encode(fault_response(text(payload, "hook_event_name"), error, project))


def _read_secret(record: Path) -> str:
    try:
        data = read_bytes(record, _MAX_RECORD)
        return msgspec.json.decode(data or b"{}", type=_Record).http_secret or ""
    except (RemitError, msgspec.MsgspecError, RecursionError):
        return ""


async def _read(receive: Receive, limit: int) -> bytes | None:
    """Return a body, or None if it is longer than the limit."""
    pieces, size = [], 0
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return b"".join(pieces)


async def _respond(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    if body:
        headers.append(_CONTENT_TYPE)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


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
    position = text.find(wanted)
    if position < 0:
        return None
    fields = text[position : position + 300].split(b"\n", 1)[0].split()
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
        peer = self._known.get(client)
        if peer is None and (peer := peer_of(client, server)) is not None:
            self._known[client] = peer
            while len(self._known) > _MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
        return peer

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
