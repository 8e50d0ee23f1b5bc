"""The words of a command line as the shell would hand them on: braces, variables, and the folder where they count."""

from __future__ import annotations

import os

from remit.globs import expand_braces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.shell.effects import Effects

#: More values of a variable, or combinations of them, are not looked through.
MAX_CHOICES = 16
#: Into how many words one may be expanded.
_MOST_WORDS = 64
#: Each names a program, or something that programs load.
_RUNNING_TEXT = """
    LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND SHELLOPTS PYTHONSTARTUP
    PERL5OPT PERL5LIB RUBYOPT GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EXEC_PATH GIT_PROXY_COMMAND
    GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR PAGER EDITOR VISUAL MANPAGER LESSOPEN NODE_OPTIONS
"""
_RUNNING = frozenset(_RUNNING_TEXT.split())
#: Values of them that run nothing of anybody's.
_PLAIN = frozenset({"", "true", ":", "cat", "less"})
#: Folders of installed programs below a project.
_INSTALLED = ("node_modules/.bin", "venv/bin")


class Word:
    """A word as a list of pieces (kind, text, quoted).

    Kinds: `text`; `variable`, by its name; `device`, a process substitution; `unknown`, the source of any other
    expansion. Quoted text has no wildcards.
    """

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str, bool]] = []

    def add(self, kind: str, text: str, *, quoted: bool) -> None:
        """Append a piece."""
        if self.pieces and kind == "text" and self.pieces[-1][0] == "text" and self.pieces[-1][2] == quoted:
            text = self.pieces.pop()[1] + text
        self.pieces.append((kind, text, quoted))

    @property
    def plain(self) -> str | None:
        """Its text, or None if it has an expansion."""
        return (
            "".join(text for _, text, _ in self.pieces) if all(kind == "text" for kind, _, _ in self.pieces) else None
        )

    @property
    def bare(self) -> str | None:
        """Its text if no part is quoted or expanded. Only such a word can be a reserved word."""
        return self.plain if not any(quoted for _, _, quoted in self.pieces) else None

    @property
    def text(self) -> str:
        """Its text without quotes. Expansions are as in the source."""
        return "".join("$" + text if kind == "variable" else text for kind, text, _ in self.pieces)


class Token:
    """A word, an operator, or a redirection with its target."""

    __slots__ = ("body", "descriptor", "inner", "kind", "target", "text", "word")

    def __init__(self, kind: str, text: str = "", word: Word | None = None) -> None:
        self.kind = kind
        self.text = text
        self.word = word
        self.target: Word | None = None
        #: The text of a here-document.
        self.body = ""
        #: The number before a redirection, or nothing.
        self.descriptor = ""
        #: The command lines of its substitutions.
        self.inner: list[str] = []


class Argument:
    """A word of a command when it runs: its text, whether it is known, and whether it stands for many files."""

    __slots__ = ("known", "many", "text")

    def __init__(self, text: str, *, known: bool = True, many: bool = False) -> None:
        self.text = text
        self.known = known
        self.many = many


class ShellState:
    """Where commands run: the folder relative to the start (None: not known) and the variables that are known."""

    def __init__(self, start: str, folder: str | None = "", depth: int = 0) -> None:
        self.start = start
        self.folder = folder
        #: Where commands run instead if an earlier `cd` was not made, or failed.
        self.others: list[str] = []
        self.depth = depth
        self.variables: dict[str, list[str]] = {}

    def copy(self) -> ShellState:
        """A subshell's own."""
        other = ShellState(self.start, self.folder, self.depth + 1)
        other.variables = dict(self.variables)
        other.others = list(self.others)
        return other

    def move(self, folder: str | None, target: str = "") -> None:
        """Go to a folder; `target` is how that was named."""
        moved = [os.path.join(other, target) for other in self.others]
        self.others = list(dict.fromkeys([*self.others, *moved]))
        self.folder = folder if len(self.others) <= MAX_CHOICES else None

    def assign(self, name: str, values: list[str]) -> None:
        """A variable gets one of these values (none: it is not known), or keeps what it may have had: whether this
        part of the line runs is not known."""
        before = self.variables.get(name, values)
        both = list(dict.fromkeys([*before, *values])) if before and values else []
        self.variables[name] = both if len(both) <= MAX_CHOICES else []


def bindings(words: list[Word | None], state: ShellState) -> list[dict[str, str]]:
    """Return the combinations of values of the variables in some words, at most one more than `MAX_CHOICES`."""
    used = {text for word in words if word is not None for kind, text, _ in word.pieces if kind == "variable"}
    found: list[dict[str, str]] = [{}]
    for name in sorted(used):
        values = state.variables.get(name, [])
        if len(values) > 1:
            found = [{**one, name: value} for one in found for value in values][: MAX_CHOICES + 1]
    return found


def expand(word: Word, state: ShellState) -> list[Argument]:
    """A word as the shell would hand it on: several, where braces or its variables have several values."""
    choices = [""]
    # Braces that open in one piece and close in another are not seen through.
    known = not any(text.count("{") > text.count("}") for kind, text, quoted in word.pieces[:-1] if not quoted)
    for kind, text, quoted in word.pieces:
        if kind == "text":
            values = expand_braces(text) if not quoted and "{" in text else [text]
        elif kind == "device":
            values = ["/dev/fd/63"]
        elif kind == "variable" and text in ("HOME", "PWD", "TMPDIR") and text not in state.variables:
            values = [{"HOME": "~", "PWD": ".", "TMPDIR": "/tmp"}[text]]  # noqa: S108 - what the shell would put there
        else:
            values = state.variables.get(text, []) if kind == "variable" else []
        known = known and bool(values)
        choices = [choice + value for choice in choices for value in values or [""]]
        if len(choices) > _MOST_WORDS:
            choices, known = choices[:1], False
    return [Argument(choice, known=known) for choice in choices]


def record_variable(effects: Effects, name: str, value: str) -> None:
    """Say that nothing can be told of a line in which such a variable gets another value."""
    if name == "PATH":
        changed = any(_is_open(folder) for folder in value.split(":") if folder)
    elif name == "NODE_OPTIONS":
        changed = any(word in value for word in ("require", "import", "loader", "-r"))
    else:
        changed = (name in _RUNNING or name.startswith("GIT_CONFIG")) and value not in _PLAIN
    if changed:
        effects.give_up("a variable decides which programs run")


def _is_open(folder: str) -> bool:
    """Whether somebody who may write there could put a program of any name into it."""
    if folder.endswith(_INSTALLED):
        return False
    return not folder.startswith(("/", "~")) or folder.startswith(("/tmp", "/var/tmp", "/dev/shm", "/proc"))  # noqa: S108 - only compared with
