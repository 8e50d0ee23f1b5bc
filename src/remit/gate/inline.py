"""Python on a command line: the files that it opens by name. What it cannot see through it does not vouch for."""

from __future__ import annotations

import ast

from remit.gate.expansion import Arg

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
_WRITES = frozenset({"write_text", "write_bytes", "unlink", "touch", "rmdir", "mkdir"})
#: What leads to other files or programs than those that are named where it is called.
_DANGER_TEXT = """
    exec eval compile __import__ __builtins__ system popen run call check_output Popen remove rmtree getattr setattr
    globals locals vars rename renames symlink_to hardlink_to link_to link symlink copy2 copyfile copytree copy_into
    move move_into chmod truncate os shutil io builtins subprocess modules import_module codecs fileinput
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
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _imported(command, node)
        elif isinstance(node, ast.Call):
            _called(command, node)
        elif isinstance(node, ast.Name | ast.Attribute) and _is_loose(node, is_called=id(node) in called):
            command.effects.give_up("a script of Python may do anything")


def _is_loose(node: ast.Name | ast.Attribute, *, is_called: bool) -> bool:
    """Whether a name leads beyond what can be seen: a function that is handed on, or a part of another module."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    if isinstance(node, ast.Attribute) and name.startswith("_"):
        return True
    return name in _DANGER or (not is_called and (name == "open" or name in _READS or name in _WRITES))


def _imported(command: Command, node: ast.Import | ast.ImportFrom) -> None:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    # A project's own module is what one-liners mostly try out; it may do anything.
    if any(name not in _MODULES and name.partition(".")[0] not in _MODULES for name in names):
        command.effects.give_up("a script of Python imports what may do anything")


def _called(command: Command, node: ast.Call) -> None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name == "open":
        mode = _mode(node)
        arg = _constant(owner if owner is not None else node.args[0] if node.args else None)
        if mode is None or any(letter in mode for letter in "wax+"):
            command.write(arg)
        else:
            command.read(arg)
    elif owner is not None and name in _READS:
        command.read(_constant(owner))
    elif owner is not None and name in _WRITES:
        command.write(_constant(owner))
    elif name == "replace" and isinstance(owner, ast.Call) and len(node.args) == 1:
        command.effects.give_up("a script of Python moves a file")  # text has a `replace` of two values


def _mode(node: ast.Call) -> str | None:
    """The mode of an `open`; None if it is not plain."""
    at = 0 if isinstance(node.func, ast.Attribute) else 1
    given = [node.args[at]] if len(node.args) > at else [key.value for key in node.keywords if key.arg == "mode"]
    if not given:
        return "r"
    return given[0].value if isinstance(given[0], ast.Constant) and isinstance(given[0].value, str) else None


def _is_path(node: ast.expr) -> bool:
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == "Path"


def _constant(node: ast.expr | None) -> Arg:
    """A file's name: a plain text, or `Path("…")`."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and _is_path(node.func):
        node = node.args[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Arg(node.value)
    return Arg("", known=False)
