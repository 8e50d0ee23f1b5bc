"""The reader compared with tree-sitter-bash: it sees each command and redirection, or reports that it does not."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
import tree_sitter_bash
from hypothesis import assume, given
from hypothesis import strategies as st
from shell_table import TABLE
from tree_sitter import Language, Node, Parser

from remit.shell.interpret import read_command
from remit.shell.syntax import Node as OurNode
from remit.shell.syntax import parse

_PARSER = Parser(Language(tree_sitter_bash.language()))
_TESTS = Path(__file__).parent.parent
#: Every text in these files is taken for a command line.
_FILES = (
    "shell_table.py",
    "gate/test_gate_escapes.py",
    "gate/test_gate_reads.py",
    "gate/test_gate_writes.py",
    "evidence/test_receipts.py",
    "evidence/test_changes.py",
    "clients/transcripts/test_transcripts.py",
    "dispatch/tools/test_command_patterns.py",
    "dispatch/tools/test_bash.py",
)


def plain(text: str) -> str:
    """A word without quotes, backslashes and braces: how an expansion is written does not matter here."""
    return "".join(letter for letter in text if letter not in "'\"\\{}\n")


def seen_by_oracle(line: str) -> tuple[Counter[str], Counter[str]] | None:
    """The programs and the targets of redirections in tree-sitter's tree; None for a line that it cannot parse."""
    root = _PARSER.parse(line.encode("utf-8", "replace")).root_node
    if root.has_error:
        return None
    programs: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if is_misread(node):
            return None
        if node.type == "command_name" and node.text:
            programs[plain(node.text.decode())] += 1
        elif node.type in ("declaration_command", "unset_command") and node.children[0].text:
            programs[plain(node.children[0].text.decode())] += 1
        elif node.type == "file_redirect":
            for target in node.children_by_field_name("destination")[:1]:
                targets[plain((target.text or b"").decode())] += 1
    return programs, targets


def is_misread(node: Node) -> bool:
    """Whether the oracle joins what bash separates: two backquoted commands, or `$` and the word after a blank."""
    return node.type == "``" or (node.type == "simple_expansion" and (node.text or b"").split() != [node.text])


def seen_by_us(line: str) -> tuple[Counter[str], Counter[str], bool]:
    """The same for our parser, and whether it understood all of the line."""
    programs: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    script = parse(line)
    understood = not script.problem
    waiting: list[OurNode] = list(script.nodes)
    while waiting:
        node = waiting.pop()
        waiting += node.body or []
        for inner in node.substitutions:
            more_programs, more_targets, inner_understood = seen_by_us(inner)
            programs += more_programs
            targets += more_targets
            understood = understood and inner_understood
        words = [word.text for word in node.words]
        while words and words[0].partition("=")[0].removesuffix("+").isidentifier() and "=" in words[0]:
            words.pop(0)
        programs.update(plain(word) for word in (*node.keywords, *words[:1]))
        targets.update(plain(token.target.text) for token in node.redirections if token.target is not None)
    return programs, targets, understood


def missed(line: str) -> list[str]:
    """What tree-sitter sees in a line and our reader does not, although it answers that it understood the line."""
    oracle = seen_by_oracle(line)
    programs, targets, understood = seen_by_us(line)
    if oracle is None or not understood:
        return []
    return [*(oracle[0] - programs), *(f"> {target}" for target in oracle[1] - targets)]


