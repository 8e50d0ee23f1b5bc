"""The words of a command line: as written, and as the shell passes them to a program."""

from __future__ import annotations

import os

from remit.globs import MAX_PATH_LENGTH, brace_alternatives

#: More values of a variable, or combinations of values, are not considered.
MAX_CHOICES = 16
#: Into how many words one word may be expanded.
_MAX_WORDS = 64
#: Substitutions whose value is a new name in the folder for temporary files.
_TEMPORARY = frozenset({"$(mktemp)", "$(mktemp -d)", "$(mktemp -t)", "$(mktemp -q)", "$(mktemp -u)"})
_SCRATCH = "/tmp/tmp.remit"  # noqa: S108 - what the shell would put there

#: The signs of a calculation without variables.
_NUMBERS = frozenset(" \t\n0123456789+-*/%<>=!&|^~?:,()")


class Word:
    """A word as a list of pieces (kind, text, quoted).

    Kinds: `text`; `variable`, by its name; `device`, a process substitution; `unknown`, the source of any other
    expansion. Quoted text has no wildcards.
    """

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
        if len(self.pieces) == 1:  # nearly all words
            kind, text, _ = self.pieces[0]
            return text if kind == "text" else None
        return (
            "".join(text for _, text, _ in self.pieces) if all(kind == "text" for kind, _, _ in self.pieces) else None
        )

    @property
    def bare(self) -> str | None:
        """Its text if no part is quoted or expanded. Only such a word can be a reserved word."""
        for piece in self.pieces:
            if piece[2]:
                return None
        return self.plain

    @property
    def text(self) -> str:
        """Its text without quotes. Expansions are as in the source."""
        return "".join("$" + text if kind == "variable" else text for kind, text, _ in self.pieces)

    @property
    def calculates(self) -> bool:
        """Whether an expansion evaluates the value of a variable: a value such as `a[$(command)]` runs a command."""
        return any(kind == "unknown" and _evaluates(text) for kind, text, _ in self.pieces)


def _evaluates(source: str) -> bool:
    """Return whether an expansion is arithmetic with a variable, an indirect reference, a subscript or an offset."""
    if source.startswith("$(("):
        return not _NUMBERS.issuperset(source[3:-2])
    if not source.startswith("${"):
        return source == "$["
    name, _, offset = source[2:-1].partition(":")
    is_subscript = "[" in name and name[-3:] not in ("[@]", "[*]")
    return name.startswith("!") or is_subscript or (offset[:1] not in tuple("-=+?") and not _NUMBERS.issuperset(offset))


class Token:
    """A word, an operator, or a redirection with its target."""

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
    """A word when its command runs: its text, whether that is known, and whether it is many files."""

    def __init__(self, text: str, *, is_known: bool = True, is_many: bool = False) -> None:
        self.text = text
        self.is_known = is_known
        self.is_many = is_many


#: The questions about files that decide what a line does.
_QUESTIONS = {"folder": os.path.isdir, "file": os.path.isfile, "any": os.path.lexists}


class ShellState:
    """The folder of a shell, relative to where the line runs (None: not known), and the variables it has set."""

    def __init__(self, start: str, folder: str | None = "", depth: int = 0) -> None:
        self.start = start
        self.folder = folder
        #: Where commands run if an earlier `cd` failed or did not run.
        self.others: list[str] = []
        #: How many command lines this one is nested in.
        self.depth = depth
        #: Name -> its possible values; no values if they are not known.
        self.variables: dict[str, list[str]] = {}
        #: Functions that the line defines. Their bodies are read where they are defined.
        self.functions: set[str] = set()

    def exists(self, path: str, kind: str = "any") -> bool:
        """Return whether there is a "file", a "folder" or "any" of them at a path from where the line runs."""
        return _QUESTIONS[kind](os.path.join(self.start, path))

    def copy(self) -> ShellState:
        """Return the state of a subshell."""
        other = ShellState(self.start, self.folder, self.depth + 1)
        other.variables = dict(self.variables)
        other.functions = set(self.functions)
        other.others = list(self.others)
        return other

    def move(self, folder: str | None, target: str = "") -> None:
        """Change the folder; `target` is the argument of `cd`."""
        moved = [os.path.join(other, target) for other in self.others]
        self.others = list(dict.fromkeys([*self.others, *moved]))[: MAX_CHOICES + 1]
        is_known = len(self.others) <= MAX_CHOICES and len(folder or "") <= MAX_PATH_LENGTH
        self.folder = folder if is_known else None

    def assign(self, name: str, values: list[str]) -> None:
        """Add possible values of a variable (none: not known). The old ones stay: this part may not run."""
        before = self.variables.get(name, values)
        both = list(dict.fromkeys([*before, *values])) if before and values else []
        self.variables[name] = both if len(both) <= MAX_CHOICES else []


def bindings(words: list[Word | None], state: ShellState) -> list[dict[str, str]]:
    """Return the combinations of values of the variables in some words, at most one more than `MAX_CHOICES`."""
    used = {text for word in words if word is not None for kind, text, _ in word.pieces if kind == "variable"}
    choices: list[dict[str, str]] = [{}]
    for name in sorted(used):
        values = state.variables.get(name, [])
        if len(values) > 1:
            choices = [{**choice, name: value} for choice in choices for value in values][: MAX_CHOICES + 1]
    return choices


def _has_range(text: str) -> bool:
    """Return whether a text has braces with a range, such as `{1..3}`."""
    _, opening, rest = text.partition("{")
    return bool(opening) and ".." in rest.rpartition("}")[0]


def expand(word: Word, state: ShellState) -> list[Argument]:
    """Return the arguments that a word becomes: several if it has braces or a variable with several values."""
    choices = [""]
    # Braces that open in one piece and close in another are not expanded, nor are ranges.
    is_known = not any(_has_range(text) for kind, text, quoted in word.pieces if not quoted) and not any(
        text.count("{") > text.count("}") for kind, text, quoted in word.pieces[:-1] if not quoted
    )
    for kind, text, quoted in word.pieces:
        if kind == "text":
            has_braces = not quoted and "{" in text
            values = brace_alternatives(text, _MAX_WORDS + 1) if has_braces else [text]
            is_known = is_known and not (has_braces and len(text) > MAX_PATH_LENGTH)
        elif kind == "device":
            values = ["/dev/fd/63"]
        elif kind == "variable" and text in ("HOME", "PWD", "TMPDIR") and text not in state.variables:
            values = [{"HOME": "~", "PWD": ".", "TMPDIR": "/tmp"}[text]]  # noqa: S108 - what the shell would put there
        else:
            values = state.variables.get(text, []) if kind == "variable" else [_SCRATCH] if text in _TEMPORARY else []
        is_known = is_known and bool(values)
        choices = [choice + value for choice in choices for value in values or [""]]
        if len(choices) > _MAX_WORDS:
            choices, is_known = choices[:1], False
    return [Argument(choice, is_known=is_known) for choice in choices]
