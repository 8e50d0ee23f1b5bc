"""`remit install CLIENT --mcp`: the entry in the client's file of MCP servers, and its exact removal."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from install_site import Site, everything

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.known_clients import CLIENTS
from remit.clients.setup import mcp_entry
from remit.clients.setup.file_changes import read_record
from remit.clients.setup.install import plan_install
from remit.clients.setup.mcp_entry import _with_server, _without_server, json_server_file, server_problem
from remit.clients.setup.target import McpFile
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
    after, _, _ = _with_server(text, file)
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
        plan_install(CLAUDE_CODE.find_target(None, is_user=True), is_with_mcp=True)


#: Client -> its file, and the path to Remit's entry.
FILES = {
    "codex": (".codex/config.toml", "mcp_servers"),
    "copilot": (".github/mcp.json", "mcpServers"),
    "opencode": ("opencode.json", "mcp"),
}


def install(site: Site, client: str, *, fails: str = "") -> None:
    done = site.remit("install", client, "--mcp", "--project", str(site.project), "--yes")
    assert (fails in str(done.exception)) if fails else done.exception is None, done.output


def uninstall(site: Site, client: str) -> str:
    done = site.remit("uninstall", client, "--project", str(site.project), "--yes")
    assert done.exception is None, done.output
    return " ".join(done.output.split())


def parsed(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("client", FILES)
def test_each_client_gets_the_server_in_its_own_file(site: Site, client: str) -> None:
    before = everything(site.project)
    name, container = FILES[client]
    install(site, client)
    entry = parsed(site.project / name)[container]["remit"]
    command = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    assert command == [sys.executable, "-I", "-m", "remit", "mcp"]
    uninstall(site, client)
    assert everything(site.project) == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        'model = "gpt-5.5"',
        'model = "gpt-5.5"\n\n[mcp_servers.own]\ncommand = "own"\n\n\n',
        "# a comment at the end",
        '[projects."/x"]\r\ntrust_level = "trusted"\r\n',
    ],
)
def test_every_byte_of_a_toml_file_comes_back(site: Site, text: str) -> None:
    file = site.project / ".codex/config.toml"
    file.parent.mkdir()
    file.write_bytes(text.encode())
    install(site, "codex")
    install(site, "codex")
    assert parsed(file)["mcp_servers"]["remit"] == ENTRY | {"startup_timeout_sec": 60}
    # The client adds tables itself, such as the trust of a folder.
    file.write_bytes(file.read_bytes() + b"\n[added]\nlater = 1\n")
    uninstall(site, "codex")
    assert file.read_bytes() == text.encode() + b"\n[added]\nlater = 1\n"


@pytest.mark.parametrize("is_installed_again", [False, True])
def test_a_table_of_an_earlier_version_works_and_is_replaced_by_the_next_install(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, is_installed_again: bool
) -> None:
    file = site.project / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text('model = "gpt-5.5"\n', encoding="utf-8")
    client = CLIENTS["codex"]
    target = client.find_target(site.project, is_user=False)
    newer = client.mcp_file(target)
    assert isinstance(newer, McpFile)
    with monkeypatch.context() as patch:
        patch.setattr(type(client), "mcp_file", lambda *_: newer._replace(entry=ENTRY))
        install(site, "codex")
    assert parsed(file)["mcp_servers"]["remit"] == ENTRY
    record = read_record(target)
    assert record is not None
    assert server_problem(target, record) == ""
    if is_installed_again:
        install(site, "codex")
        assert parsed(file)["mcp_servers"]["remit"] == newer.entry
    uninstall(site, "codex")
    assert file.read_text(encoding="utf-8") == 'model = "gpt-5.5"\n'


def test_a_lost_record_does_not_leave_the_table(site: Site) -> None:
    (site.project / "remit.toml").write_text('[gate]\nmode = "verify"\n', encoding="utf-8")
    before = everything(site.project)
    install(site, "codex")
    (site.project / ".remit/codex/installed.json").unlink()
    uninstall(site, "codex")
    assert everything(site.project) == before


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("mcp_servers = {}\n", "cannot be added"),
        ("mcp_servers = 1\n", "must be an object"),
        ("x = [", "not valid TOML"),
    ],
)
def test_a_toml_file_of_another_form_is_refused_and_stays(site: Site, text: str, fails: str) -> None:
    file = site.project / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    install(site, "codex", fails=fails)
    assert file.read_text(encoding="utf-8") == text


def test_a_table_that_was_changed_since_stays(site: Site) -> None:
    install(site, "codex")
    file = site.project / ".codex/config.toml"
    text = file.read_text(encoding="utf-8").replace('"mcp"]', '"mcp", "--read-only"]')
    file.write_text(text, encoding="utf-8")
    assert "was changed since, so it stays" in uninstall(site, "codex")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("client", ["claude-code", *FILES])
def test_without_the_extra_install_and_doctor_name_the_command_that_helps(
    site: Site, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_entry, "find_spec", lambda _: None)
    need = "it needs the extra `mcp`: pip install "
    for _ in range(2):  # the second install changes nothing
        shown = site.remit("install", client, "--mcp", "--project", str(site.project), "--yes").output
        assert f"the MCP server does not start yet: {need}" in shown
    [fact] = mcp_entry.mcp_facts(CLIENTS[client])
    assert fact.level == "bad"
    assert fact.words.startswith(f"the MCP server does not work: {need}")
    assert "remit install" not in fact.words


def test_doctor_advises_to_install_again_only_if_the_entry_is_wrong(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.install(is_with_mcp=True)
    monkeypatch.setattr(mcp_entry, "_start_problem", lambda: "it gave no answer (x)")
    [fact] = mcp_entry.mcp_facts(CLAUDE_CODE)
    assert fact.words == "the MCP server does not work: it gave no answer (x)"
    (site.project / ".mcp.json").unlink()
    [fact] = mcp_entry.mcp_facts(CLAUDE_CODE)
    assert fact.words.endswith("; run `remit install claude-code --mcp`")


@pytest.mark.parametrize("client", FILES)
def test_doctor_notices_a_server_that_is_gone_or_another(site: Site, client: str) -> None:
    install(site, client)
    target = CLIENTS[client].find_target(site.project, is_user=False)
    record = read_record(target)
    assert record is not None
    assert server_problem(target, record) == ""
    file = site.project / FILES[client][0]
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"mcp"]', '"other"]'), encoding="utf-8")
    assert "has another MCP server" in server_problem(target, record)
    file.unlink()
    assert "lacks the MCP server" in server_problem(target, record)
