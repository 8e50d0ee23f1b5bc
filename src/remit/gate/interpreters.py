"""Programs that run what they are given: shells, languages, xargs, and what changes the shell itself."""

from __future__ import annotations

from remit.gate.expansion import Arg
from remit.gate.program_lists import FORMATTERS, HARMLESS, RUNNERS
from remit.gate.programs import options, tell
from remit.gate.variables import note_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.gate.shell import Command

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


def run_shell(command: Command, _: str, args: list[Arg]) -> None:
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


def run_eval(command: Command, _: str, args: list[Arg]) -> None:
    """`eval` of plain text."""
    if all(arg.known for arg in args):
        command.run_here(" ".join(arg.text for arg in args))
    else:
        command.effects.give_up("a command line is made at run time")


def run_source(command: Command, _: str, args: list[Arg]) -> None:
    """`source FILE`: only the activation of an environment is known."""
    if not args or not args[0].text.endswith("/activate"):
        command.effects.give_up("a script is run that is not shown")


def run_python(command: Command, _: str, args: list[Arg]) -> None:
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


def _module(command: Command, args: list[Arg]) -> None:
    name = args[0].text
    if name == "json.tool":
        operands = options(args[1:]).operands
        for arg in operands[:1]:
            command.read(arg)
        for arg in operands[1:2]:
            command.write(arg)
    elif name in _REMIT:
        tell(command, [Arg("remit"), *args[1:]])
    elif name in HARMLESS or name in FORMATTERS or name in RUNNERS or name in ("build", "pip_audit"):
        tell(command, [Arg("make" if name == "build" else name.replace("_", "-")), *args[1:]])
    elif name not in _MODULES:
        command.effects.give_up("a module of Python is run that the gate does not know")


def _inline(command: Command, code: str) -> None:
    from remit.gate.inline import read_python  # late: it parses Python

    read_python(command, code)


def run_language(command: Command, name: str, args: list[Arg]) -> None:
    """`perl -pi -e`, `ruby -e`, `node -e`: one-liners that touch nothing but their input."""
    found = options(args, "e" if name != "php" else "r", ("--eval", "--print"))
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


def run_xargs(command: Command, name: str, args: list[Arg]) -> None:
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
        words = [Arg(arg.text, known=arg.known, many=mark in arg.text) for arg in words]
        if len(words) > 2 and words[0].text in ("sh", "bash", "zsh") and words[-1].many:
            command.effects.give_up("a command line is made at run time")
            return
    else:
        words = [*words, Arg("", many=True)]
    tell(command, words if words and not words[0].many else [])


def change_folder(command: Command, _: str, args: list[Arg]) -> None:
    """`cd FOLDER`: relative names mean something else from now on."""
    operands = [arg for arg in args if not arg.text.startswith("-") or arg.text == "-"]
    if not operands:
        command.place.move("~", "~")
    elif not operands[0].known or operands[0].text == "-":
        command.place.folder = None
    else:
        command.place.move(command.path(operands[0]), operands[0].text)


def run_command(command: Command, _: str, args: list[Arg]) -> None:
    """`command -v X` asks, `command X` runs."""
    if not args or args[0].text not in ("-v", "-V"):
        tell(command, args[1:] if args and args[0].text == "-p" else args)


def export(command: Command, _: str, args: list[Arg]) -> None:
    """`export A=b`."""
    for arg in args:
        name, sign, value = arg.text.partition("=")
        if sign and name.isidentifier():
            note_variable(command.effects, name, value)
            command.place.assign(name, [value] if arg.known else [])


def run_trap(command: Command, _: str, args: list[Arg]) -> None:
    """`trap 'COMMAND' SIGNAL`: it runs later, and counts now."""
    run_eval(command, "eval", args[:1])


def run_container(command: Command, _: str, args: list[Arg]) -> None:
    """`docker ps` and its like do nothing here; what runs inside may see the project's files."""
    words = [arg.text for arg in args if not arg.text.startswith("-")][:2]
    if any(word in ("run", "exec", "cp") for word in words):
        command.effects.give_up("it runs or copies within a container")


TELLERS: dict[str, Callable[[Command, str, list[Arg]], None]] = {
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
