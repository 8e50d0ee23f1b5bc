"""A plugin can define subagents and do nothing else; other attempts are reported, and the rest loads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.registry.definition import Plugin
from remit.registry.lookup import Registry, load_registry
from remit.registry.tools import OFFERED, AllowList

Write = Callable[..., Path]
GOOD = "---\nname: good\n---\nBody.\n"
SECRET = "---\nname: secret\n---\nThe secret.\n"
MANIFEST = {"name": "house", "version": "1.0.0"}


def load(*folders: Path) -> Registry:
    return load_registry(map(str, folders), AllowList(OFFERED), with_team=False)


def only(registry: Registry) -> Plugin:
    [plugin] = registry.plugins
    return plugin


def reasons(plugin: Plugin) -> dict[str, str]:
    return {Path(one.path).name: one.reason for one in plugin.rejected}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text(SECRET)
    return folder


# links


def test_a_link_to_a_file_outside_is_rejected_and_its_text_is_never_read(plugin: Write, outside: Path) -> None:
    folder = plugin("x", {"good.md": GOOD})
    (folder / "evil.md").symlink_to(outside / "secret.md")
    (folder / "sly.md").symlink_to("../outside/secret.md")
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["good"]
    assert reasons(loaded) == dict.fromkeys(
        ("evil.md", "sly.md"), "it cannot be read: a link that leads out of the plugin"
    )


def test_a_link_to_a_folder_outside_is_not_followed(plugin: Write, outside: Path) -> None:
    folder = plugin("x", {"good.md": GOOD})
    (folder / "evil").symlink_to(outside)
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["good"]
    assert loaded.warnings == ("'evil' is a link to a folder and is not followed",)


@pytest.mark.parametrize("agents", ["evil", "evil/secret.md", "./evil/../evil/"])
def test_a_link_to_a_folder_outside_is_not_followed_when_the_manifest_names_it(
    plugin: Write, outside: Path, agents: str
) -> None:
    folder = plugin("x", {"good.md": GOOD}, {**MANIFEST, "agents": [agents, "good.md"]})
    (folder / "evil").symlink_to(outside)
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["good"]
    assert loaded.warnings == (f"{agents!r} leads out of the plugin and is not read",)


def test_an_agents_folder_that_is_a_link_outside_is_not_followed(plugin: Write, outside: Path) -> None:
    folder = plugin("x", {}, MANIFEST)
    (folder / "agents").symlink_to(outside)
    loaded = only(load(folder))
    assert (loaded.definitions, loaded.warnings) == ((), ("'agents' leads out of the plugin and is not read",))


def test_a_manifest_that_is_a_link_outside_is_refused(plugin: Write, outside: Path) -> None:
    (outside / "m.json").write_text(json.dumps(MANIFEST))
    folder = plugin("x", {"agents/good.md": GOOD})
    (folder / "remit.plugin.json").symlink_to(outside / "m.json")
    registry = load(folder)
    assert registry.plugins == ()
    assert "remit.plugin.json: a link that leads out of the plugin" in registry.warnings[0]


def test_a_link_inside_the_plugin_is_fine(plugin: Write) -> None:
    folder = plugin("x", {"lib/good.md": GOOD}, {**MANIFEST, "agents": ["a.md", "link"]})
    (folder / "a.md").symlink_to("lib/good.md")
    (folder / "link").symlink_to("lib")
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["good"]
    assert loaded.rejected == ()


def test_a_plugin_that_is_itself_reached_by_a_link_is_fine(plugin: Write, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(plugin("v7", {"good.md": GOOD}))
    loaded = only(load(tmp_path / "current"))
    assert loaded.definitions[0].path == str(tmp_path / "current/good.md")


def test_links_in_a_circle_and_to_nowhere_come_back(plugin: Write) -> None:
    folder = plugin("x", {"good.md": GOOD})
    (folder / "loop").symlink_to(".")
    (folder / "a.md").symlink_to("b.md")
    (folder / "b.md").symlink_to("a.md")
    (folder / "gone.md").symlink_to("nowhere.md")
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["good"]
    assert set(reasons(loaded)) == {"a.md", "b.md", "gone.md"}


# entries that are not files


def test_a_pipe_a_folder_and_a_link_to_a_folder_named_like_definitions_neither_hang_nor_load(plugin: Write) -> None:
    folder = plugin("x", {"good.md": GOOD, "folder.md/inner.md": SECRET.replace("secret", "inner"), "sub/y": ""})
    os.mkfifo(folder / "pipe.md")
    (folder / "link.md").symlink_to("sub")
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["inner", "good"]
    assert reasons(loaded) == dict.fromkeys(("pipe.md", "link.md"), "it cannot be read: not a regular file")


def test_a_pipe_for_a_manifest_does_not_hang(plugin: Write) -> None:
    folder = plugin("x", {"agents/good.md": GOOD})
    os.mkfifo(folder / "remit.plugin.json")
    assert "remit.plugin.json: not a regular file" in load(folder).warnings[0]


def test_a_device_is_not_read(plugin: Write) -> None:
    folder = plugin("x", {"good.md": GOOD})
    (folder / "zero.md").symlink_to("/dev/zero")
    assert reasons(only(load(folder))) == {"zero.md": "it cannot be read: a link that leads out of the plugin"}


def test_folders_too_deep_are_left_out(plugin: Write) -> None:
    path = "/".join("d" * 12)
    loaded = only(load(plugin("x", {"good.md": GOOD, f"{path}/deep.md": SECRET})))
    assert [one.name for one in loaded.definitions] == ["good"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_folder_or_plugin_is_reported_and_the_rest_loads(plugin: Write) -> None:
    folder = plugin("x", {"good.md": GOOD, "shut/a.md": SECRET, "file.md": SECRET})
    shut = plugin("y", {"a.md": SECRET})
    closed = [folder / "shut", folder / "file.md", shut]
    for path in closed:
        path.chmod(0)
    try:
        registry = load(folder, shut)
    finally:
        for path in closed:
            path.chmod(0o755)
    assert [one.name for one in registry] == ["good"]
    assert any("'shut' cannot be read: Permission denied" in words for words in registry.warnings)
    assert any(f"{str(shut)!r} is not loaded: permission denied" in words for words in registry.warnings)


def test_a_folder_that_cannot_be_looked_into_costs_nothing_else(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plugin("x", {"good.md": GOOD, "shut/a.md": SECRET, "open/b.md": SECRET})
    scan = os.scandir

    def refusing(path: str) -> Any:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    loaded = only(load(folder))
    assert [one.name for one in loaded.definitions] == ["good", "secret"]
    assert loaded.warnings == ("'shut' cannot be read: Permission denied",)


def test_a_file_name_that_is_not_utf_8_is_shown_with_numbers_and_fits_into_json(plugin: Write, remit: Any) -> None:
    folder = plugin("x", {"good.md": GOOD})
    name = os.fsdecode(b"a\xffb.md")
    (folder / name).write_text("---\nname: other\n---\nb")
    (folder / os.fsdecode(b"c\xff.md")).write_text("---\ndescription: no name\n---\nb")
    ran = remit("agents", "check", str(folder), "--format", "json")
    assert ran.code == 1
    assert [one["path"] for one in ran.json["definitions"]] == [f"{folder}/a\\xffb.md", f"{folder}/good.md"]
    [rejected] = ran.json["rejected"]
    assert (rejected["path"], "control character" in rejected["reason"]) == (f"{folder}/c\\xff.md", True)


# what a terminal would obey

ESCAPE = "\x1b]0;owned\x07\x1b[31m\x9b1m\u202e\u2066\r"


@pytest.fixture
def nasty(plugin: Write) -> Path:
    """A plugin with terminal escapes wherever one may stand."""
    quoted = json.dumps(ESCAPE)
    files: dict[str, str] = {
        "agents/name.md": f"---\nname: {quoted}\n---\nb",
        "agents/fields.md": (
            f"---\nname: fields\ndescription: {quoted}\ntools: [Read, {quoted}, 'B\u202ead']\nmodel: {quoted}\n"
            f"kind: {quoted}\nbudget: {{{quoted}: 1}}\ninput_vars: [{quoted}]\nskills: [{quoted}]\n"
            f"expertise: {quoted}\ndisallowedTools: {quoted}\n{quoted}: {quoted}\ndescriptio\u202e: x\n---\n{ESCAPE}"
        ),
        "agents/typo.md": f"---\nname: typo\nallowed_tools: [{quoted}]\n---\nb",
        "agents/twice.md": f"---\n{quoted}: 1\n{quoted}: 2\n---\nb",
        "agents/turns.md": f"---\nname: turns\nmax_turns: {quoted}\n---\nb",
        f"agents/\x1b[31m{'x' * 20}.md": "---\ndescription: a\n---\nb",
        "agents/\x1b[32m.md": "---\nname: coloured\n---\nb",
        "agents/\x1b[33m/dot.md": "no frontmatter",
        "agents/js.md": f"---js{ESCAPE}\n---\n",
        "agents/yaml.md": f"---\nname: a\ndescription: [{ESCAPE}\n---\nb",
    }
    manifest = {"name": "nasty", "version": ESCAPE, "agents": ["agents", f"../{ESCAPE}", ESCAPE, f"{ESCAPE}.md"]}
    return plugin("nasty", files, manifest)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        "list --plugin-path {}",
        "check {}",
        "show fields --plugin-path {}",
        "explain fields --plugin-path {}",
        "explain name --plugin-path {}",
        "explain {escape} --plugin-path {} --tools {escape} --model {escape} --var {escape}=1",
        "explain fields --plugin-path {} --system {escape}",
        "explain {escape} --plugin-path {} --policy strict",
        "show {escape} --plugin-path {escape}:{}",
        "check /no/{escape}",
    ],
)
def test_escapes_never_reach_the_terminal_raw(nasty: Path, remit: Any, words: str, form: str) -> None:
    line = [word.replace("{}", str(nasty)).replace("{escape}", ESCAPE.strip()) for word in words.split()]
    ran = remit("agents", *line, "--format", form)
    assert ran.code in (0, 1, 2)
    assert "fault of remit" not in ran.err
    shown = ran.err + (ran.out if form == "text" else "")
    bad = {character for character in shown if not character.isprintable() and character != "\n"}
    assert not bad
    if form == "json" and ran.out:
        assert not {"\x1b", "\x07", "\r"} & set(ran.out)
        assert ran.json["schema"]
