"""List the simple commands of a line, with those inside subshells, substitutions and `bash -c`."""

from __future__ import annotations

from itertools import pairwise

from remit.shell.programs.lists import WRAPPERS, wrapper_words
from remit.shell.syntax import Node, parse

_SHELLS = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
#: How deep command lines may be nested in others.
_MAX_DEPTH = 6
_PIPES = ("|", "|&")


class SimpleCommand:
    """A command of a line, without assignments, reserved words and programs that only start another.

    A word with an expansion is listed as in the source, without quotes.
    """

    def __init__(
        self, operator: str, words: list[str], folder: str | None, inputs: list[str], outputs: list[str]
    ) -> None:
        #: The operator before it; `(` if it is the first of a subshell or a substitution.
        self.operator = operator
        self.words = words
        #: Where it runs, relative to where the line runs; None if that is not known.
        self.folder = folder
        #: The targets of its redirections. Descriptors are left out.
        self.inputs = inputs
        self.outputs = outputs


def read_line(text: str) -> tuple[bool, list[SimpleCommand]]:
    """Return whether all of a line can be read, and its simple commands as far as it can be read.

    The commands are in order; those of substitutions are last.
    """
    collector = _Collector()
    script = parse(text)
    collector.add_nodes(script.nodes, "", 0)
    return not script.problem, collector.commands


def simple_commands(text: str) -> list[SimpleCommand]:
    """Return the simple commands of a line in order, as far as it can be read; those of substitutions are last."""
    return read_line(text)[1]


class _Collector:
    """Collects commands from nested lines."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []

    def add_line(self, text: str, folder: str | None, depth: int, operator: str = "") -> None:
        """Add the commands of a line. The first one gets the operator."""
        if depth > _MAX_DEPTH:
            return
        first = len(self.commands)
        nodes = parse(text).nodes
        self.add_nodes(nodes, folder, depth)
        if operator and len(self.commands) > first:
            self.commands[first].operator = operator

    def add_nodes(self, nodes: list[Node], folder: str | None, depth: int) -> None:
        """Add the commands of a list, and then those of its substitutions."""
        substitutions: list[tuple[str, str | None]] = []
        for node in nodes:
            substitutions += [(line, folder) for line in node.substitutions]
            if node.body is not None:
                first = len(self.commands)
                self.add_nodes(node.body, folder, depth)
                if node.operator in _PIPES and len(self.commands) > first:
                    self.commands[first].operator = node.operator
            words = self._add_node(node, folder, depth)
            if words and _program(words) in ("cd", "pushd"):
                folder = _moved(folder, words[1:])
        for line, there in substitutions:
            self.add_line(line, there, depth + 1, "(")

    def _add_node(self, node: Node, folder: str | None, depth: int) -> list[str]:
        """Add one command, or those that a shell runs for it. Return its words."""
        words = _unwrapped([word.text for word in node.words]) if not node.keyword else []
        inputs, outputs = _targets(node)
        script = _script(words) if words and _program(words) in _SHELLS else None
        if script is not None:
            first = len(self.commands)
            self.add_line(script, folder, depth + 1, node.operator)
            for command in self.commands[first:]:
                command.outputs += outputs
        elif words or inputs or outputs:
            self.commands.append(SimpleCommand(node.operator, words, folder, inputs, outputs))
        return words


def join_folder(folder: str | None, name: str | None) -> str | None:
    """Return a name relative to where the line runs, or None if that is not known."""
    if name is None or name.startswith(("/", "\\", "~")) or (name[:1].isalpha() and name[1:3] in (":/", ":\\")):
        return name
    return None if folder is None else f"{folder}/{name}".rstrip("/") if folder else name


def _targets(node: Node) -> tuple[list[str], list[str]]:
    """Return the names that a command's input comes from and that its output goes to."""
    inputs: list[str] = []
    outputs: list[str] = []
    for token in node.redirections:
        name = token.target.text if token.target is not None else ""
        if token.text in (">&", "<&") and (name.isdecimal() or name in ("-", "")):
            continue
        if token.text == "<":
            inputs.append(name)
        elif ">" in token.text:
            outputs.append(name)
    return inputs, outputs


def _unwrapped(words: list[str]) -> list[str]:
    """Return the words of the program that really runs."""
    index = 0
    while index < len(words):
        name = words[index].rsplit("/", 1)[-1]
        following = words[index + 1 : index + 2]
        if name in WRAPPERS:
            index += 1 + wrapper_words(name, words[index + 1 :])
        elif _is_assignment(words[index]) or (name == "command" and following and not following[0].startswith("-")):
            index += 1
        else:
            break
    return words[index:]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.removesuffix("+").isidentifier()


def _program(words: list[str]) -> str:
    return words[0].rsplit("/", 1)[-1]


def _script(words: list[str]) -> str | None:
    """Return the command line that a shell is given: `bash -lc 'cat a.py'`."""
    for word, following in pairwise(words):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return following
    return None


def _moved(folder: str | None, words: list[str]) -> str | None:
    targets = [word for word in words if not word.startswith("-")]
    if len(targets) != 1 or any(mark in targets[0] for mark in "$`*~"):
        return None
    return join_folder(folder, targets[0])
