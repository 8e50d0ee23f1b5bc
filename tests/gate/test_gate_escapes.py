"""Ways around the gate, as an orchestrator that means to get through would try them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "line",
    [
        "dd if=src/f0.py",
        "cp src/f0.py /dev/stdout",
        "curl -s file://$PWD/src/f0.py",
        "git diff --no-index /dev/null src/f0.py",
        "sed 'r src/f0.py' /dev/null",
    ],
)
def test_a_file_that_is_shown_in_another_way_is_counted(line: str, start: Callable) -> None:
    session = start()
    session.run(line.replace("$PWD", str(session.project)))
    assert session.state.window.files == {"src/f0.py": 10}


@pytest.mark.parametrize(
    "line",
    [
        "sed -n '/start w/,/end/p' src/f0.py",
        "sed 's/a w b/c/; s/e/f/g' src/f0.py",
        "awk '{print $1, $2}' src/f0.py",
        "awk '$3 > 5 {print $1}' src/f0.py",
        "awk -F: '{ if ($1 > 2) print ($1 > 3) }' src/f0.py",
        """python -c 'print("a".replace("b", "c"))'""",
        """python -c 'import json,sys; print(json.load(sys.stdin)["a"])' < src/f0.py""",
        "cd src && ls; cd .. && git status",
        "cd docs; echo x > a.md",
        "x=1; x=2; echo $x",
        "for n in 1 2 3; do echo $n; done",
        "git -c user.name=x -c color.ui=never log --oneline",
        "printf '%s\\n' a b",
        "[[ -f src/f0.py && 1 < 2 ]] && echo yes",
        "echo ${HOME%/} ${x:-none} $((1 + 2))",
        "tar -tf /scratch/a.tar",
        'export PATH="$HOME/.local/bin:/usr/bin:./node_modules/.bin:$PATH"; npm test',
        "GIT_PAGER=cat git log; NODE_OPTIONS=--max-old-space-size=4096 npm test",
        "git config user.name; git config user.name x; git config --get core.hooksPath",
        "remit gate status",
    ],
)
def test_ordinary_lines_are_allowed_without_a_warning(line: str, start: Callable) -> None:
    assert start().run(line).decision == "allow"


def test_a_path_through_proc_self_is_that_of_the_command(session, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert session.run("echo x > /proc/self/cwd/src/f0.py").rule == "edit-code"
    assert session.run("echo x > /proc/self/cwd/docs/a.md").decision == "allow"


def test_a_specification_that_cannot_be_read_is_not_overwritten_as_if_it_were_empty(session) -> None:
    path = session.project / "docs/specs/orders.md"
    path.write_bytes(b"\xff\xfe not UTF-8\n")
    assert session.ask("Write", {"file_path": str(path), "content": ""}).rule == "edit-spec"


def test_a_second_checkout_has_the_classes_of_the_first(session) -> None:
    tree = ".claude/worktrees/other"
    for path, rule in (("docs/specs/a.md", "edit-spec"), ("tests/a.py", "edit-tests"), ("src/a.py", "edit-code")):
        found = session.ask("Write", {"file_path": f"{session.project}/{tree}/{path}", "content": "x = 1\n"})
        assert found.rule == rule
    assert session.ask("Write", {"file_path": f"{session.project}/{tree}/notes.md", "content": "x"}).decision == "allow"
