"""Plugins: where they come from, which files of them count, and who wins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from remit import get_definition, reload_registry, resolve
from remit.registry.lookup import Registry, load_registry
from remit.registry.plugins import BUILT_IN, built_in_team
from remit.registry.resolution import DefinitionRejected, open_registry
from remit.registry.tools import OFFERED, AllowList

Write = Callable[..., Path]
MANIFEST = {"name": "house", "version": "1.2.0"}


def text(name: str, body: str = "Body.", **fields: str) -> str:
    head = "".join(f"{key}: {value}\n" for key, value in {"name": name, **fields}.items())
    return f"---\n{head}---\n{body}\n"


def load(*folders: Path | str, with_team: bool = False) -> Registry:
    return load_registry(map(str, folders), AllowList(OFFERED), with_team=with_team)


def names(registry: Iterable[Any]) -> list[str]:
    return [definition.qualified for definition in registry]


# the four layouts


def test_a_remit_plugin_has_its_definitions_in_agents(plugin: Write) -> None:
    folder = plugin("x", {"agents/a.md": text("a"), "agents/deep/er/b.md": text("b"), "other.md": text("c")}, MANIFEST)
    registry = load(folder)
    assert names(registry) == ["house:a", "house:b"]
    [loaded] = registry.plugins
    assert (loaded.name, loaded.version, loaded.warnings) == ("house", "1.2.0", ())


def test_a_gbrain_plugin_has_its_definitions_in_subagents(plugin: Write) -> None:
    manifest = {**MANIFEST, "plugin_version": "gbrain-plugin-v1"}
    files = {"subagents/a.md": text("a"), "agents/b.md": text("b")}
    assert names(load(plugin("x", files, manifest, layout="gbrain.plugin.json"))) == ["house:a"]


def test_a_gbrain_plugin_may_name_its_folder(plugin: Write) -> None:
    manifest = {**MANIFEST, "plugin_version": "gbrain-plugin-v1", "subagents": "defs"}
    files = {"subagents/a.md": text("a"), "defs/b.md": text("b")}
    assert names(load(plugin("x", files, manifest, layout="gbrain.plugin.json"))) == ["house:b"]


def test_a_claude_code_plugin_has_its_definitions_in_agents_or_where_its_manifest_points(plugin: Write) -> None:
    files = {"agents/a.md": text("a"), "lib/b.md": text("b"), "lib/c.md": text("c"), "more/d.md": text("d")}
    layout = ".claude-plugin/plugin.json"
    assert names(load(plugin("x", files, MANIFEST, layout=layout))) == ["house:a"]
    manifest = {**MANIFEST, "agents": ["./lib/c.md", "./more/"]}
    assert names(load(plugin("y", files, manifest, layout=layout))) == ["house:c", "house:d"]
    assert names(load(plugin("z", files, {**MANIFEST, "agents": "./lib"}, layout=layout))) == ["house:b", "house:c"]
    assert names(load(plugin("n", files, {**MANIFEST, "agents": []}, layout=layout))) == []


def test_a_plain_folder_is_a_plugin_named_after_it(plugin: Write) -> None:
    folder = plugin(".claude/agents", {"a.md": text("a"), "team/b.md": text("b"), "README.md": "# Hello\n"})
    registry = load(folder)
    assert names(registry) == ["agents:a", "agents:b"]
    [loaded] = registry.plugins
    assert (loaded.version, loaded.warnings) == (None, ())
    [skipped] = loaded.skipped
    assert (skipped.path, skipped.reason) == (f"{folder}/README.md", "it has no frontmatter, so it is not a definition")


def test_remits_own_manifest_is_read_before_the_others(plugin: Write) -> None:
    folder = plugin(
        "x", {"agents/a.md": text("a")}, {"name": "claude", "version": "1"}, layout=".claude-plugin/plugin.json"
    )
    plugin("x", {}, {"name": "remit", "version": "1"})
    assert names(load(folder)) == ["remit:a"]


def test_folders_that_hold_no_definitions_of_ones_own_are_left_out(plugin: Write) -> None:
    files = {
        "a.md": text("a"),
        "node_modules/b.md": text("b"),
        ".git/c.md": text("c"),
        "venv/d.md": text("d"),
        "e.txt": "",
    }
    assert names(load(plugin("x", files))) == ["x:a"]


def test_the_ending_may_be_written_in_capitals(plugin: Write) -> None:
    assert names(load(plugin("x", {"A.MD": text("a")}))) == ["x:a"]


# manifests


def test_a_manifest_without_a_version_is_a_warning(plugin: Write) -> None:
    for version in ({}, {"version": None}, {"version": 3}, {"version": " "}, {"version": "1\x1b[1m"}):
        registry = load(plugin("x", {"agents/a.md": text("a")}, {"name": "house", **version}))
        assert names(registry) == ["house:a"]
        assert registry.warnings == ('plugin \'house\': remit.plugin.json has no version: add "version": "1.0.0"',)


@pytest.mark.parametrize(
    ("layout", "said", "needed"),
    [
        ("gbrain.plugin.json", {"plugin_version": "gbrain-plugin-v2"}, "'gbrain-plugin-v1'"),
        ("gbrain.plugin.json", {}, "'gbrain-plugin-v1'"),
        ("remit.plugin.json", {"plugin_version": "gbrain-plugin-v1"}, "'remit-plugin-v1'"),
        ("remit.plugin.json", {"plugin_version": 1}, "'remit-plugin-v1'"),
    ],
)
def test_a_wrong_plugin_version_is_refused_and_the_others_live(
    plugin: Write, layout: str, said: dict[str, Any], needed: str
) -> None:
    bad = plugin("bad", {"agents/a.md": text("a"), "subagents/a.md": text("a")}, {**MANIFEST, **said}, layout=layout)
    registry = load(bad, plugin("good", {"b.md": text("b")}))
    assert names(registry) == ["good:b"]
    [warning] = registry.warnings
    assert f"{str(bad)!r} is not loaded: {layout}: plugin_version must be {needed}" in warning


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (b"{", "remit.plugin.json is not JSON"),
        (b"\xff\xfe", "remit.plugin.json is not JSON"),
        (b"", "remit.plugin.json is not JSON"),
        ([], "must be a JSON object"),
        ("house", "must be a JSON object"),
        ({}, 'has no name: add "name"'),
        ({"name": 5}, 'has no name: add "name"'),
        ({"name": "  "}, 'has no name: add "name"'),
        ({"name": "a:b"}, "contains a colon"),
        ({"name": "a/b"}, "contains a slash"),
        ({"name": "a\nb"}, "contains a line break or a control character"),
        ({"name": "a\x1b[2J"}, "contains a line break or a control character"),
        ({"name": "x" * 65}, "at most 64"),
        ({"name": "built-in"}, "is reserved for the built-in team"),
        ({"name": " Built-In "}, "is reserved for the built-in team"),
        (b'{"name": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "is not JSON"),
        (b'{"name": "a", "x": "' + b"x" * 300_000 + b'"}', "larger than 256 KiB"),
    ],
    ids=range(17),
)
def test_a_manifest_that_cannot_be_one_costs_its_plugin_and_no_other(
    plugin: Write, manifest: object, words: str
) -> None:
    bad = plugin("bad", {"agents/a.md": text("a")}, manifest)
    registry = load(bad, plugin("good", {"b.md": text("b")}))
    assert names(registry) == ["good:b"]
    [warning] = registry.warnings
    assert warning.startswith(f"{str(bad)!r} is not loaded: ")
    assert words in warning
    assert warning.isprintable()
    assert len(warning) < 600


def test_a_manifest_that_is_a_folder_is_reported(plugin: Write) -> None:
    folder = plugin("x", {"remit.plugin.json/a.md": text("a")})
    assert "is not loaded: remit.plugin.json: " in load(folder).warnings[0]


def test_a_manifest_with_a_byte_order_mark_is_read(plugin: Write) -> None:
    folder = plugin("x", {"agents/a.md": text("a")}, b'\xef\xbb\xbf{"name": "house", "version": "1"}')
    assert names(load(folder)) == ["house:a"]


def test_a_missing_folder_of_definitions_is_reported(plugin: Write) -> None:
    [warning] = load(plugin("x", {}, MANIFEST)).warnings
    assert "it has no definitions: no Markdown file with frontmatter in" in warning
    [warning] = load(plugin("y", {}, {**MANIFEST, "agents": "defs"})).warnings
    assert "'defs' is neither a folder nor a Markdown file of the plugin" in warning
    [rejected] = load(plugin("z", {}, {**MANIFEST, "agents": ["defs/a.md"]})).plugins[0].rejected
    assert rejected.reason == "it cannot be read: No such file or directory"


@pytest.mark.parametrize("agents", [5, {"a": "b"}, [1, None], ["", " "]])
def test_agents_that_are_not_paths_are_reported(plugin: Write, agents: object) -> None:
    registry = load(plugin("x", {"agents/a.md": text("a")}, {**MANIFEST, "agents": agents}))
    assert names(registry) == []
    assert "agents must be a path or a list of paths" in registry.warnings[0]


@pytest.mark.parametrize(
    "source",
    ["../other", "agents/../../other", "/etc", "/", "https://example.com/a.md", "file:///etc/passwd", "a\0b", ".."],
)
def test_a_path_in_a_manifest_never_leads_out_of_the_plugin(plugin: Write, source: str) -> None:
    plugin("other", {"secret.md": text("secret")})
    folder = plugin("x", {"agents/a.md": text("a")}, {**MANIFEST, "agents": [source, "agents"]})
    registry = load(folder)
    assert names(registry) == ["house:a"]
    assert registry.warnings == (f"plugin 'house': {source!r} leads out of the plugin and is not read",)


def test_a_path_that_goes_out_and_comes_back_in_words_is_inside(plugin: Write) -> None:
    folder = plugin("x", {"agents/a.md": text("a")}, {**MANIFEST, "agents": ["./lib/../agents/a.md", "agents/"]})
    assert (names(load(folder)), load(folder).warnings) == (["house:a"], ())


@pytest.mark.parametrize(
    "source", ["x" * 5000, "a/" * 3000, "~/agents", "C:\\agents", "agents\\a.md", "*.md", "agents/*"]
)
def test_an_invalid_path_in_a_manifest_is_reported_and_the_rest_loads(plugin: Write, source: str) -> None:
    registry = load(plugin("x", {"agents/a.md": text("a")}, {**MANIFEST, "agents": [source, "agents"]}))
    assert names(registry) == ["house:a"]
    assert registry.warnings or registry.plugins[0].rejected


# where plugins come from


def test_plugins_come_from_the_variable_separated_as_in_path(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = plugin("one", {"a.md": text("a")}), plugin("two", {"b.md": text("b")})
    monkeypatch.setenv("REMIT_PLUGIN_PATH", f"{one}/{os.pathsep}{os.pathsep} {two} ")
    assert get_definition("a") is not None
    assert get_definition("b") is not None
    assert get_definition("code-explorer") is not None, "the built-in team stands behind"
    assert get_definition("c") is None


def test_the_other_variable_counts_only_where_ours_is_unset(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = plugin("one", {"a.md": text("a")}), plugin("two", {"b.md": text("b")})
    monkeypatch.setenv("GBRAIN_PLUGIN_PATH", str(two))
    assert get_definition("b") is not None
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(one))
    reload_registry()
    assert (get_definition("b"), get_definition("a") is not None) == (None, True)
    monkeypatch.setenv("REMIT_PLUGIN_PATH", "")
    reload_registry()
    assert get_definition("b") is None


def test_the_path_in_the_file_is_relative_to_it_and_comes_after_the_variables(
    plugin: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plugin("project/.claude/agents", {"a.md": text("a", "file"), "b.md": text("b", "file")})
    left = plugin("left", {"a.md": text("a", "variable")})
    (tmp_path / "project/remit.toml").write_text('plugin_path = [".claude/agents"]\n')
    (tmp_path / "project/deep").mkdir()
    monkeypatch.chdir(tmp_path / "project/deep")
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(left))
    monkeypatch.setenv("REMIT_CONFIG", str(tmp_path / "project/remit.toml"))
    bodies = [found.body for found in map(get_definition, ("a", "b")) if found]
    assert bodies == ["variable", "file"]


def test_an_explicit_plugin_path_is_read_again_and_does_not_change_the_process(plugin: Write) -> None:
    folder = plugin("x", {"a.md": text("a", "first")})
    assert resolve({"subagent_def": "a"}, plugin_path=str(folder)).system == "first"
    plugin("x", {"a.md": text("a", "second")})
    assert resolve({"subagent_def": "a"}, plugin_path=[str(folder)]).system == "second"
    assert get_definition("a") is None


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("https://example.com/plugin", "a URL is not loaded"),
        ("file:///srv/plugin", "a URL is not loaded"),
        ("~/plugins", "~ is not expanded"),
        ("~root", "~ is not expanded"),
        ("plugins/house", "a relative path is not loaded"),
        (".", "a relative path is not loaded"),
        ("../x", "a relative path is not loaded"),
        ("/no/such/folder", "no such file or directory"),
        ("/dev/null", "not a directory"),
        ("/a\0b", "null character"),
        ("/" + "x" * 5000, "file name too long"),
    ],
)
def test_an_entry_that_is_not_an_absolute_folder_is_refused_and_the_rest_loads(
    plugin: Write, entry: str, words: str
) -> None:
    registry = load(entry, plugin("good", {"a.md": text("a")}))
    assert names(registry) == ["good:a"]
    [warning] = registry.warnings
    assert warning.startswith(f"{entry[:300]!r} is not loaded: ")
    assert words in warning


def test_a_url_in_the_variable_is_refused_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMIT_PLUGIN_PATH", "https://example.com/x")
    assert get_definition("code-explorer") is not None
    assert capsys.readouterr().err == (
        "[plugins] 'https://example.com/x' is not loaded: a URL is not loaded: download it and set the folder\n"
    )


def test_a_trailing_slash_is_fine_and_the_same_folder_counts_once(plugin: Write, tmp_path: Path) -> None:
    folder = plugin("x", {"a.md": text("a")})
    (tmp_path / "link").symlink_to(folder)
    registry = load(f"{folder}/", folder, tmp_path / "link", f"{folder}/../x")
    assert names(registry) == ["x:a"]
    assert registry.plugins[0].definitions[0].path == f"{folder}/a.md"
    assert [words.partition(" is not loaded: ")[2] for words in registry.warnings] == [
        f"it is the same folder as {f'{folder}/'!r}"
    ] * 3


def test_each_plugin_is_reported_on_stderr_and_the_built_in_team_is_not(
    plugin: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    one = plugin("one", {"agents/a.md": text("a"), "agents/b.md": text("b"), "agents/c.md": "no"}, MANIFEST)
    two = plugin("two", {"bad.md": "---\nname: [\n---\n"})
    open_registry([str(one), str(two)], AllowList(OFFERED))
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "[plugins] loaded 'house' v1.2.0 (2 subagents)"
    assert second == "[plugins] loaded 'two' (0 subagents)"
    assert third.startswith(f"[plugins] rejected {f'{two}/bad.md'!r}: line ")


# who wins


def test_the_left_plugin_wins_and_both_sides_are_named(plugin: Write) -> None:
    left = plugin("left", {"scout.md": text("Scout", "left")})
    right = plugin("right", {"x.md": text("scout", "right"), "y.md": text("other")})
    registry = load(left, right)
    found = registry.get("scout")
    assert found is not None
    assert found.body == "left"
    [warning] = registry.warnings
    for words in ("'left'", "'right'", f"{left}/scout.md", f"{right}/x.md", "use 'right:scout'"):
        assert words in warning
    hidden = registry.get("right:scout")
    assert hidden is not None
    assert (hidden.body, registry.is_hidden(hidden), registry.is_hidden(found)) == ("right", True, False)
    assert registry.get("right:other") is registry.get("other")
    swapped = load(right, left).get("scout")
    assert swapped is not None
    assert swapped.body == "right"


def test_a_name_is_looked_up_as_a_slug_and_a_plugins_name_too(plugin: Write) -> None:
    registry = load(plugin("x", {"agents/a.md": text("Code Scout")}, {"name": "My House", "version": "1"}))
    for name in ("Code Scout", "code-scout", "CODE_SCOUT", "my-house:code-scout", "My House:Code Scout"):
        assert registry.get(name) is not None, name
    for name in ("scout", "house:code-scout", "my-house:", "my-house:scout", "other:code-scout"):
        assert registry.get(name) is None, name


def test_a_qualified_name_never_falls_back_to_another_plugins_agent(plugin: Write) -> None:
    registry = load(plugin("x", {"a.md": text("scout")}), with_team=True)
    assert registry.get("y:scout") is None
    assert registry.get("x:code-explorer") is None
    assert registry.get("built-in:code-explorer") is not None


def test_a_definition_named_like_a_built_in_replaces_it_with_a_warning(plugin: Write) -> None:
    folder = plugin("x", {"a.md": text("Code Explorer", "mine")})
    registry = load(folder, with_team=True)
    found, hidden = registry.get("code-explorer"), registry.get("built-in:code-explorer")
    assert found is not None
    assert hidden is not None
    assert (found.body, hidden.plugin) == ("mine", BUILT_IN)
    assert registry.warnings == (f"{f'{folder}/a.md'!r} (plugin 'x') replaces the built-in 'code-explorer'",)


def test_no_folder_can_pass_for_the_built_in_team(plugin: Write) -> None:
    registry = load(plugin("built-in", {"a.md": text("code-explorer", "evil")}), with_team=True)
    assert names(registry) == names(built_in_team().definitions)
    assert "is reserved for the built-in team" in registry.warnings[0]


def test_two_plugins_of_one_name_are_both_loaded_and_the_left_one_is_meant(plugin: Write) -> None:
    one = plugin("one", {"agents/a.md": text("a", "left")}, MANIFEST)
    two = plugin("two", {"agents/a.md": text("a", "right"), "agents/b.md": text("b")}, {**MANIFEST, "name": "House"})
    registry = load(one, two)
    found = registry.get("house:a")
    assert found is not None
    assert found.body == "left"
    assert registry.get("house:b") is not None
    assert any(
        "two plugins have the name" in words and str(one) in words and str(two) in words for words in registry.warnings
    )


def test_inside_one_plugin_the_first_by_sorted_path_wins_and_the_other_is_named(plugin: Write) -> None:
    folder = plugin(
        "x", {"b/a.md": text("same", "third"), "a.md": text("Same", "first"), "a0/z.md": text("same", "second")}
    )
    [loaded] = load(folder).plugins
    assert [one.body for one in loaded.definitions] == ["first"]
    assert loaded.warnings == (
        f"{f'{folder}/a0/z.md'!r} is not used: {f'{folder}/a.md'!r} already defines 'same' in this plugin",
        f"{f'{folder}/b/a.md'!r} is not used: {f'{folder}/a.md'!r} already defines 'same' in this plugin",
    )


def test_neither_the_order_on_disk_nor_in_the_manifest_matters(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"agents/{letter}/{letter}{n}.md": text(f"{letter}{n % 3}", letter) for letter in "cab" for n in range(5)}
    folder = plugin("x", files, {**MANIFEST, "agents": ["agents/c", "agents/a", "agents/b", "agents/a/a1.md"]})
    for name in ("z", "y", "x"):
        (folder / "agents" / name).symlink_to(folder)
    plugin("x", {}, {**MANIFEST, "agents": ["agents", "agents/a/a1.md"]})
    usual = load(folder)
    assert len(usual.warnings) >= 3
    scan = os.scandir

    class Backwards:
        def __init__(self, path: str) -> None:
            with scan(path) as entries:
                self._entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self) -> Any:
            return iter(self._entries)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", Backwards)
    plugin("x", {}, {**MANIFEST, "agents": ["agents/a/a1.md", "agents"]})
    assert load(folder).plugins == usual.plugins


# one bad file never costs another


def test_each_file_is_taken_rejected_or_skipped_alone(plugin: Write) -> None:
    files = {
        "good.md": text("good"),
        "bad.md": "---\nname: a\nname: b\n---\n",
        "typo.md": "---\nname: typo\nallowed_tools: [Raed]\n---\nb",
        "js.md": "---js\n---\n",
        "open.md": "---\nname: x\n",
        "big.md": text("big", "x" * 256 * 1024),
        "README.md": "# Read me",
        "empty.md": "",
    }
    folder = plugin("x", files)
    [loaded] = load(folder).plugins
    assert names(loaded.definitions) == ["x:good"]
    assert [(Path(one.path).name, one.line) for one in loaded.rejected] == [
        *(("bad.md", 3), ("big.md", None), ("js.md", 1), ("open.md", 1), ("typo.md", 3))
    ]
    assert [Path(one.path).name for one in loaded.skipped] == ["README.md", "empty.md"]
    assert all(one.path.startswith(f"{folder}/") for one in loaded.rejected)


def test_a_file_of_256_kib_is_read_and_one_byte_more_is_not(plugin: Write) -> None:
    head = text("a", "")
    fits = head + "x" * (256 * 1024 - len(head))
    [loaded] = load(plugin("x", {"a.md": fits, "b.md": fits + "x"})).plugins
    assert names(loaded.definitions) == ["x:a"]
    assert [one.reason for one in loaded.rejected] == ["larger than 256 KiB: shorten it"]


@pytest.mark.slow
def test_the_first_thousand_files_by_path_are_read_and_the_rest_is_reported(plugin: Write) -> None:
    files = {f"{number:04}.md": text(f"agent-{number}") for number in range(1001)}
    registry = load(plugin("x", files))
    assert len(list(registry)) == 1000
    assert registry.get("agent-999") is not None
    assert registry.get("agent-1000") is None
    assert registry.warnings == ("plugin 'x': 1001 files: only the first 1000 by path are read",)


def test_a_name_whose_file_was_rejected_is_refused_with_the_reason(plugin: Write) -> None:
    folder = plugin("x", {"scout.md": "---\nname: scout\nallowed_tools: [Raed]\n---\nb"})
    with pytest.raises(DefinitionRejected) as raised:
        resolve({"subagent_def": "scout"}, plugin_path=str(folder))
    assert f"the definition 'scout' was rejected: {f'{folder}/scout.md'!r}: line 3: " in str(raised.value)
    assert "no such tool as 'Raed', did you mean 'Read'" in str(raised.value)


# the registry


def test_a_definition_stays_as_it_was_loaded_until_a_reload(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plugin("x", {"a.md": text("a", "before"), "b.md": text("b")})
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(folder))
    before, brief = get_definition("a"), resolve({"subagent_def": "a"})
    assert before is not None
    plugin("x", {"a.md": text("a", "after")})
    (folder / "b.md").unlink()
    assert get_definition("a") is before
    assert get_definition("b") is not None
    assert resolve({"subagent_def": "a"}) == brief
    registry = reload_registry()
    after = get_definition("a")
    assert after is not None
    assert (after.body, registry.get("b"), get_definition("b")) == ("after", None, None)
    assert resolve({"subagent_def": "a"}).system == "after"
    assert (brief.system, before.body) == ("before", "before"), "what has begun keeps its text"
    assert brief.definition is not None
    assert brief.definition.digest == before.digest != after.digest


def test_a_reload_that_fails_leaves_the_registry_as_it_was(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(plugin("x", {"a.md": text("a")})))
    before = get_definition("a")
    monkeypatch.setenv("REMIT_MAX_TURNS", "many")
    with pytest.raises(Exception, match="REMIT_MAX_TURNS must be a number"):
        reload_registry()
    monkeypatch.delenv("REMIT_MAX_TURNS")
    assert get_definition("a") is before


def test_the_plugins_are_read_once_for_the_life_of_the_process(
    plugin: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMIT_PLUGIN_PATH", str(plugin("x", {"a.md": text("a")})))
    for _ in range(3):
        get_definition("a")
        resolve({"subagent_def": "a"})
    assert capsys.readouterr().err == "[plugins] loaded 'x' (1 subagents)\n"


def test_definitions_and_briefs_cannot_be_changed(plugin: Write) -> None:
    registry = load(plugin("x", {"a.md": text("a")}))
    found = registry.get("a")
    assert found is not None
    brief = resolve({"subagent_def": "a"}, registry=registry)
    for thing, field in (
        (found, "body"),
        (found, "tools"),
        (brief, "system"),
        (brief, "tools"),
        (registry.plugins[0], "name"),
    ):
        with pytest.raises(AttributeError):
            setattr(thing, field, ())
    assert isinstance(registry.plugins, tuple)
    assert isinstance(registry.plugins[0].definitions, tuple)


def test_a_digest_is_of_the_text_and_nothing_else(plugin: Write) -> None:
    one = load(plugin("one", {"a.md": text("a")})).get("a")
    two = load(plugin("two", {"deep/z.md": text("a").replace("\n", "\r\n").encode()})).get("a")
    other = load(plugin("other", {"a.md": text("a", "Body!")})).get("a")
    assert one is not None
    assert two is not None
    assert other is not None
    assert one.digest == two.digest != other.digest
    assert one.digest.startswith("sha256:")
