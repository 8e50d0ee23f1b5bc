"""Find the handler of a program and add the effects of a simple command."""

from __future__ import annotations

from remit.shell.options import CommandOptions
from remit.shell.programs.lists import (
    EDITORS,
    FORMATTERS,
    HARMLESS,
    INTERPRETERS,
    LISTING,
    MOVING,
    NAMING,
    PACKAGE_RUNNERS,
    READERS,
    REPORTS,
    RUNNERS,
    SQLITE_WRITES,
    VIEWERS,
    WRAPPERS,
    WRITERS,
    wrapper_words,
)
from remit.shell.words import Argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.shell.command import Command

    Handler = Callable[[Command, str, list[Argument]], None]

#: Programs with a subcommand that runs another program: `uv run X`, `bundle exec X`.
_RUN_WITHIN = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "hatch": "run",
    "rye": "run",
    "pdm": "run",
    "bundle": "exec",
}


def apply_effects(command: Command, args: list[Argument]) -> None:
    """Add the effects of a simple command to it."""
    if not args:
        return
    first, rest = args[0], args[1:]
    if not first.is_known or first.is_many:
        command.effects.give_up("the program is chosen at run time")
        return
    name = first.text.rpartition("/")[2] if not first.text.startswith("./") else first.text
    sub = rest[0].text if rest else ""
    plain_sub = sub if sub.replace("-", "").isalnum() and len(sub) < 20 else ""
    command.effects.programs += [name[:40], f"{name} {plain_sub}"[:60]] if plain_sub else [name[:40]]
    if name == "remit":
        command.effects.programs.append(_remit_command(rest))
    if [arg.text for arg in rest] in (["--version"], ["--help"], ["-V"], ["-h"]):
        return
    handler = _handler(name)
    if handler is not None:
        handler(command, name, rest)
    elif name in WRAPPERS or name in PACKAGE_RUNNERS:
        apply_effects(command, _after_wrapper(command, name, rest))
    elif name in _RUN_WITHIN and sub == _RUN_WITHIN[name]:
        apply_effects(command, rest[1:])
    elif name in NAMING:
        _set_variables(command, name, rest)
    elif name in LISTING:
        command.passes = 1
    elif name in HARMLESS:
        _run_harmless(command, name, rest)
    else:
        command.effects.give_up("it runs an unknown program", name[:40])


def _run_harmless(command: Command, name: str, rest: list[Argument]) -> None:
    """Add the effects that some arguments of a harmless program have."""
    if any(arg.text in MOVING.get(name, ()) for arg in rest):
        command.effects.give_up("it may copy files from elsewhere")
    elif name == "sqlite3" and any(word in arg.text for arg in rest for word in SQLITE_WRITES):
        command.effects.give_up("one of its commands may write a file")
    elif name in REPORTS:
        _write_report(command, REPORTS[name], rest)


def _write_report(command: Command, names: tuple[str, ...], args: list[Argument]) -> None:
    """Add the files that a tool writes its report to."""
    letters = "".join(name[1:] for name in names if len(name) == 2)
    options = CommandOptions(args, letters, tuple(name for name in names if name.startswith("--")))
    for target in options.values(*names):
        command.write(Argument(target))


def _remit_command(args: list[Argument]) -> str:
    """Return a command of Remit by its first words, such as `remit gate declare`; `remit ?` if it is not known."""
    words = [arg for arg in args if not arg.is_known or not arg.text.startswith("-")][:2]
    if any(not arg.is_known or arg.is_many for arg in words):
        return "remit ?"
    return " ".join(["remit", *(arg.text for arg in words)])


def _handler(name: str) -> Handler | None:
    """Return the function that adds the effects of a program. Its module is loaded only when it is needed."""
    if name in READERS or name in VIEWERS:
        from remit.shell.programs import viewers

        return viewers.show if name in READERS else viewers.HANDLERS[name]
    if name in INTERPRETERS:
        from remit.shell.programs import interpreters

        return interpreters.HANDLERS[name]
    if name == "git":
        from remit.shell.programs.git import run_git

        return run_git
    if name in WRITERS or name in FORMATTERS or name in RUNNERS or name in EDITORS:
        from remit.shell.programs import editors

        return editors.handler(name)
    return None


def _set_variables(command: Command, name: str, args: list[Argument]) -> None:
    """Set the variables of `read F`, `declare F=a` and `printf -v F`."""
    if name == "printf":
        args = (
            args[1:2]
            if args and args[0].text == "-v"
            else [Argument(arg.text[2:]) for arg in args if arg.text[:2] == "-v"]
        )
    elif any(arg.text.startswith("-") and "n" in arg.text for arg in args) and name in ("declare", "typeset", "local"):
        command.effects.give_up("a variable gets another name")
    for arg in args:
        if not arg.is_known and "=" not in arg.text:
            command.effects.give_up("a variable is chosen at run time")
        variable, sign, value = arg.text.partition("=")
        if variable.isidentifier():
            command.check_variable(variable, value)
            command.state.assign(variable, [value] if sign and arg.is_known else [])


def _after_wrapper(command: Command, name: str, args: list[Argument]) -> list[Argument]:
    """Return the words of the program that a wrapper starts."""
    own = wrapper_words(name, [arg.text for arg in args])
    for arg in args[:own] if name == "env" else ():
        variable, sign, value = arg.text.partition("=")
        if sign and not variable.startswith("-"):
            command.check_variable(variable, value)
    return args[own:]
