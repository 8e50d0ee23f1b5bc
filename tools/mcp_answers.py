"""Generate the answers that `remit mcp` gives before the library of the protocol is loaded.

The library itself gives them here, for each version of the protocol. `tools/generate_docs.py` writes the file.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NoReturn

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from remit.reports.formats import format_json
from remit.surfaces.mcp.mcp_server import ContractServer
from remit.surfaces.mcp.stdio import CAPABILITIES_KEY, CLIENT_KEY, EARLY_ANSWERS, VERSION_KEY

PATH = Path("src/remit/surfaces/mcp") / EARLY_ANSWERS
CLIENT = {"name": "client", "version": "1"}


def early_answers() -> str:
    """Return the file: the tools once, and the other answers for each version with the same tools."""
    given = {version: asyncio.run(_with_handshake(version)) for version in HANDSHAKE_PROTOCOL_VERSIONS}
    given |= {version: asyncio.run(_without_handshake(version)) for version in MODERN_PROTOCOL_VERSIONS}
    tools = given[MODERN_PROTOCOL_VERSIONS[-1]]["tools/list"]["tools"]
    same = {version: answers for version, answers in given.items() if answers["tools/list"]["tools"] == tools}
    for answers in same.values():
        answers["tools/list"]["tools"] = []
    return format_json({"versions": same, "tools": tools}) + "\n"


async def ask(*messages: JSONRPCMessage) -> dict[Any, dict[str, Any]]:
    """Return the answers of the library to messages, by the id of the request."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("no tool is called")

    server = ContractServer(refuse, is_read_only=False, asks_for_roots=True)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](8)
    serving = asyncio.create_task(server.serve(incoming, outgoing))
    answers = {}
    for message in messages:
        await to_server.send(SessionMessage(message))
        if isinstance(message, JSONRPCRequest):
            answer = (await from_server.receive()).message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            answers[message.id] = answer["result"]
    await to_server.aclose()
    await serving
    from_server.close()
    return answers


async def _with_handshake(version: str) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    answers = await ask(
        JSONRPCRequest(jsonrpc="2.0", id=1, method="initialize", params=params),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"),
        JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/list"),
    )
    return {"initialize": answers[1], "tools/list": answers[2]}


async def _without_handshake(version: str) -> dict[str, Any]:
    params = {"_meta": {VERSION_KEY: version, CAPABILITIES_KEY: {}, CLIENT_KEY: CLIENT}}
    methods = ("server/discover", "tools/list")
    answers = await ask(
        *(
            JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
            for number, method in enumerate(methods)
        )
    )
    return {method: answers[number] for number, method in enumerate(methods)}
