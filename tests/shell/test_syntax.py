"""How a line is split into commands: what bash would run is listed, and nothing is hidden."""

from __future__ import annotations

import shlex
import time

import pytest

from remit.shell.command_list import join_folder, read_line, simple_commands
from remit.shell.syntax import parse

#: Lines in which a text hides the command `rm x` from a reader that does not follow bash.
HIDDEN = [
    "echo a # it's \\\nrm x",
    "echo \\\\\nrm x",
    "echo '\\\n'; rm x",
    "cat <<'E'\nfoo \\\nE\nrm x\nE",
    "echo a\r#; rm x",
    "echo [[ ; rm x ; echo ]]",
    '[[ "]]" == a ]]; rm x # "',
    'echo ${y:-"}"} ; rm x # "',
    "for f do rm x; done",
    "echo `echo \\`rm x\\``",
    "echo $((1 + $(rm x)))",
    "echo $(( (1 + 2) * (3 + 4))); rm x",
    "case $a in b) rm x;; esac",
    "function f { rm x; }",
    "function f\n{\nrm x\n}",
    "if a; then { b; } fi; rm x",
    "a &&\nrm x",
    "rm x\n'",
    "((a > 1)) && rm x",
    "A=1 B=2 rm x",
    "( ( rm x ) )",
    "$(rm x)",
    "bash -c 'rm x'",
    "sudo -u bob env A=1 timeout 5 rm x",
    "find . | xargs -0 -n 1 rm x",
    "command rm x",
    "exec rm x",
]


@pytest.mark.parametrize("line", HIDDEN)
def test_no_text_hides_a_command(line: str) -> None:
    assert ["rm", "x"] in [command.words[:2] for command in simple_commands(line)]


#: Lines that bash reads in another way than a simple parser, or refuses.
UNREAD = [
    "echo ${ rm x; }",
    "echo ${y@P}",
    "echo $((ls) | cat)",
    "echo \"${y#'}'}\"",
    "cat <<$E\na\n$E\nrm x",
    "echo $a\\\nb",
    "[[ a ; b ]]",
    "[[ a",
    "a )",
    "( a",
    "(a) b",
    "a (b)",
    "a=(b c)",
    "coproc a",
    "select a in b; do c; done",
    "echo 'a",
    "echo a \\",
    "(" * 30 + "a" + ")" * 30,
    "$(" * 30 + "a" + ")" * 30,
]


@pytest.mark.parametrize("line", UNREAD, ids=[line[:20] for line in UNREAD])
def test_a_line_that_is_not_understood_is_reported(line: str) -> None:
    assert parse(line).problem


def test_the_operators_around_commands_are_kept() -> None:
    nodes = parse("a && b || c | d |& e; f & g\nh &&\ni").nodes
    assert [node.operator for node in nodes] == ["", "&&", "||", "|", "|&", ";", "&", "\n", "&&"]
    assert [node.terminator for node in nodes] == ["&&", "||", "|", "|&", ";", "&", "\n", "&&", ""]


def test_a_compound_command_is_split_at_its_reserved_words() -> None:
    nodes = parse("if a; then for x in 1 2; do b; done > out; fi").nodes
    assert [(node.keywords, [word.text for word in node.words]) for node in nodes] == [
        (["if"], ["a"]),
        (["then"], ["for", "x", "in", "1", "2"]),
        (["do"], ["b"]),
        (["done"], []),
        (["fi"], []),
    ]
    assert [token.target.text for token in nodes[3].redirections if token.target] == ["out"]


def test_a_subshell_has_a_body_and_redirections() -> None:
    (node,) = parse("(cd a && b) > out").nodes
    assert node.body is not None
    assert [[word.text for word in inner.words] for inner in node.body] == [["cd", "a"], ["b"]]
    assert [token.text for token in node.redirections] == [">"]


def test_expansions_are_listed_as_in_the_source() -> None:
    (command,) = parse("echo \"a $x\"'b' ${y} ${z:-c} $'d' $1").nodes
    assert [word.text for word in command.words] == ["echo", "a $xb", "$y", "${z:-c}", "d", "$1"]


def test_commands_are_listed_with_their_folder_and_files() -> None:
    found = simple_commands("cd src && (cd a; cat < in > out) | head; ls $(pwd)")
    assert [(one.operator, one.words, one.folder, one.inputs, one.outputs) for one in found] == [
        ("", ["cd", "src"], "", [], []),
        ("(", ["cd", "a"], "src", [], []),
        (";", ["cat"], "src/a", ["in"], ["out"]),
        ("|", ["head"], "src", [], []),
        (";", ["ls", "$(pwd)"], "src", [], []),
        ("(", ["pwd"], "src", [], []),
    ]


def test_commands_of_a_nested_shell_get_its_operator_and_output() -> None:
    found = simple_commands("a && bash -c 'b; c' > out | (d; e) 2>&1")
    assert [(one.operator, one.words, one.outputs) for one in found] == [
        ("", ["a"], []),
        ("&&", ["b"], ["out"]),
        (";", ["c"], ["out"]),
        ("|", ["d"], []),
        (";", ["e"], []),
    ]


@pytest.mark.parametrize(
    ("folder", "name", "expected"),
    [
        ("", "a.py", "a.py"),
        ("src", "a.py", "src/a.py"),
        ("src", "/a.py", "/a.py"),
        ("src", "~/a.py", "~/a.py"),
        ("src", "C:\\a.py", "C:\\a.py"),
        (None, "a.py", None),
        (None, "/a.py", "/a.py"),
        ("src", None, None),
    ],
)
def test_a_name_is_joined_with_its_folder(folder: str | None, name: str | None, expected: str | None) -> None:
    assert join_folder(folder, name) == expected


def test_deeply_nested_lines_are_not_listed() -> None:
    line = "rm x"
    for _ in range(8):
        line = f"bash -c {shlex.quote(line)}"
    assert simple_commands(line) == []
    assert not read_line("a )")[0]
    assert read_line("a")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "'",
            '"',
            "\\",
            "<<a\n",
            "a|",
            "(",
            "$(",
            "! ",
            "env ",
            "a=b ",
            "bash -c ",
            "# ",
            "`",
            "${",
            "$((",
            "[[ ",
            "((",
        ),
        *(
            '"$(',
            "<(",
            "${x:-",
            "a\\\n",
            "{ ",
            "if ",
            "for x ",
            "case ",
            "f() ",
            "$[",
            "'a'",
            '"b"',
            "$x",
            "<<'E'\n\\\n",
        ),
    ],
)
def test_reading_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    for line in (piece * (90_000 // len(piece)), f"cat a; {piece * (80_000 // len(piece))}; cat b"):
        parse(line)
        simple_commands(line)
    assert time.process_time() - started < 5
