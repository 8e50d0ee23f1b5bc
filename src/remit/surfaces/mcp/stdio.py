"""`remit mcp`: the server over standard input and output.

The library of the protocol takes over a second to load, and some clients do not wait that long. Its answers to the
first requests are known before: `early_answers.json` has them. They are sent at once, while the library loads in the
background. Then the library gets the handshake again, so that it knows the client, and its answer to it is dropped.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from itertools import chain
from typing import Any

from remit.surfaces.mcp.wire import TOO_LONG, claim_streams, encode, error_line, read_lines

EARLY_ANSWERS = "early_answers.json"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"


class EarlyAnswers:
    """Answers the first requests of a client like the library would. What it does not know is left to the library."""

    def __init__(self, table: dict[str, Any], *, is_read_only: bool) -> None:
        tools = [tool for tool in table["tools"] if tool["annotations"]["readOnlyHint"] or not is_read_only]
        self._versions: dict[str, dict[str, Any]] = {
            version: {method: _with_tools(answer, tools) for method, answer in answers.items()}
            for version, answers in table["versions"].items()
        }
        self._answers: dict[str, Any] = {}
        #: The messages of the handshake, which the library has to get too.
        self.handshake: list[bytes] = []
        #: The id of the request whose answer was sent for the library.
        self.answered: int | str | None = None

    def answer(self, line: bytes) -> bytes | None:
        """Return the answer to a message, an empty one for a notification, or None if the library must answer."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return None
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if method == "notifications/initialized" and self.handshake and number is None:
            self.handshake.append(line)
            return b""
        if isinstance(number, bool) or not isinstance(number, int | str):
            return None
        found = self._find(method, params)
        if found is None:
            return None
        if method == "initialize":
            self.handshake, self.answered = [line], number
        return encode({"jsonrpc": "2.0", "id": number, "result": found})

    def _find(self, method: Any, params: Any) -> Any:
        if method == "initialize":
            is_first = not self.handshake and isinstance(params, dict) and _is_handshake(params)
            self._answers = self._versions.get(params["protocolVersion"], {}) if is_first else {}
            return self._answers.get(method)
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and VERSION_KEY in meta:  # a protocol without handshake
            if self.handshake or set(params) != {"_meta"} or not _is_envelope(meta):
                return None
            return self._versions.get(meta[VERSION_KEY], {}).get(method)
        is_plain = params is None or (isinstance(params, dict) and not set(params) - {"_meta"})
        return self._answers.get(method) if is_plain and isinstance(method, str) else None


def _with_tools(answer: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
    return {**answer, "tools": tools} if "tools" in answer else answer


def _is_handshake(params: dict[str, Any]) -> bool:
    client = params.get("clientInfo")
    return (
        isinstance(params.get("protocolVersion"), str)
        and isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _is_envelope(meta: dict[str, Any]) -> bool:
    client = meta.get(CLIENT_KEY, {"name": "", "version": ""})
    return (
        isinstance(meta[VERSION_KEY], str)
        and isinstance(meta.get(CAPABILITIES_KEY), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def run_stdio(find_user: Callable[[], str], *, is_read_only: bool) -> None:
    """Serve the client that started this process, until it closes the input."""
    wire = claim_streams()
    lines = read_lines(wire.input)
    early = EarlyAnswers(_read_table(), is_read_only=is_read_only)
    loading: threading.Thread | None = None
    for line in lines:
        answer = error_line(TOO_LONG) if line is None else early.answer(line)
        if answer is None:
            break
        wire.send(answer)
        if loading is None:
            loading = threading.Thread(target=_load, daemon=True)
            loading.start()
    else:
        return
    if loading is not None:
        loading.join()  # two threads must not import parts of the same library at the same time
    from remit.surfaces.mcp.mcp_server import serve_client

    first = [*early.handshake, line or b""]
    serve_client(wire, chain(first, lines), early.answered, find_user(), is_read_only=is_read_only)


def _read_table() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), EARLY_ANSWERS)  # noqa: PTH118, PTH120 (pathlib is slow to import)
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        table: dict[str, Any] = json.load(file)
    return table


def _load() -> None:
    import remit.surfaces.mcp.mcp_server  # noqa: F401 (so that it is loaded when it is needed)
