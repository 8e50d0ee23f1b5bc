"""Python on a command line: the files that it opens by name. What it cannot see through it does not vouch for."""

from __future__ import annotations

import ast

from remit.gate.shell import Arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.shell import Command

_LONGEST = 20_000
#: Modules that do nothing to files, as far as their functions are called with plain values.
_MODULES_TEXT = """
    json sys re math datetime time collections itertools functools textwrap string random statistics base64 hashlib uuid
    pathlib platform decimal fractions urllib.parse html importlib.metadata csv tomllib pprint typing operator
"""
_MODULES = frozenset(_MODULES_TEXT.split())
_READS = frozenset({"read_text", "read_bytes"})
_WRITES = frozenset(
    {"write_text", "write_bytes", "unlink", "rename", "replace", "touch", "rmdir", "mkdir", "symlink_to"}
)
_DANGER_TEXT = """
    exec eval compile __import__ system popen run call check_output Popen remove rmtree getattr
"""
_DANGER = frozenset(_DANGER_TEXT.split())


def read_python(command: Command, code: str) -> None:
    """Add what a piece of Python does to files."""
    try:
        tree = ast.parse(code) if len(code) <= _LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        command.effects.give_up("a script of Python cannot be parsed")
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _imported(command, node)
        elif isinstance(node, ast.Call):
            _called(command, node)


def _imported(command: Command, node: ast.Import | ast.ImportFrom) -> None:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    # A project's own module is what one-liners mostly try out; it may do anything.
    if any(name not in _MODULES and name.partition(".")[0] not in _MODULES for name in names):
        command.effects.give_up("a script of Python imports what may do anything")


def _called(command: Command, node: ast.Call) -> None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _DANGER:
        command.effects.give_up("a script of Python may do anything")
    elif name == "open":
        mode = _mode(node)
        path = node.func.value if isinstance(node.func, ast.Attribute) else (node.args[0] if node.args else None)
        arg = _constant(path)
        if mode is None or any(letter in mode for letter in "wax+"):
            command.write(arg)
        else:
            command.read(arg)
    elif isinstance(node.func, ast.Attribute) and name in _READS:
        command.read(_constant(node.func.value))
    elif isinstance(node.func, ast.Attribute) and name in _WRITES and _is_path(node.func.value, name):
        command.write(_constant(node.func.value))


def _is_path(node: ast.expr, name: str) -> bool:
    """Text has a `replace` too."""
    return name != "replace" or isinstance(node, ast.Call)


def _mode(node: ast.Call) -> str | None:
    """The mode of an `open`; None if it is not plain."""
    at = 0 if isinstance(node.func, ast.Attribute) else 1
    given = [node.args[at]] if len(node.args) > at else [key.value for key in node.keywords if key.arg == "mode"]
    if not given:
        return "r"
    return given[0].value if isinstance(given[0], ast.Constant) and isinstance(given[0].value, str) else None


def _constant(node: ast.expr | None) -> Arg:
    """A file's name: a plain text, or `Path("…")`."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Arg(node.value)
    return Arg("", known=False)
