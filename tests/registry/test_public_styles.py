"""Definitions in the styles of public collections load as they are, with the name and tools their authors meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.registry.lookup import Registry, load_registry
from remit.registry.tools import OFFERED, AllowList

PUBLIC = Path(__file__).with_name("public")
#: File -> its name, and its tools (None: it does not say, so every tool of the worker).
EXPECTED: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "collection/01-core/api-designer.md": ("api-designer", ("Read", "Write", "Edit", "Bash", "Glob", "Grep")),
    "collection/01-core/colon-description.md": ("colon-description", ("Read", "Grep")),
    "collection/01-core/conversation-indented.md": ("conversation-indented", None),
    "collection/01-core/conversation.md": ("conversation", ("Read", "Grep", "Glob")),
    "collection/01-core/folded-block.md": ("folded-block", ("Read", "Write", "TodoWrite")),
    "collection/01-core/literal-block.md": ("literal-block", ("Read", "Bash", "WebFetch")),
    "collection/01-core/many-colons.md": ("many-colons", None),
    "collection/01-core/one-line-examples.md": ("one-line-examples", None),
    "collection/01-core/quoted-examples.md": ("quoted-examples", ("Read", "Write")),
    "collection/02-languages/Title Case Name.md": ("Title Case Name", ("Glob",)),
    "collection/02-languages/blank-lines-first.md": ("blank-lines-first", ("Edit",)),
    "collection/02-languages/byte-order-mark.md": ("byte-order-mark", ("Read",)),
    "collection/02-languages/comments.md": ("comments", ("Read",)),
    "collection/02-languages/dots.md": ("dots", ("Read",)),
    "collection/02-languages/empty-body.md": ("empty-body", ("Read",)),
    "collection/02-languages/mark-and-windows.md": ("mark-and-windows", ("Grep",)),
    "collection/02-languages/no-name.md": ("no-name", ("Read", "LS")),
    "collection/02-languages/only-head.md": ("only-head", None),
    "collection/02-languages/rules-in-body.md": ("rules-in-body", ("Read",)),
    "collection/02-languages/tabs.md": ("tabs", ("Read", "Grep")),
    "collection/02-languages/windows-lines.md": ("windows-lines", ("Read", "Edit", "Bash")),
    "collection/02-languages/空-unicode.md": ("翻訳者", ("Read", "Write")),
    "collection/03-clients/all-tools.md": ("all-tools", None),
    "collection/03-clients/client-fields.md": ("client-fields", ("Read", "Grep", "Agent", "Skill", "SlashCommand")),
    "collection/03-clients/emphasis.md": ("emphasis", ("Read",)),
    "collection/03-clients/empty-list.md": ("empty-list", ()),
    "collection/03-clients/full-model.md": ("full-model", ("Read", "Grep", "Glob")),
    "collection/03-clients/hyphen-field.md": ("hyphen-field", ("Read", "Grep", "Bash(gh pr:*)")),
    "collection/03-clients/multi-line-plain.md": ("multi-line-plain", ("Read", "Grep", "Glob")),
    "collection/03-clients/no-tools-field.md": ("no-tools-field", None),
    "collection/03-clients/only-other-systems.md": ("only-other-systems", ()),
    "collection/03-clients/other-names.md": ("other-names", ("Read", "LS", "Edit", "Bash")),
    "collection/03-clients/other-systems.md": ("other-systems", ("Read", "Write")),
    "collection/03-clients/patterns.md": (
        "patterns",
        ("Read", "Bash(git:*)", "Bash(npm run test:*)", "WebFetch(domain:docs.example.com)"),
    ),
    "collection/03-clients/quoted-star.md": ("quoted-star", None),
    "collection/03-clients/servers.md": (
        "servers",
        ("Read", "mcp__tracker__create_issue", "mcp__docs", "mcp__plugin_house_search__query"),
    ),
    "collection/03-clients/space-separated.md": ("space-separated", ("Read", "Grep", "Glob", "Bash")),
    "collection/03-clients/star.md": ("star", None),
    "collection/03-clients/switches.md": ("switches", ("Read", "Grep")),
    "collection/03-clients/tools-empty.md": ("tools-empty", None),
    "listed/agents/first.md": ("first", ("Read",)),
    "listed/not-listed-folder/fourth.md": ("fourth", ("LS",)),
    "listed/plugins/deep/inside/second.md": ("second", ("Bash",)),
    "listed/third.agent.md": ("third", ("Grep",)),
}
WITHHELD = {
    "only-other-systems": ("figma", "storybook"),
    "other-names": ("search",),
    "other-systems": ("docker", "kubectl", "terraform", "postgresql"),
}


@pytest.fixture(scope="module")
def public() -> Registry:
    entries = [str(PUBLIC / name) for name in ("collection", "listed")]
    return load_registry(entries, AllowList(OFFERED), with_team=False)


def test_at_least_99_of_100_files_load(public: Registry) -> None:
    loaded = sum(len(plugin.definitions) for plugin in public.plugins)
    rejected = [file for plugin in public.plugins for file in plugin.rejected]
    assert len(EXPECTED) >= 30
    assert loaded >= 0.99 * (loaded + len(rejected)), rejected
    assert {Path(file.path).name for plugin in public.plugins for file in plugin.skipped} == {
        "README.md",
        "CONTRIBUTING.md",
    }


def test_each_file_is_read_as_its_author_meant_it(public: Registry) -> None:
    found = {str(Path(one.path).relative_to(PUBLIC)): (one.name, one.tools) for one in public}
    assert found == EXPECTED


def test_tools_of_other_systems_are_withheld_and_named(public: Registry) -> None:
    assert {one.name: one.unknown_tools for one in public if one.unknown_tools} == WITHHELD
    for one in public:
        for tool in one.unknown_tools:
            assert any(repr(tool) in words for words in one.warnings)


def test_fields_of_other_clients_are_not_reported_as_misspelt(public: Registry) -> None:
    found = public.get("switches")
    assert found is not None
    assert (found.warnings, found.denied) == ((), ("Write", "Bash"))


def test_agents_listed_file_by_file_are_those_and_no_others(public: Registry) -> None:
    [listed] = [plugin for plugin in public.plugins if plugin.name == "listed"]
    assert (listed.version, listed.warnings) == ("2.0.0", ())
    assert {one.name for one in listed.definitions} == {"first", "second", "third", "fourth"}


def test_descriptions_keep_their_colons_examples_and_characters(public: Registry) -> None:
    said = {one.name: one.description for one in public}
    assert said["colon-description"].endswith("""Triggers on: 'the page hangs', "timeouts", N+1""")
    assert said["many-colons"].endswith("fixtures: maybe 🚀")
    assert said["conversation"].count("<example>") == said["conversation"].count("</example>") == 2
    assert "</example>" in said["conversation-indented"]
    assert r"\n<commentary>\n" in said["one-line-examples"]
    assert said["folded-block"] == "Turns a vague wish into acceptance criteria: given, when, then."
    assert said["comments"] == "Explains regular expressions"
    assert said["multi-line-plain"] == "A description that goes on over several lines without any mark"
    assert said["翻訳者"] == "ドキュメントを翻訳します：日本語、英語"
    assert said["emphasis"] == "**Always** use me first! `really`"


def test_bodies_are_whole_and_without_what_the_editor_added(public: Registry) -> None:
    told = {one.name: one.body for one in public}
    assert told["windows-lines"] == "Mind the line ends.\n\nThey are not all alike."
    assert told["blank-lines-first"] == told["byte-order-mark"] == told["dots"] == "Body."
    assert told["rules-in-body"].startswith("Part one.\n\n---\n\nname: not a field")
    assert told["empty-body"] == ""
    assert told["tabs"] == "\tA body with tabs."


def test_fields_that_mean_nothing_here_are_kept_without_a_word(public: Registry) -> None:
    found = public.get("client-fields")
    assert found is not None
    assert (found.max_turns, found.model) == (25, "inherit")
    assert not any("did you mean" in words or "not YAML" in words for words in found.warnings)
    assert (found.denied, found.skills) == (("Write", "Edit"), ("house-style", "review-checklist"))
    kept = {"effort", "permissionMode", "color", "memory", "background", "hooks"}
    assert set(found.unused) >= kept
    other = public.get("no-tools-field")
    assert other is not None
    assert other.unused["version"] == "1.10"
    assert other.unused["tags"] == ["on", "off", "yes"]
    assert other.warnings == ()


def test_the_files_still_have_the_bytes_they_are_about() -> None:
    folder = PUBLIC / "collection/02-languages"
    assert (folder / "byte-order-mark.md").read_bytes().startswith(b"\xef\xbb\xbf---\n")
    assert (folder / "mark-and-windows.md").read_bytes().startswith(b"\xef\xbb\xbf---\r\n")
    assert b"\r\n" in (folder / "windows-lines.md").read_bytes()
    assert b"\t" in (folder / "tabs.md").read_bytes()
