"""Programs that run what they are given: shells, languages, xargs, and what changes the shell itself."""

from __future__ import annotations

import ast

from remit.shell.options import Options
from remit.shell.programs.lists import FORMATTERS, HARMLESS, RUNNERS
from remit.shell.words import Argument, record_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.shell.command import Command

#: Modules of Python's own that write no source.
_MODULES_TEXT = """
    unittest timeit venv http.server compileall doctest site sysconfig ensurepip platform this
"""
_MODULES = frozenset(_MODULES_TEXT.split())
#: Ours, as a person starts it and as a client's slash command does.
_REMIT = ("remit", "remit.surfaces.cli.in_client")
#: In a one-liner of another language these words mean files or other programs.
_TOUCHING_TEXT = """
    open system exec unlink rename fs require import file io. ` eval spawn write copy touch link mkdir rmdir truncate
    chmod passthru load output sink read source save qx %x argv ^i process bun deno glob dir. pathname syscall
"""
_TOUCHING = tuple(_TOUCHING_TEXT.split())
_LONGEST = 20_000
#: Modules that do nothing to files, as far as their functions are called with plain values.
_INLINE_MODULES_TEXT = """
    json sys re math datetime time collections itertools functools textwrap string random statistics base64 hashlib uuid
    pathlib platform decimal fractions urllib.parse html importlib.metadata csv tomllib pprint typing operator
"""
_INLINE_MODULES = frozenset(_INLINE_MODULES_TEXT.split())
_READS = frozenset({"read_text", "read_bytes"})
_WRITES = frozenset({"write_text", "write_bytes", "unlink", "touch", "rmdir", "mkdir"})
#: What leads to other files or programs than those that are named where it is called.
_DANGER_TEXT = """
    exec eval compile __import__ __builtins__ system popen run call check_output Popen remove rmtree getattr setattr
    globals locals vars rename renames symlink_to hardlink_to link_to link symlink copy2 copyfile copytree copy_into
    move move_into chmod truncate os shutil io builtins subprocess modules import_module codecs fileinput
"""
_DANGER = frozenset(_DANGER_TEXT.split())


def run_shell(command: Command, _: str, args: list[Argument]) -> None:
    """`bash -c '…'` is read; a script in a file, or one that comes through a pipe, is not."""
    for index, arg in enumerate(args):
        if arg.text.startswith("-") and not arg.text.startswith("--") and "c" in arg.text:
            if index + 1 < len(args) and args[index + 1].known:
                command.run(args[index + 1].text)
            else:
                command.effects.give_up("a command line is made at run time")
            return
    if any(arg.text == "-n" for arg in args):
        return
    if command.has_body and not [arg for arg in args if not arg.text.startswith("-")]:
        command.run(command.body)
    else:
        command.effects.give_up("a script is run that is not shown")


def run_eval(command: Command, _: str, args: list[Argument]) -> None:
    """`eval` of plain text."""
    if all(arg.known for arg in args):
        command.run_here(" ".join(arg.text for arg in args))
    else:
        command.effects.give_up("a command line is made at run time")


def run_source(command: Command, _: str, args: list[Argument]) -> None:
    """`source FILE`: only the activation of an environment is known."""
    if not args or not args[0].text.endswith("/activate"):
        command.effects.give_up("a script is run that is not shown")


def run_python(command: Command, _: str, args: list[Argument]) -> None:
    """`python -c`, `python -m`, a here-document."""
    at = 0
    while at < len(args) and args[at].text.startswith("-") and args[at].text not in ("-", "-c", "-m"):
        at += 2 if args[at].text in ("-X", "-W") else 1
    kind = args[at].text if at < len(args) else ""
    rest = args[at + 1 :]
    if kind == "-c" and rest and rest[0].known:
        _inline(command, rest[0].text)
    elif kind == "-m" and rest:
        _module(command, rest)
    elif kind in ("", "-") and command.has_body:
        _inline(command, command.body)
    elif kind or command.piped:
        command.effects.give_up("a script is run that is not shown")


def _module(command: Command, args: list[Argument]) -> None:
    name = args[0].text
    if name == "json.tool":
        operands = Options(args[1:]).operands
        for arg in operands[:1]:
            command.read(arg)
        for arg in operands[1:2]:
            command.write(arg)
    elif name in _REMIT:
        command.run_program([Argument("remit"), *args[1:]])
    elif name in HARMLESS or name in FORMATTERS or name in RUNNERS or name in ("build", "pip_audit"):
        command.run_program([Argument("make" if name == "build" else name.replace("_", "-")), *args[1:]])
    elif name not in _MODULES:
        command.effects.give_up("a module of Python is run that the gate does not know")


