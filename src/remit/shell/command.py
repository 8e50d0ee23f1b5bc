"""A simple command, and what a command line does to files."""

from __future__ import annotations

import os
from collections.abc import Callable

from remit.shell.words import Argument, ShellState

CALCULATES = "it calculates with a value that is not known"
RUN_TIME_NAME = "a file name is made at run time"
#: Each of these variables changes what programs do: it names a program, a file that programs load, or options.
_DECIDING_TEXT = """
    ENV HOME IFS CDPATH SHELL SHELLOPTS BASHOPTS PS0 PS1 PS4 PAGER EDITOR VISUAL BROWSER TMPDIR CC CXX LD AR MAKEFILES
    ZDOTDIR LESSOPEN LESSCLOSE CLASSPATH FPATH FCEDIT GREP_OPTIONS PERL5OPT PERL5LIB RUBYOPT RUBYLIB
"""
_DECIDING = frozenset(_DECIDING_TEXT.split())
_DECIDING_STARTS = (
    "LD_",
    "DYLD_",
    "BASH_",
    "GIT_",
    "PYTHON",
    "XDG_",
    "REMIT_",
    "CLAUDE_",
    "NPM_CONFIG_",
    "npm_config_",
)
_DECIDING_ENDS: tuple[str, ...] = (
    "_OPTIONS",
    "_OPTS",
    "FLAGS",
    "_CONFIG",
    "_CONFIG_PATH",
    "_COMMAND",
    "EDITOR",
    "PAGER",
    "_HOME",
)
_DECIDING_ENDS += ("_PATH", "_RC", "_ASKPASS", "_WRAPPER", "_PRELOAD", "PROMPT_COMMAND")
#: Exceptions to these patterns.
_PLAIN = frozenset(
    {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING"}
    | {"GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"}
    | {"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "HYPOTHESIS_PROFILE"}
)
#: Values of such variables that run nothing from the project.
_HARMLESS = frozenset({"", "true", ":", "cat", "less"})
#: Folders of installed programs inside a project.
INSTALLED_FOLDERS = ("node_modules/.bin", "venv/bin", "vendor/bin")


class Effects:
    """Reads (path, lines or None for all, first line), writes, and searches (root, glob, pattern, lines).

    With `unknown` there may be more, for the reason in `why`. Paths are relative to where the line runs.
    """

    def __init__(self) -> None:
        self.reads: list[tuple[str, int | None, int]] = []
        self.writes: list[str] = []
        self.searches: list[tuple[str, str, str | None, int | None]] = []
        #: The writes that remove, move or replace a folder as a whole.
        self.removes: list[str] = []
        #: The writes that are only names in code, which is not understood: it may write them.
        self.guesses: list[str] = []
        #: Whether git checks out another commit.
        self.moves_checkout = False
        #: Patterns that are searched for in named files, to recognise a search for secrets. They are not stored.
        self.patterns: list[str] = []
        self.programs: list[str] = []
        self.unknown = False
        self.why = ""
        #: A part of the line that may be shown to the caller. It is not stored.
        self.detail = ""

    def give_up(self, why: str, detail: str = "") -> None:
        """Record that a part was not understood. The first reason is kept."""
        if not self.unknown:
            self.why, self.detail = why, detail
        self.unknown = True

    def add(self, other: Effects) -> None:
        """Add the effects of a part of the line."""
        for name in ("reads", "writes", "searches", "removes", "guesses", "patterns", "programs"):
            getattr(self, name).extend(getattr(other, name))
        self.moves_checkout = self.moves_checkout or other.moves_checkout
        if other.unknown:
            self.give_up(other.why, other.detail)

    def cap(self, limit: int) -> None:
        """Record that at most this number of lines is shown."""
        self.reads = [(path, limit if lines is None else min(lines, limit), first) for path, lines, first in self.reads]
        self.searches = [
            (root, glob, pattern, limit if lines is None else min(lines, limit))
            for root, glob, pattern, lines in self.searches
        ]

    def hide(self) -> None:
        """Record that the content goes to a file and is not shown."""
        self.reads = []
        self.searches = []


class Reader:
    """The two ways in which a command leads to others: a command line, and the words of a program."""

    def __init__(
        self,
        read_line: Callable[[str, ShellState], Effects],
        apply_effects: Callable[[Command, list[Argument]], None],
    ) -> None:
        self.read_line = read_line
        self.apply_effects = apply_effects


class Command:
    """A simple command while its effects are collected."""

    def __init__(self, state: ShellState, reader: Reader, *, piped: bool = False) -> None:
        self.state = state
        self._reader = reader
        self.effects = Effects()
        #: Whether its input comes from another command.
        self.piped = piped
        #: How many programs run each other.
        self.depth = 0
        #: The text of its here-document.
        self.body = ""
        self.has_body = False
        #: The number of its input lines that it passes on at most.
        self.passes: int | None = None

    def path(self, arg: Argument) -> str | None:
        """Return a name relative to where the line runs, or None if that is not known."""
        absolute = arg.text.startswith(("/", "~"))
        if not arg.is_known or (self.state.folder is None and not absolute):
            self.effects.give_up(RUN_TIME_NAME)
            return None
        return arg.text if absolute or not self.state.folder else os.path.join(self.state.folder, arg.text)

    def is_folder(self, arg: Argument) -> bool:
        """Return whether a name is that of a folder."""
        path = self.path(arg)
        return path is not None and (path.endswith("/") or self.state.exists(path, "folder"))

    def read(self, arg: Argument, lines: int | None = None, first: int = 1) -> None:
        """Add a file that it shows."""
        if arg.is_many:
            self.search(Argument("."), lines=lines)
        elif arg.text != "-" and (path := self.path(arg)) is not None:
            self.effects.reads.append((path, lines, first))

    def write(self, arg: Argument, *, whole: bool = False) -> None:
        """Add a file or folder that it changes; with `whole`, a folder together with all that it contains."""
        path = self.path(Argument(".") if arg.is_many else arg)
        if path is None or path == "-":
            return
        paths = [path]
        if not arg.text.startswith(("/", "~")):
            name = "." if arg.is_many else arg.text
            paths += [os.path.join(other, name) for other in self.state.others]
        self.effects.writes += paths
        if whole:
            self.effects.removes += paths

    def search(self, root: Argument, glob: str = "", pattern: str | None = "", lines: int | None = None) -> None:
        """Add a search of files. With the pattern None, it only lists them."""
        path = self.path(root)
        if path is not None:
            self.effects.searches.append((path, glob, pattern, lines))

    def run(self, text: str) -> None:
        """Add the effects of another command line."""
        self.effects.add(self._reader.read_line(text, self.state.copy()))

    def run_here(self, text: str) -> None:
        """Add the effects of a command line that runs in this shell, with its folder and variables."""
        state = self.state.copy()
        self.effects.add(self._reader.read_line(text, state))
        self.state.folder, self.state.others, self.state.variables = state.folder, state.others, state.variables

    def run_program(self, args: list[Argument]) -> None:
        """Add the effects of the program that these words start."""
        self._reader.apply_effects(self, args)

    def check_variable(self, name: str, value: str) -> None:
        """Give up if this value of a variable decides which programs run."""
        if name == "PATH":
            decides = any(is_open(folder) for folder in value.split(":") if folder)
        elif name == "NODE_OPTIONS":
            decides = any(word in value for word in ("require", "import", "loader", "-r"))
        else:
            decides = name in _DECIDING or name.startswith(_DECIDING_STARTS) or name.endswith(_DECIDING_ENDS)
            is_harmless = value in _HARMLESS and name.endswith(("PAGER", "EDITOR", "VISUAL"))
            decides = decides and not is_harmless and name not in _PLAIN
        if decides:
            self.effects.give_up("a variable changes what programs do", name[:40])


def is_open(folder: str) -> bool:
    """Return whether the project or any user may put programs into a folder of PATH."""
    if folder.endswith(INSTALLED_FOLDERS):
        return False
    return not folder.startswith(("/", "~")) or folder.startswith(("/tmp", "/var/tmp", "/dev/shm", "/proc"))  # noqa: S108 - only compared with