def texts(name: str) -> set[str]:
    tree = ast.parse((_TESTS / name).read_text("utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize("name", _FILES)
def test_no_command_of_the_tests_is_missed(name: str) -> None:
    lines = texts(name)
    assert len(lines) > 20
    assert {line: found for line in lines if (found := missed(line))} == {}


def test_the_oracle_understands_nearly_all_of_the_table() -> None:
    lines = [line for line, _ in TABLE]
    assert sum(seen_by_oracle(line) is not None for line in lines) > 0.95 * len(lines)


WORDS = [
    *("a", "b.py", "src/c.py", "-n", "5", "--", "a=b", "x#y", "$x", "${x}", '"$x"', "${x:-y}", "*.py", "{a,b}"),
    *("'s p'", '"d q"', '"it\'s"', "'a \" b'", "\\;", "\\\\", "a\\ b", "''", '""', "$'a\\'b'", "'$(no)'", "a\\\nb"),
    *('"a # b"', "'&& no'", '"> no"', "'# no'", "\\#", "\\'", '\\"', "]]", "if", "done", "!", "~/d", "${x%.py}"),
]
PROGRAMS = ["cat", "rm", "ls", "echo", "git", "'cat'", '"rm"', "./run", "r\\m", "$cmd", "test"]
ASSIGNMENTS = ["X=1", "Y='a b'", "Z=$x", 'W="$(ls)"']
REDIRECTIONS = [
    *("> out", ">>src/o.py", "2> 'o p'", '< "in"', "&> $o", ">| a\\ b", "2>&1", ">&2", "<<< $x", "> /dev/null", "3<in"),
]
JOINTS = ["; ", " && ", " || ", " | ", " |& ", " & ", "\n", " &&\n", ";\n", " # note\n", " # it's \\\n", " |\n"]
#: Words in which a command line runs.
SUBSTITUTIONS = [
    "$({})",
    '"$({})"',
    '"a $({}) b"',
    "${{x:-$({})}}",
    '${{x:-"}}$({})"}}',
    "$(( $({}) + 1 ))",
    "<({})",
    "`{}`",
]
#: Command lines around others.
COMPOUNDS = [
    "({})",
    "( {} ) > out",
    "{{ {}; }}",
    "{{ {}\n}} 2> err",
    "if {}; then {}; fi",
    "if {}\nthen {}\nelse {}\nfi",
    "if [[ $x == ']]' && a < b ]]; then {}; fi",
    '[[ "]]" > b ]] && {} # "',
    "while {}; do {}; done",
    "until {}; do {}; done < in",
    "for f in a 'b c' $x; do {}; done",
    "for f in a; do\n{}\ndone | {}",
    "case $x in a) {};; *) {};; esac",
    "f() {{ {}; }}; {}",
    "function f {{ {}; }}",
    "! {}",
    "cat <<E\n{}\nE\n{}",
    "cat <<'E' > out\nit's $( \\\nE\n{}",
    "cat <<-E | {}\n\tbody\n\tE\n{}",
    'cat <<E\n"$({})" it\'s\nE\n',
    "echo \\\\\n{}",
    "echo a # \\\n{}",
    "echo '\\\n'; {}",
    "((x > 3)); {}",
    "echo [[; {}; echo ]]",
    "echo [[ > out ]]; {}",
]


@st.composite
def lines(draw: st.DrawFn, depth: int = 3) -> str:
    """Command lines: a simple command, a list, or a compound command around others."""
    kind = draw(st.sampled_from(["simple", "list", "compound"])) if depth else "simple"
    if kind == "list":
        parts = [draw(lines(depth - 1)) for _ in range(draw(st.integers(2, 4)))]
        return parts[0] + "".join(draw(st.sampled_from(JOINTS)) + part for part in parts[1:])
    if kind == "compound":
        form = draw(st.sampled_from(COMPOUNDS))
        # The oracle loses a here-document if its line has a compound command of several lines.
        is_document = form.startswith("cat <<")
        return form.format(*[draw(lines(0 if is_document else depth - 1)) for _ in range(form.count("{}"))])
    words = [draw(st.sampled_from(ASSIGNMENTS)) for _ in range(draw(st.integers(0, 1)))]
    words.append(draw(st.sampled_from(PROGRAMS)))
    for _ in range(draw(st.integers(0, 4))):
        part = draw(st.sampled_from(["word", "word", "redirection", "substitution"]))
        if part == "substitution" and depth:
            words.append(draw(st.sampled_from(SUBSTITUTIONS)).format(draw(lines(depth - 1))))
        else:
            words.append(draw(st.sampled_from(REDIRECTIONS if part == "redirection" else WORDS)))
    return draw(st.sampled_from([" ", "  ", "\t", " \\\n "])).join(words)


@given(lines())
def test_no_command_of_a_generated_line_is_missed(line: str) -> None:
    assume(seen_by_oracle(line) is not None)
    assert missed(line) == []


@given(lines())
def test_effects_of_a_line_that_is_not_parsed_are_unknown(line: str) -> None:
    assert read_command(line, "/nowhere").unknown or seen_by_us(line)[2]
