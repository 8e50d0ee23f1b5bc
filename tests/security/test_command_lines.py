"""Ways around the reader of command lines that were found: each is denied, reported to a person, or has no effect."""

from __future__ import annotations

import time

import pytest
from scratch_project import ScratchProject, corpus, decision_of

from remit.shell.interpret import read_command

#: What was found -> lines that show it.
NOT_UNDERSTOOD = {
    "an unknown option": ["sort --compress-program=x README.md", "rg --pre=sh x README.md", "env -S 'touch a' ls"],
    "a variable that changes what a program does": [
        "HOME=/x git status",
        "GIT_TRACE=/x/y git log",
        "PYTHONPATH=scripts pytest",
        "PS4='$(touch a)' bash -xc true",
        "MAKEFLAGS=--eval=x make",
        "IFS=x ls",
        "export GIT_DIR=x; git status",
    ],
    "standard input that is a program": ["sh < a", "cat a | sh", "cat a | bash -s", "python3 < a", "cat a | python3 -"],
    "a function that replaces a program": ["ls() { true; }; ls", "function git { true; }; git status"],
    "arithmetic on an unknown value": [
        "echo $((x))",
        "((x++))",
        "[[ $x -eq 0 ]]",
        "let x",
        "echo ${b:x}",
        "declare -i y=x",
        "echo ${!x}",
        "x='a[$(touch b)]'; echo $((x))",
        "x='a[$(touch b)]'; unset \"$x\"",
        "cat <<E\n$((x))\nE",
    ],
    "a stack of folders": ["pushd src", "popd"],
    "a range in braces": ["rm a{1..3}"],
    "a carriage return": ["echo a\r", "true # a\r\nls"],
    "nested brackets": ["(" * 40 + "ls" + ")" * 40, "$(" * 40 + "ls" + ")" * 40],
    "a program that is named like a harmless one": ["scripts/bin/ls /", "/tmp/ls", "./other/cat a"],
    "a program in a file name": ["/usr/bin/t??ch a", "$x a", "${x} a"],
    "a global option of git": ["git --exec-path=x status", "git -p log", "git -c core.fsmonitor=x status", "git -c"],
    "an option of git that runs a program": ["git grep -Ox y", "git fetch --upload-pa=x .", "git rebase -x y main"],
}


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, id=f"{name}: {line[:40]!r}") for name, lines in NOT_UNDERSTOOD.items() for line in lines],
)
def test_what_is_not_known_to_be_harmless_is_not_understood(line: str) -> None:
    assert read_command(line).unknown


@pytest.mark.parametrize(
    "line",
    [
        "echo $((2 * 21))",
        'case "$OSTYPE" in linux*) echo linux;; (darwin*) echo mac ;; *) ;; esac',
        'log() { echo "== $1"; }; log build',
        "java -version",
        "node -v",
        "NODE_ENV=test npm test",
        "GIT_PAGER=cat git log -1",
        'tmp=$(mktemp -d); echo hi > "$tmp/a"; rm -r "$tmp"',
        "/usr/bin/ls -la",
        ".venv/bin/pytest -q",
    ],
)
def test_an_ordinary_line_is_understood(line: str) -> None:
    effects = read_command(line)
    assert not effects.unknown, effects.why


#: Lines that need quadratic time if they are read carelessly.
LONG = {
    "awk print": "awk '" + "print " * 830 + "' f",
    "awk brackets": "awk '" + "print (a(b" * 480 + "' f",
    "awk redirections": "awk '" + 'print "a" > ' * 400 + "' f",
    "sed": "sed '" + "s/a/b/;" * 700 + "' f",
    "wrappers": "timeout 1 " * 3000 + "ls",
    "xargs": "xargs " * 3000 + "ls",
    "loops": "for i in 1 2 3 4 5 6 7 8; do " * 200 + "rm $i;",
    "variables": "a=1;b=2;a=3;b=4;" + "echo $a$b;" * 2000,
    "substitutions": "$(" * 5000,
    "here-document": "cat <<E\n" + "$(x)" * 10000 + "\nE",
    "case": "case x in a) " * 3000,
    "tests": "[[ " + "a -eq b && " * 5000 + " ]]",
    "python": "python3 -c '" + "a=" * 9000 + "1'",
    "quotes": "echo " + "'a'" * 30000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_no_line_takes_long_to_read(name: str) -> None:
    started = time.process_time()
    read_command(LONG[name])
    assert time.process_time() - started < 0.5, "it is limited to 0.1 s between two parts of a line"


@pytest.mark.slow
@pytest.mark.process
def test_at_most_one_in_a_hundred_ordinary_lines_is_denied_and_four_are_reported(shop: ScratchProject) -> None:
    lines = [line for lines in corpus("ordinary").values() for line in lines]
    assert len(lines) >= 300
    decisions = []
    for line in lines:
        with shop.new_session():
            decisions.append(decision_of(shop.before(line)[1]))
    assert decisions.count("deny") <= len(lines) * 0.01
    assert (
        len(lines) - decisions.count("deny") - decisions.count("allow") <= len(lines) * 0.04
    )  # programs in -c and -e are not read
