"""Commands that are forked from the fork server behave like commands that import everything."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from support.commands import CommandLine, write_program

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["rules", "status-missing"],
        ["check", "missing.md"],
        ["check", "--nonsense"],
        ["prompt"],
        ["prompt", "--schema"],
    ],
    ids=" ".join,
)
def test_a_forked_command_prints_and_ends_like_a_fresh_one(words: list[str], tmp_path: Path) -> None:
    forked = CommandLine(tmp_path, {"REMIT_PROFILE": "v1", "TZ": "Asia/Tokyo"})
    fresh = CommandLine(tmp_path, {"REMIT_PROFILE": "v1", "TZ": "Asia/Tokyo"})
    fresh.is_fresh = True
    assert forked(*words) == fresh(*words)


def test_input_and_terminal_are_those_of_the_command(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with (tmp_path / "input").open("w+b") as text:
        text.write(b"# nothing\n")
        text.seek(0)
        with CommandLine(tmp_path, {}).start("check", "-", stdin=text.fileno(), stdout=theirs) as process:
            os.close(theirs)
            assert process.wait() == 1
    assert b"\x1b[1;33mREVISE" in os.read(ours, 65_536)
    os.close(ours)


def test_the_program_for_a_shell_passes_streams_folder_and_exit_code_on(tmp_path: Path) -> None:
    write_program(tmp_path / "remit")
    (tmp_path / "a.md").write_text("# nothing\n", encoding="utf-8")
    line = "./remit check - < a.md | head -1; ./remit check missing.md; echo $?"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("REVISE")
    assert done.stdout.endswith("2\n")
    assert "missing.md" in done.stderr


def test_a_killed_command_has_the_exit_code_of_its_signal(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with CommandLine(tmp_path, {}).start("check", "-", stdin=reader) as process:
        process.kill()
    assert process.returncode == -9
    os.close(reader)
    os.close(writer)
