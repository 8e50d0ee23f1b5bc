"""The package for assistants in the real client: its validator, and a session that uses the MCP server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_client import Stage, binary, staged
from scripts import call, does, says

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "plugins/remit"
_TOOL = "mcp__plugin_remit_remit__explain_rule"
_CONVERSATIONS = {"explain-it": [does(call("explained", _TOOL, name="EVD001")), says("Done.")]}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp("package"), _CONVERSATIONS) as made:
        yield made


def plugin(stage: Stage, *arguments: str) -> str:
    """Return the output of `claude plugin`; it must succeed."""
    command = [str(binary()), "plugin", *arguments]
    done = subprocess.run(command, env=stage.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", [PACKAGE, ROOT], ids=["the plugin", "the marketplace"])
def test_the_clients_validator_accepts_it(folder: Path, stage: Stage) -> None:
    assert "Validation passed" in plugin(stage, "validate", str(folder), "--strict")


def test_the_client_installs_it_from_the_repository(stage: Stage) -> None:
    plugin(stage, "marketplace", "add", str(ROOT))
    plugin(stage, "install", "remit@remit")
    assert "remit@remit" in plugin(stage, "list")
    plugin(stage, "uninstall", "remit@remit")


def test_the_clients_validator_would_refuse_another_form(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / ".claude-plugin").mkdir()
    manifest = json.loads((PACKAGE / ".claude-plugin/plugin.json").read_text(encoding="utf-8"))
    (tmp_path / ".claude-plugin/plugin.json").write_text(json.dumps({**manifest, "name": 5}), encoding="utf-8")
    command = [str(binary()), "plugin", "validate", str(tmp_path), "--strict"]
    assert subprocess.run(command, env=stage.environment, capture_output=True, check=False).returncode == 1


def test_a_session_has_its_skill_and_its_tools(stage: Stage) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{stage.environment['PATH']}"
    with stage.talk("--plugin-dir", str(PACKAGE), "--allowedTools", _TOOL, PATH=path) as talk:
        talk.say("explain-it")
    begun = next(event for event in talk.events if event.get("subtype") == "init")
    assert [one["name"] for one in begun["mcp_servers"]] == ["plugin:remit:remit"]
    assert "remit:verify-agent-reports" in begun["skills"]
    found = json.loads(stage.results("explain-it")["toolu_explained"])
    assert found["rules"][0]["rule"] == "reference-missing-file"
