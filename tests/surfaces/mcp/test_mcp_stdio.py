"""`remit mcp` as a client starts it: a process, its standard input and its standard output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ListRootsResult, Root

from remit.testing import project

pytestmark = pytest.mark.process
PROGRAM = str(Path(sys.executable).with_name("remit"))
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Server:
    """A running server that is sent lines."""

    def __init__(self, folder: Path, *options: str) -> None:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "REMIT_STATE": str(folder / "data"),
        }
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", *options],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any], number: int) -> dict[str, Any]:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        return self.read()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self) -> tuple[int, bytes, bytes]:
        """Close the input; return the exit code, and the rest of what it wrote."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[Server] = []

    def run(*options: str) -> Server:
        started.append(Server(tmp_path, *options))
        return started[-1]

    yield run
    for server in started:
        server.process.kill()
        server.process.communicate()


def test_a_client_that_leaves_after_the_handshake_ends_the_server(start: Any) -> None:
    server = start()
    assert server.ask("initialize", HANDSHAKE, 1)["result"]["protocolVersion"] == "2025-11-25"
    assert server.end() == (0, b"", b"")


def test_the_list_of_tools_takes_at_most_10_kilobytes_of_a_conversation(start: Any) -> None:
    server = start()
    server.ask("initialize", HANDSHAKE, 1)
    server.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    server.send(b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}')
    line = server.process.stdout.readline()
    assert len(json.loads(line)["result"]["tools"]) == 8
    assert len(line) <= 10 * 1024


def test_a_session_survives_bad_messages_and_opens_the_database_late(start: Any, tmp_path: Path) -> None:
    server = start("--read-only")
    server.ask("initialize", HANDSHAKE, 1)
    server.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    listed = {tool["name"] for tool in server.ask("tools/list", {}, 2)["result"]["tools"]}
    assert {"verify_text", "get_job"} <= listed
    assert not listed & {"submit_job", "answer_question"}, "they change something"
    assert server.ask("ping", {}, 3) == {"jsonrpc": "2.0", "id": 3, "result": {}}, "the handshake is answered once"
    server.send(b"this is not JSON")
    assert server.read()["error"]["code"] == -32700
    server.send(b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": "' + b"x" * (17 << 20) + b'"}')
    assert "at most" in server.read()["error"]["message"]
    found = server.ask("tools/call", {"name": "explain_rule", "arguments": {"name": "EVD001"}}, 6)["result"]
    assert found["structuredContent"]["rules"][0]["code"] == "EVD001"
    refused = server.ask("tools/call", {"name": "submit_job", "arguments": {"task": "x"}}, 7)["result"]
    assert refused["isError"], "it is read-only"
    assert not (tmp_path / "data").exists(), "the database is started when a tool needs it"
    found = server.ask("tools/call", {"name": "get_job", "arguments": {"job": 7}}, 8)["result"]
    assert "there is no job 7" in found["content"][0]["text"]
    assert (tmp_path / "data/postgres/data/postmaster.pid").exists()
    server.process.send_signal(signal.SIGTERM)
    code, out, err = server.end()
    assert (code, out) == (0, b"")
    assert b"Traceback" not in err
    assert not (tmp_path / "data/postgres/data/postmaster.pid").exists(), "and stopped at the end"


def test_the_reference_client_works_with_it(tmp_path: Path) -> None:
    async def roots(_: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": project().as_uri()})])

    async def work() -> None:
        parameters = StdioServerParameters(command=PROGRAM, args=["mcp"], cwd=tmp_path)
        # By default it writes to what was standard error when the library was imported.
        async with Client(stdio_client(parameters, errlog=sys.__stderr__), list_roots_callback=roots) as client:
            assert len((await client.list_tools()).tools) == 8
            text = "See `app/login.py:1` and `app/invented.py:3`."
            answer = await client.call_tool("verify_text", {"text": text})
            assert answer.structured_content
            assert answer.structured_content["summary"]["claims_by_outcome"] == {"exists": 1, "missing-file": 1}
            refused = await client.call_tool("verify_text", {"text": text, "repo": str(tmp_path)})
            assert refused.is_error
            assert "is outside of" in refused.content[0].text  # type: ignore[union-attr]

    asyncio.run(work())
