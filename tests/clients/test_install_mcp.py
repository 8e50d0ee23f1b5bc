"""`remit install claude-code --mcp`: the entry in the project's file of MCP servers, and its exact removal."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from install_site import Site, everything

from remit.clients.claude_code.setup.client import find_target
from remit.clients.setup.install import plan_install
from remit.clients.setup.mcp_entry import _with_server, _without_server, json_server_file
from remit.errors import UsageError

ENTRY = {"command": sys.executable, "args": ["-I", "-m", "remit", "mcp"]}


def servers(site: Site) -> dict[str, object]:
    found: dict[str, object] = json.loads((site.project / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    return found


def test_the_server_is_added_and_removed_without_a_trace(site: Site) -> None:
    before = everything(site.project)
    plan = site.install(is_with_mcp=True)
    assert servers(site) == {"remit": ENTRY}
    assert any("do not commit it" in note for note in plan.notes)
    assert [change.mark for change in plan.changes if change.path.name == ".mcp.json"] == ["+"]
    site.uninstall()
    assert everything(site.project) == before


def test_without_the_option_no_server_is_added(site: Site) -> None:
    site.install()
    assert not (site.project / ".mcp.json").exists()


def test_installing_again_keeps_the_server(site: Site) -> None:
    before = everything(site.project)
    site.install(is_with_mcp=True)
    assert site.install().changes == []
    assert site.install(is_with_mcp=True).changes == []
    site.uninstall()
    assert everything(site.project) == before


def test_the_option_can_be_added_later(site: Site) -> None:
    site.install()
    assert [change.path.name for change in site.install(is_with_mcp=True).changes] == [".mcp.json"]
    assert servers(site) == {"remit": ENTRY}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        " {  }\n",
        '{"mcpServers": {}}',
        '{\n\t"mcpServers": {\n\t\t"own": {"command": "own", "args": []}\n\t}\n}\n',
        '{"mcpServers":{"own":{"url":"https://example.com"}},"other":[1,2]}',
        '{\r\n  "other": 1.50\r\n}\r\n',
        '\ufeff{ "mcpServers" : { } }',
    ],
)
def test_every_byte_of_the_users_file_comes_back(site: Site, text: str) -> None:
    file = site.project / ".mcp.json"
    file.write_bytes(text.encode())
    site.install(is_with_mcp=True)
    assert json.loads(file.read_text(encoding="utf-8-sig"))["mcpServers"]["remit"] == ENTRY
    site.uninstall()
    assert file.read_bytes() == text.encode()


@given(
    st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8), max_size=4),
    st.dictionaries(st.text(max_size=8), st.dictionaries(st.text(max_size=4), st.text(max_size=4)), max_size=3),
    st.sampled_from([None, 1, "\t"]),
)
def test_removing_reverts_adding(other: dict[str, object], own: dict[str, object], indent: int | str | None) -> None:
    own.pop("remit", None)
    text = json.dumps({**other, "mcpServers": own} if own else other, indent=indent)
    file = json_server_file(Path("x"), "")
    after = _with_server(text, file)
    assert json.loads(after)["mcpServers"] == {**own, "remit": ENTRY} or "mcpServers" in other
    assert _without_server(after, file, is_made=not own) == text


def test_a_server_of_the_user_with_this_name_stays(site: Site) -> None:
    file = site.project / ".mcp.json"
    file.write_text('{"mcpServers": {"remit": {"command": "mine"}}}', encoding="utf-8")
    plan = site.install(is_with_mcp=True)
    assert any("you already have an MCP server" in line for line in plan.kept)
    site.uninstall()
    assert servers(site) == {"remit": {"command": "mine"}}


def test_a_server_that_was_changed_since_stays(site: Site) -> None:
    site.install(is_with_mcp=True)
    file = site.project / ".mcp.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"mcp"]', '"mcp", "--read-only"]'), encoding="utf-8")
    plan = site.uninstall()
    assert any("was changed since" in line for line in plan.kept)
    assert "remit" in servers(site)


def test_a_lost_record_does_not_leave_the_server(site: Site) -> None:
    before = everything(site.project)
    site.install(is_with_mcp=True)
    (site.project / ".remit/gate/installed.json").unlink()
    site.uninstall()
    assert everything(site.project) == before


@pytest.mark.parametrize("text", ["not json", "[]", '{"mcpServers": []}'])
def test_a_file_of_another_form_is_refused_and_does_not_stop_an_uninstall(site: Site, text: str) -> None:
    (site.project / ".mcp.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="it was not changed"):
        site.install(is_with_mcp=True)
    site.install()
    site.uninstall()
    assert (site.project / ".mcp.json").read_text(encoding="utf-8") == text


def test_a_link_is_not_followed(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.json"
    other.write_text("{}", encoding="utf-8")
    (site.project / ".mcp.json").symlink_to(other)
    with pytest.raises(UsageError, match="symbolic link"):
        site.install(is_with_mcp=True)
    assert other.read_text(encoding="utf-8") == "{}"


def test_for_all_projects_the_clients_own_command_is_named(site: Site) -> None:
    with pytest.raises(UsageError, match="claude mcp add --scope user remit"):
        plan_install(find_target(None, is_user=True), is_with_mcp=True)
