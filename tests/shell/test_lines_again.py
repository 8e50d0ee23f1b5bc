"""A command line that comes again is not read again, unless a file that it depends on has appeared or gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.shell import interpret
from remit.shell.interpret import read_command

#: Line -> what decides its effects, "/" for a folder.
DEPENDENT = {
    "cd sub; echo x > b.py": "sub/",
    "git checkout notes.md": "notes.md",
    "./tool.sh --all": "tool.sh",
    "bash run.sh": "run.sh",
    "cp a.py target": "target/",
}


def _seen(line: str, folder: Path) -> tuple[object, ...]:
    effects = read_command(line, str(folder))
    return (*(getattr(effects, name) for name in type(effects).__slots__),)


def _make(path: Path, name: str) -> None:
    (path / name).mkdir() if name.endswith("/") else (path / name).write_text("x\n")


def test_a_line_that_was_understood_is_not_read_again(tmp_path: Path) -> None:
    first = read_command("git status | head -5", str(tmp_path))
    assert read_command("git status | head -5", str(tmp_path)) is first
    assert read_command("git status | head -5", str(tmp_path / "other")) is not first


def test_a_line_that_was_not_understood_is_read_again(tmp_path: Path) -> None:
    first = read_command("unknown-program --flag", str(tmp_path))
    assert first.unknown
    assert read_command("unknown-program --flag", str(tmp_path)) is not first


@pytest.mark.parametrize("line", DEPENDENT)
def test_a_line_is_read_again_when_a_file_that_decides_has_appeared(line: str, tmp_path: Path) -> None:
    before = _seen(line, tmp_path)
    _make(tmp_path, DEPENDENT[line])
    after = _seen(line, tmp_path)
    assert after != before
    interpret._known.clear()
    assert _seen(line, tmp_path) == after


@pytest.mark.parametrize("line", DEPENDENT)
def test_a_line_is_read_again_when_a_file_that_decides_is_gone(line: str, tmp_path: Path) -> None:
    without = _seen(line, tmp_path)
    name = DEPENDENT[line]
    _make(tmp_path, name)
    assert _seen(line, tmp_path) != without
    (tmp_path / name).rmdir() if name.endswith("/") else (tmp_path / name).unlink()
    assert _seen(line, tmp_path) == without


def test_the_lines_that_are_kept_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpret, "_MAX_KNOWN", 3)
    interpret._known.clear()
    for number in range(10):
        read_command(f"echo {number}", str(tmp_path))
    assert len(interpret._known) <= 3
    long = "echo " + "a" * interpret._MAX_KNOWN_LENGTH
    read_command(long, str(tmp_path))
    assert (long, str(tmp_path)) not in interpret._known
