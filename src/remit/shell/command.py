"""A simple command while the reader works out its effects."""

from __future__ import annotations

import os

from remit.shell.effects import Effects
from remit.shell.words import Argument, ShellState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Reader:
    """The two ways in which a command leads to another: a command line, and the words of a program."""

    __slots__ = ("apply_effects", "read_line")

    def __init__(
        self,
        read_line: Callable[[str, ShellState], Effects],
        apply_effects: Callable[[Command, list[Argument]], None],
    ) -> None:
        self.read_line = read_line
        self.apply_effects = apply_effects


class Command:
    """A simple command while its effects are told."""

    def __init__(self, state: ShellState, reader: Reader, *, piped: bool = False) -> None:
        self.state = state
        self._reader = reader
        self.effects = Effects()
        #: Whether its input comes from another command.
        self.piped = piped
        self.body = ""
        self.has_body = False
        #: It passes on at most so many of the lines that it is given.
        self.passes: int | None = None

    def path(self, arg: Argument) -> str | None:
        """A name as seen from where the line began; None if that cannot be told."""
        absolute = arg.text.startswith(("/", "~"))
        if not arg.known or (self.state.folder is None and not absolute):
            self.effects.give_up("a name of a file is made at run time")
            return None
        return arg.text if absolute or not self.state.folder else os.path.join(self.state.folder, arg.text)

    def read(self, arg: Argument, lines: int | None = None, first: int = 1) -> None:
        """It shows a file."""
        if arg.many:
            self.search(Argument("."), lines=lines)
        elif arg.text != "-" and (path := self.path(arg)) is not None:
            self.effects.reads.append((path, lines, first))

    def write(self, arg: Argument) -> None:
        """It changes a file, or something in a folder."""
        path = self.path(Argument(".") if arg.many else arg)
        if path is not None and path != "-":
            self.effects.writes.append(path)
            if not arg.text.startswith(("/", "~")):
                self.effects.writes += [
                    os.path.join(other, "." if arg.many else arg.text) for other in self.state.others
                ]

    def search(self, root: Argument, glob: str = "", pattern: str | None = "", lines: int | None = None) -> None:
        """It looks through files; with the pattern None it only lists them."""
        path = self.path(root)
        if path is not None:
            self.effects.searches.append((path, glob, pattern, lines))

    def run(self, text: str) -> None:
        """It runs another command line."""
        inside = self.state.copy()
        self.effects.add(self._reader.read_line(text, inside))

    def run_here(self, text: str) -> None:
        """It runs another command line in this very shell."""
        inside = self.state.copy()
        self.effects.add(self._reader.read_line(text, inside))
        self.state.folder, self.state.others, self.state.variables = inside.folder, inside.others, inside.variables

    def run_program(self, args: list[Argument]) -> None:
        """Add the effects of the program that these words start."""
        self._reader.apply_effects(self, args)

    def is_folder(self, arg: Argument) -> bool:
        """Whether a name is a folder's."""
        path = self.path(arg)
        return path is not None and (path.endswith("/") or os.path.isdir(os.path.join(self.state.start, path)))
