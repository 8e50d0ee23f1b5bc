"""The shell evaluates variables in arithmetic: a value that is not certainly a number may run a command."""

from __future__ import annotations

from typing import cast

import pytest

from remit.shell.arithmetic import is_safe, is_safe_test
from remit.shell.interpret import read_command
from remit.shell.words import ShellState


class Numbers:
    """A state in which `n` and `i` are numbers."""

    def is_numeric(self, name: str) -> bool:
        return name in ("n", "i")


STATE = cast("ShellState", Numbers())


@pytest.mark.parametrize(
    "expression", ["1 + 2", "n * 2", "$n + i", "${n} % 3", "${#word} - 1", "$# + $? + $$ + $!", "(n << 2) | 1", ""]
)
def test_an_expression_of_numbers_is_safe(expression: str) -> None:
    assert is_safe(expression, STATE)


@pytest.mark.parametrize(
    "expression", ["x + 1", "$x", "${x}", "$1", "n[0]", "a.b", "${n", "$(rm a.py)", "$", "`rm a.py`"]
)
def test_an_expression_with_another_value_is_not_safe(expression: str) -> None:
    assert not is_safe(expression, STATE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$n -eq 1", True),
        ('"$x" -lt 3', False),
        ("n -ge x", False),
        ("-v name", True),
        ("-v a[0]", False),
        ("-R name", True),
        ("a == b", True),
    ],
)
def test_a_comparison_of_numbers_is_safe(text: str, expected: bool) -> None:
    assert is_safe_test(text, STATE) is expected


@pytest.mark.parametrize(
    "line",
    ["echo ${!x}", "echo ${a[x]}", "echo ${a[", "echo ${x:y}", "echo $((x + 1))", "echo ${a[$(rm a.py)]}", "echo $[x]"],
)
def test_an_expansion_that_evaluates_an_unknown_value_is_not_understood(line: str) -> None:
    assert read_command(line, "/project").unknown


@pytest.mark.parametrize(
    "line", ["echo ${x:-1}", "echo ${a[@]}", "echo ${#x}", "n=3; echo $((n + 1))", "echo ${x:0:2}"]
)
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
