"""Which files exist decides what some command lines do."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    return (*vars(effects).values(),)


def _make(path: Path, name: str) -> None:
    (path / name).mkdir() if name.endswith("/") else (path / name).write_text("x\n")


@pytest.mark.parametrize("line", DEPENDENT)
def test_a_file_that_appears_changes_what_a_line_does(line: str, tmp_path: Path) -> None:
    before = _seen(line, tmp_path)
    _make(tmp_path, DEPENDENT[line])
    assert _seen(line, tmp_path) != before
