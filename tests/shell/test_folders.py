"""A `cd` that may not have run, or ran in a subshell, does not hide a write in the folder of the line."""

from __future__ import annotations

import pytest

from remit.shell.interpret import read_command


@pytest.mark.parametrize(
    "line",
    [
        "function f { cd /tmp; }\nrm a.py",
        "f() { cd /tmp; }; rm a.py",
        "f() { cd /tmp; }\nf\nrm a.py",
        "f()\n{\ncd /tmp\n}\nrm a.py",
        "f() { { cd /tmp; }; }; rm a.py",
        "function f() { if true; then cd /tmp; fi; }; rm a.py",
        "cd /tmp | true && rm a.py",
        "cd /tmp | true &&\nrm a.py",
        "true | cd /tmp && rm a.py",
        "cd /tmp & rm a.py",
        "(cd /tmp); rm a.py",
    ],
)
def test_a_write_in_the_folder_of_the_line_is_seen(line: str) -> None:
    assert "a.py" in read_command(line, "/project").writes


def test_a_cd_that_runs_in_the_shell_moves_the_folder(tmp_path) -> None:
    (tmp_path / "src").mkdir()
    assert read_command("cd src && rm a.py", str(tmp_path)).writes == ["src/a.py"]
    assert read_command("{ cd src; }; rm a.py", str(tmp_path)).writes == ["src/a.py"]


def test_the_body_of_a_function_is_read_and_may_write_in_both_folders() -> None:
    effects = read_command("f() { rm b.py; cd /tmp; }; f; rm a.py", "/project")
    assert effects.writes == ["b.py", "a.py", "/tmp/a.py"]
    assert not read_command("f() { echo hello; }; f", "/project").writes


@pytest.mark.parametrize("line", ["f() rm a.py", "f() echo a", "function f echo a"])
def test_a_function_without_braces_is_not_understood(line: str) -> None:
    assert read_command(line, "/project").unknown


def test_a_function_that_goes_to_an_unknown_folder_makes_later_names_unknown() -> None:
    assert read_command('f() { cd "$1"; }; f src; rm a.py', "/project").unknown
