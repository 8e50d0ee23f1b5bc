"""What well-known programs do to the files that they are given. A program that is not known is said to be so."""

from __future__ import annotations

from remit.shell.options import Options
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
from remit.shell.words import Argument, record_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.shell.command import Command

    Teller = Callable[[Command, str, list[Argument]], None]

#: `uv run X`, `bundle exec X`: programs of which one subcommand runs another program.
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
    """Add what a simple command does to its effects."""
    if not args:
        return
    first, rest = args[0], args[1:]
    if not first.known or first.many:
        command.effects.give_up("the program is chosen at run time")
        return
    name = first.text.rpartition("/")[2] if not first.text.startswith("./") else first.text
    sub = rest[0].text if rest else ""
    plain_sub = sub if sub.replace("-", "").isalnum() and len(sub) < 20 else ""
    command.effects.programs += [name[:40], f"{name} {plain_sub}"[:60]] if plain_sub else [name[:40]]
    if name == "remit":
        command.effects.programs.append(_of_ours(rest))
    if [arg.text for arg in rest] in (["--version"], ["--help"], ["-V"], ["-h"]):
        return
    teller = _teller(name)
    if teller is not None:
        teller(command, name, rest)
    elif name in WRAPPERS or name in PACKAGE_RUNNERS:
        apply_effects(command, _after_wrapper(command, name, rest))
    elif name in _RUN_WITHIN and sub == _RUN_WITHIN[name]:
        apply_effects(command, rest[1:])
    elif name in NAMING:
        _rename(command, name, rest)
    elif name in LISTING:
        command.passes = 1
    elif name in HARMLESS:
        _harmless(command, name, rest)
    else:
        command.effects.give_up("it runs a program that the gate does not know", name[:40])


def _harmless(command: Command, name: str, rest: list[Argument]) -> None:
    """A program that changes nothing of the project, but for some words and options."""
    if any(arg.text in MOVING.get(name, ()) for arg in rest):
        command.effects.give_up("it may bring files from elsewhere")
    elif name == "sqlite3" and any(word in arg.text for arg in rest for word in SQLITE_WRITES):
        command.effects.give_up("it may write a file in the middle of its commands")
    elif name in REPORTS:
        _report(command, REPORTS[name], rest)


def _report(command: Command, names: tuple[str, ...], args: list[Argument]) -> None:
    """A tool that writes what it found to a file that an option names."""
    letters = "".join(name[1:] for name in names if len(name) == 2)
    found = Options(args, letters, tuple(name for name in names if name.startswith("--")))
    for target in found.values(*names):
        command.write(Argument(target))


def _of_ours(args: list[Argument]) -> str:
    """`remit gate declare` and its like by their first words, whatever their quotes; `remit ?`: not known."""
    words = [arg for arg in args if not arg.known or not arg.text.startswith("-")][:2]
    return (
        "remit ?" if any(not arg.known or arg.many for arg in words) else " ".join(["remit", *(w.text for w in words)])
    )


def _teller(name: str) -> Teller | None:
    """The function that knows a program; its module is loaded only now."""
    if name in READERS or name in VIEWERS:
        from remit.shell.programs import viewers

        return viewers.show if name in READERS else viewers.TELLERS[name]
    if name in INTERPRETERS:
        from remit.shell.programs import interpreters

        return interpreters.TELLERS[name]
    if name == "git":
        from remit.shell.programs.git import run_git

        return run_git
    if name in WRITERS or name in FORMATTERS or name in RUNNERS or name in EDITORS:
        from remit.shell.programs import editors

        return editors.handler(name)
    return None


def _rename(command: Command, name: str, args: list[Argument]) -> None:
    """`read F`, `declare F=a`, `printf -v F`: names that mean something else from now on."""
    if name == "printf":
        args = (
            args[1:2]
            if args and args[0].text == "-v"
            else [Argument(arg.text[2:]) for arg in args if arg.text[:2] == "-v"]
        )
    elif any(arg.text.startswith("-") and "n" in arg.text for arg in args) and name in ("declare", "typeset", "local"):
        command.effects.give_up("a variable gets another name")
    for arg in args:
        if not arg.known and "=" not in arg.text:
            command.effects.give_up("a variable is chosen at run time")
        variable, sign, value = arg.text.partition("=")
        if variable.isidentifier():
            record_variable(command.effects, variable, value)
            command.state.assign(variable, [value] if sign and arg.known else [])


def _after_wrapper(command: Command, name: str, args: list[Argument]) -> list[Argument]:
    """Return the words of the program that a wrapper starts."""
    own = wrapper_words(name, [arg.text for arg in args])
    for arg in args[:own] if name == "env" else ():
        variable, sign, value = arg.text.partition("=")
        if sign and not variable.startswith("-"):
            record_variable(command.effects, variable, value)
    return args[own:]
