"""The shell evaluates variables in arithmetic: a value that is not certainly a number may run a command."""

from __future__ import annotations

import pytest

from remit.shell.interpret import read_command


@pytest.mark.parametrize(
    "line",
    [
        "echo ${!x}",
        "echo ${a[x]}",
        "echo ${a[",
        "echo ${x:y}",
        "echo $((x + 1))",
        "echo ${a[$(rm a.py)]}",
        "echo $[x]",
        "((n++))",
        "let n=1",
        "[[ $n -eq 1 ]]",
        "[[ -v a[0] ]]",
    ],
)
def test_an_expansion_that_evaluates_an_unknown_value_is_not_understood(line: str) -> None:
    assert read_command(line, "/project").unknown


@pytest.mark.parametrize("line", ["echo ${x:-1}", "echo ${a[@]}", "echo ${#x}", "echo $((3 + 1))", "echo ${x:0:2}"])
def test_an_expansion_without_an_unknown_calculation_is_understood(line: str) -> None:
    assert not read_command(line, "/project").unknown


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("git init", [".git"]),
        ("git init sub", ["sub"]),
        ("git clone https://example.com/team/shop.git", ["shop"]),
        ("git clone https://example.com/team/shop.git here", ["here"]),
        ("git worktree add ../other main", None),
        ("git worktree move one two", ["one", "two"]),
        ("git worktree remove one", ["one"]),
        ("git worktree list", []),
        ("git bundle create all.bundle HEAD", ["all.bundle"]),
        ("git format-patch HEAD~1", ["."]),
        ("git format-patch --stdout HEAD~1", []),
        ("python -m venv .venv", []),
        ("python -m venv other", ["other"]),
        ("node --test", []),
    ],
)
def test_what_a_command_creates_is_a_write(line: str, written: list[str] | None) -> None:
    found = read_command(line, "/project").writes
    assert (bool(found) if written is None else found == written) is True, found
