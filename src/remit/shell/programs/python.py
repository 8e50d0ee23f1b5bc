"""What a piece of Python in a command line does to files."""

from __future__ import annotations

import ast

from remit.shell.command import Command
from remit.shell.words import Argument

_MAX_CODE = 20_000
#: Modules whose functions do nothing to files if they are called with plain values.
_SAFE_MODULES_TEXT = """
    json sys re math datetime time collections itertools functools textwrap string random statistics base64 hashlib uuid
    pathlib platform decimal fractions urllib.parse html importlib.metadata csv tomllib pprint typing operator
"""
_SAFE_MODULES = frozenset(_SAFE_MODULES_TEXT.split())
_READS = frozenset({"read_text", "read_bytes"})
_WRITES = frozenset({"write_text", "write_bytes", "unlink", "touch", "rmdir", "mkdir"})
#: Names that lead to other files or programs than those named where they are called.
_UNSAFE_TEXT = """
    exec eval compile __import__ __builtins__ system popen run call check_output Popen remove rmtree getattr setattr
    globals locals vars rename renames symlink_to hardlink_to link_to link symlink copy2 copyfile copytree copy_into
    move move_into chmod truncate os shutil io builtins subprocess modules import_module codecs fileinput
"""
_UNSAFE = frozenset(_UNSAFE_TEXT.split())


def read_python(command: Command, code: str) -> None:
    """Add the effects of a piece of Python."""
    try:
        tree = ast.parse(code) if len(code) <= _MAX_CODE else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        command.effects.give_up("a Python script cannot be parsed")
        return
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _add_import(command, node)
        elif isinstance(node, ast.Call):
            _add_call(command, node)
        elif isinstance(node, ast.Name | ast.Attribute) and _is_unsafe(node, is_called=id(node) in called):
            command.effects.give_up("a Python script may do anything")


def _is_unsafe(node: ast.Name | ast.Attribute, *, is_called: bool) -> bool:
    """Return whether a name leads beyond what can be seen, such as a function that is passed on."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    if isinstance(node, ast.Attribute) and name.startswith("_"):
        return True
    return name in _UNSAFE or (not is_called and (name == "open" or name in _READS or name in _WRITES))


def _add_import(command: Command, node: ast.Import | ast.ImportFrom) -> None:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    # The project's own modules are what one-liners import most; they may do anything.
    if any(name not in _SAFE_MODULES and name.partition(".")[0] not in _SAFE_MODULES for name in names):
        command.effects.give_up("a Python script imports a module that may do anything")


def _add_call(command: Command, node: ast.Call) -> None:
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
        command.effects.give_up("a Python script moves a file")  # the `replace` of a text has two arguments


def _mode(node: ast.Call) -> str | None:
    """Return the mode of an `open`, or None if it is not a constant."""
    at = 0 if isinstance(node.func, ast.Attribute) else 1
    modes = [node.args[at]] if len(node.args) > at else [key.value for key in node.keywords if key.arg == "mode"]
    if not modes:
        return "r"
    return modes[0].value if isinstance(modes[0], ast.Constant) and isinstance(modes[0].value, str) else None


def _is_path(node: ast.expr) -> bool:
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == "Path"


def _constant(node: ast.expr | None) -> Argument:
    """Return a file name: a constant text, or that of `Path("...")`."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and _is_path(node.func):
        node = node.args[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Argument(node.value)
    return Argument("", is_known=False)
