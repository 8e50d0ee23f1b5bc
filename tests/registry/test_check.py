"""Checking definitions and fixing simple mistakes in their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.errors import UsageError
from remit.registry import plugin_root
from remit.registry.plugin_check import FixedDefinition, check_path, fix_definition
from remit.registry.tools import OFFERED, AllowList, find_tool, split_names

ALLOWED = AllowList(OFFERED)
VALID = b"---\nname: scout\ntools: Read\n---\nLook around.\n"


def fixed(text: str) -> tuple[str, tuple[str, ...]]:
    result = fix_definition(text.encode())
    return result.data.decode(), result.repairs


def test_folder_is_checked_with_its_problems(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_bytes(VALID)
    (tmp_path / "bad.md").write_text("---\nname: a/b\n---\nText.\n", encoding="utf-8")
    (tmp_path / "page.md").write_text("Text only.\n", encoding="utf-8")
    [plugin], warnings, repairs = check_path(tmp_path, ALLOWED, fix=False)
    assert [one.name for one in plugin.definitions] == ["scout"]
    assert [one.reason for one in plugin.rejected] == ["line 2: the name 'a/b' contains a slash; a name is not a path"]
    assert [one.reason for one in plugin.skipped] == ["it has no frontmatter, so it is not a definition"]
    assert (warnings, repairs) == ([], [])


def test_single_file_is_checked_as_a_plugin_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_bytes(VALID)
    (tmp_path / "other.md").write_text("---\nname: a\n", encoding="utf-8")
    [plugin], _, _ = check_path(tmp_path / "good.md", ALLOWED, fix=False)
    assert (plugin.name, [one.name for one in plugin.definitions], plugin.rejected) == (tmp_path.name, ["scout"], ())


def test_missing_path_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        check_path(tmp_path / "missing", ALLOWED, fix=False)
    (tmp_path / "agent.txt").write_bytes(VALID)
    with pytest.raises(UsageError, match=r"a definition is a Markdown file \(\.md\)"):
        check_path(tmp_path / "agent.txt", ALLOWED, fix=False)


def test_invalid_manifest_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "remit.plugin.json").write_text("[]", encoding="utf-8")
    plugins, [warning], repairs = check_path(tmp_path, ALLOWED, fix=True)
    assert (plugins, repairs) == ([], [])
    assert warning.endswith("is not loaded: remit.plugin.json must be a JSON object")


def test_fix_rewrites_only_files_with_mistakes(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_bytes(VALID)
    (tmp_path / "old.md").write_bytes(VALID.replace(b"scout", b"old").replace(b"\n", b"\r\n"))
    (tmp_path / "large.md").write_bytes(b"---\r\n" + b"x" * plugin_root.MAX_FILE)
    (tmp_path / "outside.md").symlink_to(tmp_path.parent / "missing.md")
    before = (tmp_path / "good.md").stat().st_mtime_ns
    [plugin], _, repairs = check_path(tmp_path, ALLOWED, fix=True)
    assert repairs == [f"'{tmp_path}/old.md': changed line ends to \\n"]
    assert (tmp_path / "old.md").read_bytes() == VALID.replace(b"scout", b"old")
    assert (tmp_path / "good.md").stat().st_mtime_ns == before
    assert [one.reason for one in plugin.rejected] == [
        "larger than 256 KiB: shorten it",
        "it cannot be read: a link that leads out of the plugin",
    ]


def test_file_that_cannot_be_replaced_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "old.md").write_bytes(VALID.replace(b"\n", b"\r\n"))
    monkeypatch.setattr("remit.registry.plugin_check.replace_file", refuse)
    with pytest.raises(UsageError, match=r"old\.md: it cannot be fixed: No space left on device"):
        check_path(tmp_path, ALLOWED, fix=True)


@pytest.mark.parametrize(
    ("text", "expected", "repairs"),
    [
        ("\ufeff---\nname: a\n---\n", "---\nname: a\n---\n", ("removed the byte order mark",)),
        ("---\r\nname: a\r---\n", "---\nname: a\n---\n", ("changed line ends to \\n",)),
        (
            "---\nname: a\ndescription: Use for: tests\n---\n",
            '---\nname: a\ndescription: "Use for: tests"\n---\n',
            ("line 3: 'description': put the value in quotes",),
        ),
        (
            "---\nname: a\ntools: View, nope\n---\n",
            "---\nname: a\ntools: Read, nope\n---\n",
            ("changed 'View, nope' to 'Read, nope'",),
        ),
    ],
)
def test_simple_mistakes_are_fixed(text: str, expected: str, repairs: tuple[str, ...]) -> None:
    assert fixed(text) == (expected, repairs)
    assert fixed(expected) == (expected, ()), "a second fix changes nothing"


@pytest.mark.parametrize(
    "data",
    [
        b"---\nname: \xff\n---\n",
        b"Text without frontmatter.\r\n",
        b"---\r\nname: a\r\n",
        b"---\r\nname: [a\r\n---\r\n",
        VALID,
    ],
)
def test_file_that_cannot_be_fixed_is_unchanged(data: bytes) -> None:
    assert fix_definition(data) == FixedDefinition(data, ())


def test_folder_with_too_many_entries_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_root, "MAX_ENTRIES", 2)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_bytes(VALID)
    [plugin], _, _ = check_path(tmp_path, ALLOWED, fix=False)
    assert plugin.definitions == ()
    assert plugin.warnings == ("'.' cannot be read: more than 2 entries",)


def test_allow_list_iterates_over_its_tools() -> None:
    assert list(AllowList(["Read", "Grep"])) == [find_tool("Read"), find_tool("Grep")]


def test_empty_names_are_skipped() -> None:
    assert split_names("Read,,Grep,\n") == ["Read", "Grep"]
