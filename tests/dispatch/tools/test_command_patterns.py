from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolboxes import Bench, ask

from remit.dispatch.tools.bash import check_allowed
from remit.dispatch.tools.tool_types import ToolRefused
from remit.evidence.receipts import ReceiptIndex

_PATTERNS = ("git log:*", "npm test", "ls *")


@pytest.mark.parametrize(
    "command",
    [
        "git log",
        "git log --oneline -3",
        "  git   log  'a b;c' \"x|y\" a\\;b ",
        "npm test",
        "git log && npm test; ls -la | ls",
        "git log\nnpm test",
        "git log --grep='$(x)'",
        "git log --grep='fix(a)' -- 'a#b' a#b",
        '"git" log',
    ],
)
def test_granted_commands_pass(command: str) -> None:
    check_allowed(command, _PATTERNS)


@pytest.mark.parametrize(
    "command",
    [
        *("git push", "git", "gitlog", "git logs", "npm test --watch", "npm", "rm -rf .", "lsof", "sh -c 'git log'"),
        *("git log; rm x", "git log && rm x", "git log || rm x", "git log | sh", "git log & rm x", "git log\nrm x"),
        *("git log |& sh", "X=1 git log", "PATH=. ls", "git -c alias.log=!sh log", "! git log", "time git log"),
        *("git log $(rm x)", "git log `rm x`", 'git log "$(rm x)"', 'git log "`rm x`"', "git log ${x@P}", "ls $X"),
        *("git log > x", "git log >> x", "git log < x", "git log 2>&1", "git log &> x", "git log <(rm x)", "ls <<< x"),
        *("(git log)", "{ git log; }", "git log $'\\'' ; rm x", "git log # '\nrm x #'", "git log 'a", 'git log "a'),
        *("ls() { rm x; }", "if git log; then rm x; fi", "git log \\\nx", "ls <<'E'\nE", "git lo?", "git {log,push}"),
        *("", "  ", ";", "#", "git log \\"),
        "git log # a comment",
        "[[ -n $(rm x) ]]",
        "f() git log",
        "git () git log",
        "f() { git log; }",
        "$(rm x)() git log",
    ],
)
def test_everything_else_is_refused(command: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        check_allowed(command, _PATTERNS)
    assert "You may run only: Bash(git log:*), Bash(npm test), Bash(ls *)." in str(refused.value)


_TEXT = st.lists(
    st.sampled_from(
        [
            *"'\"\\$`;&|<>(){}#!\n \t~*?[]=",
            "true",
            "touch x",
            "echo ",
            "$(touch x)",
            "'",
            '"',
            " #",
            "\\\n",
            "$'",
            "ANSI",
        ]
    ),
    max_size=12,
).map("".join)


@pytest.mark.process
@given(_TEXT)
def test_bash_runs_only_granted_commands(text: str) -> None:
    """Bash is the oracle: a granted line never starts the program `touch`."""
    import tempfile

    try:
        check_allowed(f"true {text}", ("true:*", "echo:*"))
    except ToolRefused:
        return
    with tempfile.TemporaryDirectory() as folder:
        touch = Path(folder, "touch")
        touch.write_text("#!/bin/sh\n: > ../ran 2>/dev/null || : > ran\n: > $0.ran\n")
        touch.chmod(0o755)
        subprocess.run(
            ["/bin/bash", "-c", f"true {text}"],
            cwd=folder,
            env={"PATH": folder},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=10,
        )
        assert sorted(entry.name for entry in Path(folder).iterdir()) == ["touch"]


def test_a_denied_command_is_recorded_and_not_run(bench: Bench) -> None:
    box = bench.box("Bash(git log:*)")
    got = ask(box, "Bash", command="touch x")
    assert got.text == "'touch x' is not allowed. You may run only: Bash(git log:*). Use one of these."
    assert (got.failed, got.receipt.exit) == (True, 126)
    assert not (bench.root / "x").exists()
    assert not ReceiptIndex([got.receipt], str(bench.root)).executed
    assert "Only these commands are allowed: git log:*" in box.specs[0].description


@pytest.mark.process
def test_the_unrestricted_shell_overrides_patterns(bench: Bench) -> None:
    for granted in (("Bash", "Bash(ls)"), ("Bash(*)",), ("Bash(ls)", "Bash(:*)")):
        assert not ask(bench.box(*granted), "Bash", command="true > /dev/null").failed


def test_an_empty_pattern_grants_nothing(bench: Bench) -> None:
    assert ask(bench.box("Bash()"), "Bash", command="true").failed
