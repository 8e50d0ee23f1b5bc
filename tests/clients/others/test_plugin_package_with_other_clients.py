"""The package for assistants in Codex and Copilot CLI: they validate it when they install it from its folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from npm_client import installed, unpacked

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[3]
NAME = "remit@remit"


def run(client: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = installed(client)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "COPILOT_AUTO_UPDATE": "false"}
    return subprocess.run(
        [str(program), *arguments],
        env={**environment, **unpacked(program)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def add(client: str, home: Path, marketplace: Path) -> subprocess.CompletedProcess[str]:
    added = run(client, home, "plugin", "marketplace", "add", str(marketplace))
    assert added.returncode == 0, added.stderr
    return run(client, home, "plugin", "add" if client == "codex" else "install", NAME)


def test_codex_installs_it_with_its_server(tmp_path: Path) -> None:
    done = add("codex", tmp_path, ROOT)
    assert done.returncode == 0, done.stderr
    listed = json.loads(run("codex", tmp_path, "plugin", "list", "--json").stdout)["installed"]
    assert [(one["pluginId"], one["enabled"]) for one in listed] == [(NAME, True)]
    servers = json.loads(run("codex", tmp_path, "mcp", "list", "--json").stdout)
    assert [(one["name"], one["transport"]["command"]) for one in servers] == [("remit", "remit")]


def test_copilot_installs_it_with_its_skill(tmp_path: Path) -> None:
    done = add("copilot", tmp_path, ROOT)
    assert done.returncode == 0, done.stderr
    assert "Installed 1 skill" in done.stdout
    assert "verify-agent-reports" in run("copilot", tmp_path, "skill", "list").stdout


def test_codex_would_refuse_another_form(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in (".claude-plugin", "plugins"):
        shutil.copytree(ROOT / name, copy / name)
    (copy / "plugins/remit/plugin.json").unlink()
    (copy / "plugins/remit/.claude-plugin/plugin.json").write_text('{"name": 5}', encoding="utf-8")
    done = add("codex", tmp_path, copy)
    assert done.returncode != 0
    assert "missing or invalid plugin.json" in done.stderr
