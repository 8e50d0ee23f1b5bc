"""Definitions in the formats of clients: read from their folders, and exported to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from remit.clients.known_clients import CLIENTS
from remit.registry.plugin_root import PluginRoot
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList
from remit.surfaces.cli.group import remit


def load(folder: Path) -> tuple[dict[str, str], list[str]]:
    plugin = load_plugin(PluginRoot(str(folder)), AllowList(OFFERED), Manifest("x", None, (".",)))
    return {one.name: one.body for one in plugin.definitions}, [one.reason for one in plugin.rejected]


def test_definitions_of_codex_are_read_from_their_folder_only(tmp_path: Path) -> None:
    text = 'name = "tracer"\ndescription = "Traces"\nmodel = "gpt-5.5"\ndeveloper_instructions = """\nYou trace.\n"""\n'
    for name in (".codex/agents", "agents"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "tracer.toml").write_text(text)
    assert load(tmp_path / ".codex/agents") == ({"tracer": "You trace."}, [])
    assert load(tmp_path / "agents") == ({}, [])


@pytest.mark.parametrize(
    ("text", "reason"), [("name = ", "not valid TOML"), ('name = "x"', "developer_instructions"), ("\xff", "not valid")]
)
def test_an_invalid_definition_of_codex_is_rejected_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    folder = tmp_path / ".codex/agents"
    folder.mkdir(parents=True)
    (folder / "x.toml").write_bytes(text.encode("latin-1"))
    _, [problem] = load(folder)
    assert reason in problem


@pytest.mark.parametrize("client", CLIENTS)
def test_the_exported_team_is_read_again(client: str, tmp_path: Path) -> None:
    setup = CLIENTS[client]
    folder = tmp_path / setup.find_target(tmp_path, is_user=False).folder.name / setup.agents
    arguments = ["agents", "export", "--to", client, "--out", str(folder)]
    assert CliRunner().invoke(remit, arguments, standalone_mode=False).return_value == 0
    found, rejected = load(folder)
    assert rejected == []
    wanted = {one.name: one.body for one in built_in_team().definitions if one.name not in setup.own_agents}
    assert found == wanted


def test_an_export_keeps_a_file_that_differs(tmp_path: Path) -> None:
    arguments = ["agents", "export", "code-explorer", "--to", "codex", "--out", str(tmp_path), "--format", "json"]
    file = tmp_path / "code-explorer.toml"
    file.write_text("mine")
    kept = CliRunner().invoke(remit, arguments, standalone_mode=False)
    assert kept.return_value == 1
    assert file.read_text() == "mine"
    assert CliRunner().invoke(remit, [*arguments, "--force"], standalone_mode=False).return_value == 0
    again = CliRunner().invoke(remit, arguments, standalone_mode=False)
    assert '"unchanged"' in again.output
