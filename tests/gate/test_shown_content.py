"""Lines of files that an output shows are counted, and other lines are not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from remit.gate.shown_content import count_shown_lines

LINES = [f"    value_{number} = compute_something({number})" for number in range(300)]
OTHER = [f"    other_{number} = compute_else({number})" for number in range(40)]
RUN = "\n".join(f"tests/test_app.py::test_number_{number} PASSED" for number in range(400))


@pytest.fixture(params=[True, False], ids=["checkout", "folder"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/big.py").write_text("\n".join(LINES))
    (tmp_path / "src/other.py").write_text("\n".join(["import os", "", *OTHER]))
    if request.param:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "add", "src/big.py"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    "form",
    ["{line}", "+{line}", "{number:6}\t{line}", "src/big.py:{number}:{line}", "{number} | {line}", "> {line}"],
)
def test_lines_of_a_file_are_counted_in_any_form(project: Path, form: str) -> None:
    shown = [form.format(line=line, number=number) for number, line in enumerate(LINES[:120])]
    assert count_shown_lines("\n".join(["make: running", *shown, "done"]), str(project)) == {"src/big.py": 120}


def test_two_files_are_counted_each_for_itself(project: Path) -> None:
    assert count_shown_lines("\n".join([*LINES, *OTHER]), str(project)) == {"src/big.py": 300, "src/other.py": 40}


@pytest.mark.parametrize(
    "output", ["", RUN, "\n".join(LINES[:4]), "a\0b" * 50, "x\n" * 500, "\n".join(["-" * 30] * 50)]
)
def test_other_output_is_not_counted(project: Path, output: str) -> None:
    assert count_shown_lines(output, str(project)) == {}


def test_a_traceback_counts_only_the_lines_that_it_quotes(project: Path) -> None:
    quoted = [f"> {line}\nE   AssertionError: value {number}" for number, line in enumerate(LINES[:10])]
    assert count_shown_lines("\n".join([RUN, *quoted]), str(project)) == {"src/big.py": 10}
