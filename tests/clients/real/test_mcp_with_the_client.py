"""The MCP server in a session of the real client, started from the file that the install wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from real_client import Stage, under_contract
from scripts import call, does, says

TEXT = "The checkout starts at `shop/checkout.py:11` and ends in `shop/invented.py:4`."
_CONVERSATIONS = {
    "verify-it": [
        does(call("verified", "mcp__remit__verify_text", text=TEXT)),
        does(call("outside", "mcp__remit__verify_text", text=TEXT, repo="/etc")),
        says("Done."),
    ],
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("mcp"), _CONVERSATIONS) as made:
        made.remit("install", "claude-code", "--mode", "standard", "--mcp", "--yes")
        yield made


@pytest.fixture(scope="module")
def begun(stage: Stage) -> dict[str, Any]:
    """Return what the client reports about the start of the session, which has ended."""
    options = ("--mcp-config", str(stage.project / ".mcp.json"), "--strict-mcp-config")
    with stage.talk(*options, "--allowedTools", "mcp__remit__verify_text") as talk:
        talk.say("verify-it")
    return next(event for event in talk.events if event.get("subtype") == "init")


def test_the_client_connects_and_lists_the_tools(begun: dict[str, Any]) -> None:
    assert [(one["name"], one["status"]) for one in begun["mcp_servers"]] == [("remit", "connected")]
    assert len([name for name in begun["tools"] if name.startswith("mcp__remit__")]) == 10


def test_the_model_gets_the_verdict_on_a_text(stage: Stage, begun: dict[str, Any]) -> None:
    found = json.loads(stage.results("verify-it")["toolu_verified"])
    assert found["summary"]["claims_by_outcome"] == {"exists": 1, "missing-file": 1}
    assert found["summary"]["repository"] == str(stage.project.resolve())


def test_a_folder_outside_of_the_clients_project_is_refused(stage: Stage, begun: dict[str, Any]) -> None:
    assert "is outside of" in stage.results("verify-it")["toolu_outside"]


def test_an_uninstall_removes_the_server(stage: Stage, begun: dict[str, Any]) -> None:
    stage.remit("uninstall", "claude-code", "--yes")
    assert not (stage.project / ".mcp.json").exists()