def _inline(command: Command, code: str) -> None:

    read_python(command, code)


def run_language(command: Command, name: str, args: list[Argument]) -> None:
    """`perl -pi -e`, `ruby -e`, `node -e`: one-liners that touch nothing but their input."""
    found = Options(args, "e" if name != "php" else "r", ("--eval", "--print"))
    scripts = found.values("-e", "-r", "--eval", "--print")
    if not scripts:
        command.effects.give_up("a script is run that is not shown")
        return
    if any(flag.startswith("-i") for flag in found.given):
        for arg in found.operands:
            command.write(arg)
        return
    if any(word in script.lower() for script in scripts for word in _TOUCHING):
        command.effects.give_up(f"a script of {name} may do anything")
    for arg in found.operands if found.has("-n", "-p") else ():
        command.read(arg)


def run_xargs(command: Command, name: str, args: list[Argument]) -> None:
    """`… | xargs PROGRAM`: it is given names that nobody knows yet."""
    if name == "parallel":
        command.effects.give_up("what `parallel` runs is made at run time")
        return
    at = 0
    mark = ""
    while at < len(args) and args[at].text.startswith("-"):
        text = args[at].text
        mark = (
            (args[at + 1].text if at + 1 < len(args) else "")
            if text == "-I"
            else text[2:]
            if text[:2] == "-I"
            else mark
        )
        at += 2 if text in ("-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E") else 1
    words = args[at:]
    if mark:
        words = [Argument(arg.text, known=arg.known, many=mark in arg.text) for arg in words]
        if len(words) > 2 and words[0].text in ("sh", "bash", "zsh") and words[-1].many:
            command.effects.give_up("a command line is made at run time")
            return
    else:
        words = [*words, Argument("", many=True)]
    command.run_program(words if words and not words[0].many else [])


def change_folder(command: Command, _: str, args: list[Argument]) -> None:
    """`cd FOLDER`: relative names mean something else from now on."""
    operands = [arg for arg in args if not arg.text.startswith("-") or arg.text == "-"]
    if not operands:
        command.state.move("~", "~")
    elif not operands[0].known or operands[0].text == "-":
        command.state.folder = None
    else:
        command.state.move(command.path(operands[0]), operands[0].text)


def run_command(command: Command, _: str, args: list[Argument]) -> None:
    """`command -v X` asks, `command X` runs."""
    if not args or args[0].text not in ("-v", "-V"):
        command.run_program(args[1:] if args and args[0].text == "-p" else args)


def export(command: Command, _: str, args: list[Argument]) -> None:
    """`export A=b`."""
    for arg in args:
        name, sign, value = arg.text.partition("=")
        if sign and name.isidentifier():
            record_variable(command.effects, name, value)
            command.state.assign(name, [value] if arg.known else [])


def run_trap(command: Command, _: str, args: list[Argument]) -> None:
    """`trap 'COMMAND' SIGNAL`: it runs later, and counts now."""
    run_eval(command, "eval", args[:1])


def run_container(command: Command, _: str, args: list[Argument]) -> None:
    """`docker ps` and its like do nothing here; what runs inside may see the project's files."""
    words = [arg.text for arg in args if not arg.text.startswith("-")][:2]
    if any(word in ("run", "exec", "cp") for word in words):
        command.effects.give_up("it runs or copies within a container")


TELLERS: dict[str, Callable[[Command, str, list[Argument]], None]] = {
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "fish"), run_shell),
    **dict.fromkeys(("python", "python3", "python2", "pypy", "pypy3"), run_python),
    **dict.fromkeys(("perl", "ruby", "node", "php", "lua", "Rscript"), run_language),
    **dict.fromkeys(("xargs", "parallel"), run_xargs),
    **dict.fromkeys(("cd", "pushd", "chdir"), change_folder),
    **dict.fromkeys(("source", "."), run_source),
    **dict.fromkeys(("docker", "docker-compose", "podman", "kubectl"), run_container),
    "eval": run_eval,
    "trap": run_trap,
    "command": run_command,
    "export": export,
}


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
    if any(name not in _INLINE_MODULES and name.partition(".")[0] not in _INLINE_MODULES for name in names):
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


def _constant(node: ast.expr | None) -> Argument:
    """A file's name: a plain text, or `Path("…")`."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and _is_path(node.func):
        node = node.args[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Argument(node.value)
    return Argument("", known=False)
