"""Tools of an MCP server: available if named, granted like other tools, every call recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import ANTHROPIC, KEYS
from support.running import Fleet, Play, tools

from remit.testing import registry

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
#: A minimal server over standard input and output.
SERVER = """
import json, os, sys

def called(name, given):
    if name == "search":
        return f"found {given['words']} in {os.getcwd()}"
    if name == "known":
        return " ".join(sorted(os.environ))
    if name == "secret":
        return "AKIA" + "ABCDEFGH" * 2
    raise ValueError("nothing works")

def answer(method, given):
    if method == "initialize":
        about = {"name": "docs", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        words = {"type": "object", "properties": {"words": {"type": "string"}}}
        names = ("broken", "known", "search", "secret")
        return {"tools": [{"name": name, "inputSchema": words} for name in names]}
    if method == "tools/call":
        try:
            text, failed = called(given["name"], given.get("arguments") or {}), False
        except ValueError as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
USES = {
    "server and tools": "tools: Read, mcp__docs__search\nmcpServers: docs",
    "only the tool": "tools: Read, mcp__docs__search",
}


@pytest.fixture
def configured(quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a configuration with a server, and name it as the person does."""
    program = tmp_path / "server.py"
    program.write_text(SERVER, encoding="utf-8")
    broken = f"{sys.executable} -c 'raise SystemExit(3)'"
    Path("remit.toml").write_text(
        f'[mcp_servers]\ndocs = "{sys.executable} {program}"\nbroken = "{broken}"\n', encoding="utf-8"
    )
    monkeypatch.setenv("REMIT_CONFIG", str(Path("remit.toml").absolute()))


def offered(fleet: Fleet) -> list[str]:
    """Return the tools in the request to the model."""
    return [tool["name"] for tool in fleet.requests[0].body.get("tools", [])]


async def ran(fleet: Fleet, head: str, **request: Any) -> Any:
    fleet.registry = registry(f"---\nname: librarian\n{head}\n---\nLook it up.", allow_tools=["*", "mcp__docs"])
    return await fleet.run(subagent_def="librarian", model=ANTHROPIC, **request)


@pytest.mark.parametrize("head", USES.values(), ids=USES)
async def test_a_definition_gets_only_the_named_tool_of_a_server(configured: None, play: Play, head: str) -> None:
    call = tools(("mcp__docs__search", {"words": "apples"}))
    async with play(call, {"text": "done"}) as fleet:
        job = await ran(fleet, head)
        assert (job.outcome, job.tool_calls) == ("completed", 1)
        assert offered(fleet) == ["Read", "mcp__docs__search"]
        assert await fleet.outputs(job.id) == [f"found apples in {fleet.project}"]
        assert await fleet.rows("SELECT receipt ->> 'tool', receipt -> 'arguments' FROM remit.receipts") == [
            ("mcp__docs__search", {"words": "apples"})
        ]


async def test_the_name_of_a_server_grants_all_its_tools(configured: None, play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        await ran(fleet, "tools: mcp__docs")
        assert sorted(offered(fleet)) == [f"mcp__docs__{name}" for name in ("broken", "known", "search", "secret")]


async def test_a_job_can_name_a_tool(configured: None, play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        await ran(fleet, "tools: Read", allowed_tools=["mcp__docs__known"])
        assert offered(fleet) == ["mcp__docs__known"]


async def test_an_unused_server_is_not_started(configured: None, play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        job = await ran(fleet, "description: nothing said of tools")
        assert job.outcome == "completed"
        assert not [name for name in offered(fleet) if name.startswith("mcp__")]


async def test_a_server_whose_tools_the_worker_does_not_allow_is_not_started(configured: None, play: Play) -> None:
    async with play({"text": "done"}, allow_tools=("Read",)) as fleet:
        await ran(fleet, USES["server and tools"])
        assert offered(fleet) == ["Read"]


async def test_a_server_gets_no_secrets_and_its_answers_are_redacted(configured: None, play: Play) -> None:
    calls = tools(("mcp__docs__known", {}), ("mcp__docs__secret", {}), ("mcp__docs__broken", {}))
    async with play(calls, {"text": "done"}) as fleet:
        job = await ran(fleet, "tools: mcp__docs")
        known, secret, broken = await fleet.outputs(job.id)
        assert "PATH" in known.split()
        assert not set(KEYS) & set(known.split())
        assert secret == "[AWS key removed]"
        assert "nothing works" in broken
        failed = "SELECT receipt ->> 'tool' FROM remit.receipts WHERE receipt ->> 'failed' = 'true'"
        assert await fleet.rows(failed) == [("mcp__docs__broken",)]
        assert job.outcome == "completed"


async def test_answers_of_a_server_are_capped(configured: None, play: Play) -> None:
    long = "x" * 45_000
    async with play(tools(("mcp__docs__search", {"words": long})), {"text": "done"}) as fleet:
        job = await ran(fleet, "tools: mcp__docs")
        [output] = await fleet.outputs(job.id)
        assert job.outcome == "completed"
        [told] = fleet.requests[1].body["messages"][-1]["content"]
    assert output.startswith("found xxx")
    assert 29_000 < len(output) < 30_100, "30,000 characters and a note"
    assert "more characters" in output[-1_000:]
    assert told["content"] in (output, [{"type": "text", "text": output}]), "the model gets no more"


async def test_an_unusable_server_ends_the_job_with_a_message(configured: None, play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        job = await ran(fleet, "tools: mcp__broken")
        assert job.outcome == "error"
        assert "the MCP server 'broken' cannot be used" in str(job.error)
    async with play({"text": "done"}) as fleet:
        number = await fleet.submit(subagent_def=None, allowed_tools=["mcp__docs__search"])
        fleet.settings = fleet.settings._replace(mcp_servers={})
        await fleet.work()
        error = (await fleet.job(number)).error
        assert error == "this worker has no MCP server 'docs' under `mcp_servers` in its configuration"
