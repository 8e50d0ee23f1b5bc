"""What people, models and other systems see: no escape that a terminal obeys, no hidden text, no mention."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import remit
from remit.api import merge
from remit.clients.setup import install
from remit.clients.setup.file_changes import read_bytes, write_bytes
from remit.clients.setup.settings_file import read_settings
from remit.configuration import parse_toml
from remit.contract.feedback import neutralize
from remit.errors import EnvironmentBroken, UsageError
from remit.gate.record_store import make_private
from remit.registry.resolution import print_notice
from remit.reports.layout import escape_control, escape_json
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.parts import safe_text
from remit.rules.examples import TREE, sample_text
from remit.surfaces.cli import printing
from remit.surfaces.cli.group import remit as command

#: Variation selectors, a joiner, two fillers, an empty Braille cell, a tag.
HIDDEN = [
    "\ufe00",
    "\ufe0f",
    "\U000e0100",
    "\U000e01ef",
    "\u034f",
    "\u115f",
    "\u3164",
    "\u2800",
    "\uffa0",
    "\U000e0041",
]
ESCAPES = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e"


@pytest.mark.parametrize("character", HIDDEN, ids=lambda one: f"U+{ord(one):04X}")
def test_an_invisible_character_is_removed_from_what_models_and_people_see(character: str) -> None:
    text = f"re{character}mit"
    assert neutralize(text) == "remit"
    assert character not in escape_control(text)
    assert escape_control(f"ok {character}") in ("ok ", f"ok \\u{ord(character):04x}")


@pytest.mark.parametrize("text", ["naïve café", "日本語", "שלום", "👍🏽", "a\u0301", "ｆｕｌｌ"])
def test_visible_text_stays(text: str) -> None:
    assert neutralize(text) == text
    assert escape_control(text) == text


@pytest.mark.parametrize("character", HIDDEN, ids=lambda one: f"U+{ord(one):04X}")
def test_notices_contain_no_hidden_character(capsys: pytest.CaptureFixture[str], character: str) -> None:
    print_notice(f"there is no definition 're{character}mit'")
    assert character not in capsys.readouterr().err


def test_notices_about_definitions_contain_no_escape(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_notice(f"mcpServers {ESCAPES}")
    shown = capsys.readouterr().err
    assert shown.rstrip("\n").isprintable()
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    servers = json.dumps([f"x{ESCAPES}y"])
    (agents / "bad.md").write_text(f"---\nname: bad\ndescription: d\nmcpServers: {servers}\n---\nBe brief.\n")
    run = CliRunner().invoke(
        command, ["agents", "explain", "bad"], env={"REMIT_PLUGIN_PATH": str(tmp_path / ".claude")}
    )
    assert "bad" in run.output
    assert not [one for one in run.output if one != "\n" and not one.isprintable()]


# Markdown reports.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ask @admin now", "ask @ admin now"),
        ("@org/team", "@ org/team"),
        ("fixes #12", "fixes no. 12"),
        ("Closes octo/shop#12", "Closes octo/shop# 12"),
        ("resolves GH-12", "resolves GH- 12"),
        ("fix https://github.com/o/r/issues/12", "fix https://github.com/o/r/issues/ 12"),
        ("see !34", "see no. 34"),
        ("#12", "no. 12"),
    ],
)
def test_text_of_an_agent_notifies_no_person_and_closes_no_issue(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@pytest.mark.parametrize("text", ["mail me@example.org", "a # comment", "C# code", "wow! nice", "x @ y"])
def test_text_without_a_mention_stays(text: str) -> None:
    assert safe_text(text) == text


def test_a_merged_report_has_no_mention() -> None:
    text = sample_text("review").replace("| SEC-001 | ", "| SEC-001 | @admin fixes #12: ")
    assert "@admin fixes #12" in text
    report = merge_markdown(merge([text.encode()], repo=TREE, threshold=0))
    assert "@ admin" in report
    assert "@admin" not in report
    assert "#12" not in report


# JSON on a terminal.


def test_json_for_a_terminal_escapes_what_it_obeys_and_means_the_same() -> None:
    value = {"text": "C1 \x9b2J, bidi \u202e\u2066, hidden \u3164\U000e0041, é, 日本"}
    text = json.dumps(value, ensure_ascii=False)
    shown = escape_json(text)
    assert json.loads(shown) == value
    assert not set(shown) & set("\x9b\u202e\u2066\u3164\U000e0041")
    assert "é, 日本" in shown


@pytest.mark.parametrize("is_terminal", [True, False])
def test_json_is_escaped_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdout", out)
    printing.print_text('{"a": "\x9b2J"}')
    printing.print_text("# Title \x1b[31m\n")
    assert ("\x9b" in out.getvalue()) is not is_terminal
    assert ("\x1b" in out.getvalue()) is not is_terminal
    assert json.loads(out.getvalue().split("\n")[0]) == {"a": "\x9b2J"}


# Reading.


def test_check_of_a_folder_does_not_follow_links_out_of_it(tmp_path: Path) -> None:
    inside, outside = tmp_path / "results", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text(sample_text("review"))
    (inside / "own.md").write_text(sample_text("review"))
    (inside / "link.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "same.md").symlink_to("own.md")
    for name in ("check", "merge", "verify"):
        run = CliRunner().invoke(command, [name, str(inside), "--format", "json", "--repo", str(TREE)])
        assert "own.md" in run.output or name == "merge"
        assert "link.md" not in run.output
        assert "secret.md" not in run.output


def test_text_is_text_and_a_path_is_a_path(tmp_path: Path) -> None:
    file = tmp_path / "answer.md"
    file.write_text(sample_text("review"), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert remit.check(file).agent == remit.check(sample_text("review")).agent
        assert not remit.check(b"see answer.md").accepted
        assert not remit.check("no suffix here").accepted
    with pytest.warns(DeprecationWarning, match="a string will be read as text"):
        remit.check(str(file))
    with pytest.warns(DeprecationWarning, match="a string will be read as text"):
        remit.merge([str(file)])


@pytest.mark.parametrize("value", ["a\0b.md", Path("a\0b.md")])
def test_a_path_with_nul_is_a_clear_error(value: str | Path) -> None:
    with pytest.raises(UsageError, match="contains a NUL character, which a path cannot have"):
        remit.check(value)


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 20_001) + " = 1",
        "[" + ".".join(["a"] * 20_001) + "]",
        "x = {" + ".".join(["a"] * 20_001) + " = 1}",
        ".".join(['"a"'] * 20_001) + " = 1",
        "a." * 400_000,
        "# " + "x" * 2_000_000,
    ],
    ids=["key", "table", "inline table", "quoted", "without a value", "huge"],
)
def test_a_key_with_many_dots_is_refused_quickly(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r"a key has more than 64 parts|larger than"):
        parse_toml(text)
    assert time.process_time() - began < 1


def test_ordinary_dots_are_accepted() -> None:
    dots = "." * 300
    assert parse_toml(f'a.b.c = "{dots}"\nd = """\n{dots}\nx.y.z\n"""\n')["a"] == {"b": {"c": dots}}


# Install.


def test_install_refuses_a_pipe_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "settings.json"
    os.mkfifo(pipe)
    with pytest.raises(EnvironmentBroken, match="it is not a regular file"):
        read_bytes(pipe, 100)
    with pytest.raises(UsageError, match="it is not a regular file"):
        read_settings(pipe)


def test_install_does_not_wait_for_a_pipe_that_git_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "_GIT_SECONDS", 0.2)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    os.mkfifo(tmp_path / ".gitignore")
    assert not install._is_ignored(tmp_path, tmp_path / "settings.local.json")
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").write_text("settings*\n")
    assert install._is_ignored(tmp_path, tmp_path / "settings.local.json")


@pytest.mark.parametrize("mode", [0o666, 0o777, 0o622])
def test_install_writes_no_file_that_others_can_write(tmp_path: Path, mode: int) -> None:
    earlier = os.umask(0)
    try:
        old, new = tmp_path / "old", tmp_path / "folder" / "new"
        old.write_text("x")
        old.chmod(mode)
        for path in (old, new):
            write_bytes(path, b"y")
            assert not stat.S_IMODE(path.stat().st_mode) & 0o002
        assert not stat.S_IMODE(new.parent.stat().st_mode) & 0o002
        make_private(str(tmp_path / ".remit/gate"))
        assert not stat.S_IMODE((tmp_path / ".remit").stat().st_mode) & 0o022, "the folder of the records' folder"
    finally:
        os.umask(earlier)
