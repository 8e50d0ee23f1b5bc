"""Programs that run what they are given: shells, languages, xargs, and commands that change the shell itself."""

from __future__ import annotations

from collections.abc import Callable

from remit.shell.command import Command
from remit.shell.options import CommandOptions
from remit.shell.programs.lists import FORMATTERS, HARMLESS, RUNNERS
from remit.shell.programs.scripts import read_code
from remit.shell.words import Argument

#: Modules of Python that write no source files.
_MODULES_TEXT = """
    unittest http.server doctest site sysconfig ensurepip platform this
"""
_MODULES = frozenset(_MODULES_TEXT.split())
#: Remit, as a person starts it and as a client's slash command does.
_REMIT = ("remit", "remit.surfaces.cli.in_client")
#: Language -> the letters of options that take a script.
_SCRIPT_LETTERS = {"php": "r", "node": "ep"}
_RUN_TIME_LINE = "a command line is made at run time"
_UNSEEN_SCRIPT = "a script is run that is not shown"


def run_shell(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of `bash -c '...'` or a here-document. A script in a file or from a pipe is not read."""
    for index, arg in enumerate(args):
        if arg.text.startswith("-") and not arg.text.startswith("--") and "c" in arg.text:
            if index + 1 < len(args) and args[index + 1].is_known:
                command.run(args[index + 1].text)
            else:
                command.effects.give_up(_RUN_TIME_LINE)
            return
    if any(arg.text == "-n" for arg in args):
        return
    operands = [arg for arg in args if not arg.text.startswith(("-", "+"))]
    if not operands and command.has_body:
        command.run(command.body)
    elif not operands and not command.piped and not args:
        return
    else:
        _run_script(command, operands, args, "-exuv")


def _run_script(command: Command, operands: list[Argument], args: list[Argument], options: str) -> None:
    """Run a script in a file. A script of the project is a task, whose effects are compared afterwards."""
    flags = [arg.text for arg in args[: args.index(operands[0])]] if operands else [arg.text for arg in args]
    path = command.path(operands[0]) if operands else None
    is_plain = all({*flag} <= {*options} for flag in flags)
    if path is None or not is_plain or command.has_body or not _is_project_file(command, path):
        command.effects.give_up(_UNSEEN_SCRIPT)


def _is_project_file(command: Command, path: str) -> bool:
    is_inside = not path.startswith(("/", "~")) and ".." not in path.split("/")
    return is_inside and (not command.state.start or command.state.exists(path, "file"))


def run_eval(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of `eval TEXT`."""
    if all(arg.is_known for arg in args):
        command.run_here(" ".join(arg.text for arg in args))
    else:
        command.effects.give_up(_RUN_TIME_LINE)


def run_source(command: Command, _: str, args: list[Argument]) -> None:
    """Give up on `source FILE`, unless it activates a virtual environment."""
    if not args or not args[0].text.endswith("venv/bin/activate") or not args[0].is_known:
        command.effects.give_up(_UNSEEN_SCRIPT)


def run_python(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of `python -c`, `python -m` or a here-document."""
    index = 0
    while index < len(args) and args[index].text.startswith("-") and args[index].text not in ("-", "-c", "-m"):
        index += 2 if args[index].text in ("-X", "-W") else 1
    kind = args[index].text if index < len(args) else ""
    rest = args[index + 1 :]
    if kind == "-c" and rest and rest[0].is_known:
        read_code(command, rest[0].text)
    elif kind == "-m" and rest:
        _run_module(command, rest)
    elif kind in ("", "-") and command.has_body:
        read_code(command, command.body)
    elif kind not in ("", "-", "-c", "-m"):
        _run_script(command, [args[index]], args[: index + 1], "-BEIOSbdsuqx")
    elif kind or command.piped or args:
        command.effects.give_up(_UNSEEN_SCRIPT)


def _run_module(command: Command, args: list[Argument]) -> None:
    name = args[0].text
    command.effects.programs.append(f"python -m {name}")
    if name == "json.tool":
        operands = CommandOptions(args[1:]).operands
        for arg in operands[:1]:
            command.read(arg)
        for arg in operands[1:2]:
            command.write(arg)
    elif name in _REMIT:
        command.run_program([Argument("remit"), *args[1:]])
    elif name in HARMLESS or name in FORMATTERS or name in RUNNERS or name in ("build", "pip_audit"):
        command.run_program([Argument("make" if name == "build" else name.replace("_", "-")), *args[1:]])
    elif name == "venv":
        for arg in CommandOptions(args[1:]).operands:
            if arg.text.rpartition("/")[2] not in ("venv", ".venv"):
                command.write(arg)
    elif name not in _MODULES:
        command.effects.give_up("an unknown Python module is run")


def run_language(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `perl -pi -e`, `ruby -e`, `node -e` and similar one-liners."""
    options = CommandOptions(args, _SCRIPT_LETTERS.get(name, "e"), ("--eval", "--print"))
    scripts = options.values(*(f"-{letter}" for letter in _SCRIPT_LETTERS.get(name, "e")), "--eval", "--print")
    if not scripts:
        if options.operands and name in ("node", "ruby", "php"):
            _run_script(command, options.operands, args, "-")
        elif name == "node" and [arg.text for arg in args] == ["--test"]:
            return
        else:
            command.effects.give_up(_UNSEEN_SCRIPT)
        return
    known = {*(f"-{letter}" for letter in _SCRIPT_LETTERS.get(name, "e")), "--eval", "--print", "-n", "-p", "-i", "-l"}
    in_place = [arg.text for arg in args if arg.text.startswith("-i")]
    if any(flag not in known and not any(flag[1] in text for text in in_place) for flag in options.named):
        command.effects.give_up(f"an option of {name} is not known")
    if any(flag.startswith("-i") for flag in options.named):
        for arg in options.operands:
            command.write(arg)
        return
    for script in scripts:
        read_code(command, script)
    for arg in options.operands if options.has("-n", "-p") else ():
        command.read(arg)


def run_xargs(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `... | xargs PROGRAM`, whose file names are not known yet."""
    if name == "parallel":
        command.effects.give_up("the commands of `parallel` are made at run time")
        return
    index = 0
    mark = ""
    while index < len(args) and args[index].text.startswith("-"):
        text = args[index].text
        if text == "-I":
            mark = args[index + 1].text if index + 1 < len(args) else ""
        elif text[:2] == "-I":
            mark = text[2:]
        index += 2 if text in ("-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E") else 1
    words = args[index:]
    if mark:
        words = [Argument(arg.text, is_known=arg.is_known, is_many=mark in arg.text) for arg in words]
        if len(words) > 2 and words[0].text in ("sh", "bash", "zsh") and words[-1].is_many:
            command.effects.give_up(_RUN_TIME_LINE)
            return
    else:
        words = [*words, Argument("", is_many=True)]
    command.run_program(words if words and not words[0].is_many else [])


def push_folder(command: Command, _: str, args: list[Argument]) -> None:
    """Give up on `pushd` and `popd`: the stack of folders is not followed."""
    del args
    command.state.folder = None
    command.effects.give_up("it uses a stack of folders")


def change_folder(command: Command, _: str, args: list[Argument]) -> None:
    """Move to the folder of `cd FOLDER`."""
    operands = [arg for arg in args if not arg.text.startswith("-") or arg.text == "-"]
    if any(arg.text.startswith("-") and arg.text not in ("-", "-P", "-L", "--") for arg in args):
        command.effects.give_up("an option of cd is not known")
    if not operands:
        command.state.move("~", "~")
    elif not operands[0].is_known or operands[0].text == "-":
        command.state.folder = None
    else:
        command.state.move(command.path(operands[0]), operands[0].text)


def run_command(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of `command PROGRAM`; `command -v PROGRAM` does nothing."""
    if not args or args[0].text not in ("-v", "-V"):
        command.run_program(args[1:] if args and args[0].text == "-p" else args)


def export(command: Command, _: str, args: list[Argument]) -> None:
    """Set the variables of `export A=b`."""
    for arg in args:
        name, sign, value = arg.text.partition("=")
        if sign and name.isidentifier():
            command.check_variable(name, value)
            command.state.assign(name, [value] if arg.is_known else [])


def run_trap(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of `trap 'COMMAND' SIGNAL`, although it runs later."""
    run_eval(command, "eval", args[:1])


def run_container(command: Command, _: str, args: list[Argument]) -> None:
    """Give up if a container runs or copies something: it may use the project's files."""
    words = [arg.text for arg in args if not arg.text.startswith("-")][:2]
    if any(word in ("run", "exec", "cp") for word in words):
        command.effects.give_up("it runs or copies within a container")


HANDLERS: dict[str, Callable[[Command, str, list[Argument]], None]] = {
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "fish"), run_shell),
    **dict.fromkeys(("python", "python3", "python2", "pypy", "pypy3"), run_python),
    **dict.fromkeys(("perl", "ruby", "node", "php", "lua", "Rscript"), run_language),
    **dict.fromkeys(("xargs", "parallel"), run_xargs),
    **dict.fromkeys(("cd", "chdir"), change_folder),
    **dict.fromkeys(("pushd", "popd"), push_folder),
    **dict.fromkeys(("source", "."), run_source),
    **dict.fromkeys(("docker", "docker-compose", "podman", "kubectl"), run_container),
    "eval": run_eval,
    "trap": run_trap,
    "command": run_command,
    "export": export,
}
