"""Misbehaving MCP servers: output, tool names, long answers, slow answers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from support.commands import ANTHROPIC
from support.running import Fleet, Play, tools

from remit.dispatch import mcp_tools
from remit.dispatch.mcp_tools import MAX_LINES
from remit.dispatch.tools.tool_types import ToolOutput, ToolSpec
from remit.registry.tools import AllowList
from remit.testing import registry

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
#: The argument of the server is code that it runs in addition.
SERVER = """
import json, sys, time
how = sys.argv[1]
names = ["a b;c", "esc\\x1b[31m", "x" * 60, "x" * 50, "ok"] if how == "names" else ["long", "ok"]
def description(name):
    return "x" * 60_000 if how == "large" else name
if how == "escapes":
    sys.stderr.write("\\x1b]0;TITLE\\x07\\x1b[2Jred words AKIA" + "ABCDEFGH" * 2 + "\\nlast words")
    sys.stderr.flush()
if how == "flood":
    sys.stderr.write("x" * 100_000 + "\\n" + "many words\\n" * 100_000)
    sys.stderr.flush()

def answer(method, given):
    if method == "initialize":
        about = {"name": "docs", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        while how == "hangs":
            time.sleep(1)
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": name, "description": description(name), "inputSchema": schema} for name in names]}
    if method == "tools/call":
        for number in range(100 if how == "logs" else 0):
            note = {"level": "error", "data": "\\x1b[2J" + str(number), "logger": "\\x1b]0;TITLE\\x07"}
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": note}), flush=True)
        lines = [f"line {number} of many, and so on" for number in range(4_000)]
        text = "\\n".join([*lines, "AKIA" + "ABCDEFGH" * 2, "the end"]) if given["name"] == "long" else "fine"
        return {"content": [{"type": "text", "text": text}]}
    return {}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def serve(folder: Path, how: str) -> str:
    """Return a command line of the server."""
    program = folder / "server.py"
    program.write_text(SERVER, encoding="utf-8")
    return f"{sys.executable} {program} {how}"


@pytest.fixture
def configure(quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Write a configuration of a server with extra code, and name it as the person does."""

    def written(how: str) -> None:
        line = serve(tmp_path, how)
        Path("remit.toml").write_text(f'[mcp_servers]\ndocs = "{line}"\n', encoding="utf-8")
        monkeypatch.setenv("REMIT_CONFIG", str(Path("remit.toml").absolute()))

    return written


async def ran(fleet: Fleet) -> Any:
    fleet.registry = registry("---\nname: librarian\ntools: mcp__docs\n---\nx", allow_tools=["*", "mcp__docs"])
    return await fleet.run(subagent_def="librarian", model=ANTHROPIC)


async def test_stderr_of_a_server_is_logged_without_control_characters(
    configure: Callable[[str], None], play: Play, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    configure("escapes")
    async with play({"text": "done"}) as fleet:
        assert (await ran(fleet)).outcome == "completed"
    told = [record for record in caplog.records if "the MCP server docs printed" in record.message]
    assert {record.levelno for record in told} == {logging.WARNING}
    first, last = [record.message for record in told]
    assert "red words [AWS key removed]" in first
    assert first.isprintable()
    assert last.endswith("printed: last words")
    assert "\x1b" not in capfd.readouterr().err


async def test_a_flood_on_stderr_is_bounded_and_does_not_stop_the_server(
    configure: Callable[[str], None], play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    configure("flood")
    async with play(tools(("mcp__docs__ok", {})), {"text": "done"}) as fleet:
        done = await ran(fleet)
        assert await fleet.outputs(done.id) == ["fine"]
    told = [record.message for record in caplog.records if "the MCP server docs printed" in record.message]
    assert len(told) == MAX_LINES + 1
    assert max(map(len, told)) < 400
    assert told[-1] == "the MCP server docs printed more, which is not logged"


async def test_a_tool_with_an_invalid_name_is_omitted_with_a_warning(
    configure: Callable[[str], None], play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    configure("names")
    async with play(tools(("mcp__docs__ok", {})), {"text": "done"}) as fleet:
        done = await ran(fleet)
        assert done.outcome == "completed"
        offered = [tool["name"] for tool in fleet.requests[0].body["tools"]]
    assert offered == ["mcp__docs__" + "x" * 50, "mcp__docs__ok"]
    told = [record.message for record in caplog.records if "is skipped" in record.message]
    assert len(told) == 3, "each is reported once"
    assert all(line.isprintable() for line in told)


async def test_what_a_server_sends_to_be_logged_is_not_printed(
    configure: Callable[[str], None], play: Play, capfd: pytest.CaptureFixture[str]
) -> None:
    configure("logs")
    async with play(tools(("mcp__docs__ok", {})), {"text": "done"}) as fleet:
        done = await ran(fleet)
        assert await fleet.outputs(done.id) == ["fine"]
    assert "Received" not in "".join(capfd.readouterr())


async def test_tools_with_large_definitions_are_omitted_with_a_warning(
    configure: Callable[[str], None], play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    configure("large")
    async with play(tools(("mcp__docs__long", {})), {"text": "done"}) as fleet:
        await ran(fleet)
        assert [tool["name"] for tool in fleet.requests[0].body["tools"]] == ["mcp__docs__long"]
    [told] = [record.message for record in caplog.records if "is skipped" in record.message]
    assert "the tool 'ok' of the MCP server docs is skipped: the definitions of a server's tools" in told


async def test_a_server_that_does_not_list_its_tools_ends_the_job_with_its_name(
    configure: Callable[[str], None], play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_tools, "_TIMEOUT_SECONDS", 1.0)
    configure("hangs")
    async with play({"text": "done"}) as fleet:
        done = await ran(fleet)
        assert done.outcome == "error"
        assert str(done.error).startswith("the MCP server 'docs' cannot be used: ")


class Calls:
    """Runs calls and keeps the outcome of the last."""

    last: ToolOutput

    async def answer(
        self, call_id: str, spec: ToolSpec, arguments: Any, run: Callable[[Any, str], Awaitable[ToolOutput]]
    ) -> str:
        self.last = await run(arguments, f"1:{call_id}")
        return self.last.text


async def called(tmp_path: Path, keeping: mcp_tools.LongOutputs, arguments: dict[str, Any]) -> ToolOutput:
    calls = Calls()
    client = mcp_tools._client("docs", {"docs": serve(tmp_path, "well")}, tmp_path)
    server = mcp_tools.ServerTools("docs", client, AllowList(("mcp__docs",)), calls, keeping)  # type: ignore[arg-type]
    context: RunContext[None] = RunContext(deps=None, model=TestModel(), usage=RunUsage(), tool_call_id="call")
    async with server:
        tool = (await server.get_tools(context))["mcp__docs__long"]
        await server.call_tool("mcp__docs__long", arguments, context, tool)
    return calls.last


@pytest.mark.process
async def test_the_file_with_a_long_answer_is_complete_and_redacted(tmp_path: Path) -> None:
    output = await called(tmp_path, mcp_tools.LongOutputs(tmp_path / "spill"), {})
    [kept] = (tmp_path / "spill").iterdir()
    assert len(output.text) <= mcp_tools.MAX_OUTPUT
    assert f'file_path="{kept}"' in output.text
    assert kept.read_text(encoding="utf-8").endswith("[AWS key removed]\nthe end")


@pytest.mark.process
async def test_a_receipt_records_the_arguments_of_a_server_tool(tmp_path: Path) -> None:
    output = await called(
        tmp_path, mcp_tools.LongOutputs(), {"words": "x" * 100_000, "nested": {"a": [1]}, "number": 3}
    )
    kept = output.receipt.arguments
    assert kept["words"].endswith("[… 80,000 more characters]")
    assert (kept["nested"], kept["number"]) == ('{"a":[1]}', 3)


async def test_a_program_of_the_checkout_is_not_used_as_a_server(configure: Callable[[str], None], play: Play) -> None:
    """It runs in the checkout, where a relative name would be found."""
    configure("none")
    async with play({"text": "done"}) as fleet:
        program = fleet.project / "evil"
        program.write_text(f"#!/bin/sh\ntouch {fleet.project}/was-run\n", encoding="utf-8")
        program.chmod(0o755)
        fleet.settings = fleet.settings._replace(mcp_servers={"docs": "./evil"})
        ended = await ran(fleet)
        assert (ended.outcome, ended.error) == (
            "error",
            "the MCP server 'docs' must name a program on the PATH or an absolute path",
        )
        assert not (fleet.project / "was-run").exists()


async def test_the_agent_can_read_the_file_with_a_long_answer(configure: Callable[[str], None], play: Play) -> None:
    configure("none")
    async with play(tools(("mcp__docs__long", {})), {"text": "done"}) as fleet:
        job = await ran(fleet)
        kept = [path.read_text("utf-8") for path in (fleet.settings.work / "spill" / f"job-{job.id}").iterdir()]
    assert len(kept) == 1
    assert "line 3999 of many" in kept[0]
    assert "ABCDEFGHABCDEFGH" not in kept[0]
