"""Reads a command line: which commands run, in which folder, with which names, and where their output goes."""

# ruff: noqa: PTH118
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

from remit.gate.effects import Effects
from remit.gate.lexer import Lexer, NotShell, Token, Word

#: Longer lines, deeper nesting and more commands than these are not understood.
_LONGEST, _DEEPEST, _MOST = 100_000, 6, 400
_KEYWORDS_TEXT = """
    if then else elif fi do done while until { } ! time
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
_BEYOND_US_TEXT = """
    case select function coproc esac
"""
_BEYOND_US = frozenset(_BEYOND_US_TEXT.split())
_MOST_CHOICES = 16


class Arg:
    """A word of a command when it runs: its text, whether it is known, and whether it stands for many files."""

    __slots__ = ("known", "many", "text")

    def __init__(self, text: str, *, known: bool = True, many: bool = False) -> None:
        self.text = text
        self.known = known
        self.many = many


class Place:
    """Where commands run: the folder relative to the start (None: not known) and the variables that are known."""

    def __init__(self, start: str, folder: str | None = "", depth: int = 0) -> None:
        self.start = start
        self.folder = folder
        self.depth = depth
        self.variables: dict[str, list[str]] = {}

    def copy(self) -> Place:
        """A subshell's own."""
        other = Place(self.start, self.folder, self.depth + 1)
        other.variables = dict(self.variables)
        return other


class Command:
    """A simple command while its effects are told."""

    def __init__(self, place: Place, *, piped: bool = False) -> None:
        self.place = place
        self.effects = Effects()
        #: Whether its input comes from another command.
        self.piped = piped
        self.body = ""
        self.has_body = False
        #: It passes on at most so many of the lines that it is given.
        self.passes: int | None = None

    def path(self, arg: Arg) -> str | None:
        """A name as seen from where the line began; None if that cannot be told."""
        absolute = arg.text.startswith(("/", "~"))
        if not arg.known or (self.place.folder is None and not absolute):
            self.effects.give_up("a name of a file is made at run time")
            return None
        return arg.text if absolute or not self.place.folder else os.path.join(self.place.folder, arg.text)

    def read(self, arg: Arg, lines: int | None = None, first: int = 1) -> None:
        """It shows a file."""
        if arg.many:
            self.search(Arg("."), lines=lines)
        elif arg.text != "-" and (path := self.path(arg)) is not None:
            self.effects.reads.append((path, lines, first))

    def write(self, arg: Arg) -> None:
        """It changes a file, or something in a folder."""
        path = self.path(Arg(".") if arg.many else arg)
        if path is not None and path != "-":
            self.effects.writes.append(path)

    def search(self, root: Arg, glob: str = "", pattern: str | None = "", lines: int | None = None) -> None:
        """It looks through files; with the pattern None it only lists them."""
        path = self.path(root)
        if path is not None:
            self.effects.searches.append((path, glob, pattern, lines))

    def run(self, text: str) -> None:
        """It runs another command line."""
        inside = self.place.copy()
        self.effects.add(_read(text, inside))

    def is_folder(self, arg: Arg) -> bool:
        """Whether a name is a folder's."""
        path = self.path(arg)
        return path is not None and (path.endswith("/") or os.path.isdir(os.path.join(self.place.start, path)))  # noqa: PTH112


def read_command(text: str, cwd: str = "") -> Effects:
    """What a command line reads and writes. It does not run anything, and never raises."""
    return _read(text, Place(cwd))


def _read(text: str, place: Place) -> Effects:
    effects = Effects()
    if len(text) > _LONGEST or place.depth > _DEEPEST:
        effects.give_up("it is too long or too deeply nested")
        return effects
    try:
        lexer = Lexer(text)
        tokens = lexer.tokens()
    except (NotShell, RecursionError):
        effects.give_up("a quote or bracket has no end, or it is too long")
        return effects
    _Line(place, effects).run(tokens)
    for inner in lexer.inner[:_MOST]:
        effects.add(_read(inner, place.copy()))
    return effects


class _Line:
    """Walks the tokens of a line, one pipeline after the other."""

    def __init__(self, place: Place, effects: Effects) -> None:
        self.place = place
        self.effects = effects

    def run(self, tokens: list[Token]) -> None:
        pipeline: list[Effects] = []
        part: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.kind == "operator" and token.text == "(":
                at = self._bracket(tokens, at, part, pipeline)
            elif token.kind == "operator":
                self._end(part, pipeline, piped=token.text in ("|", "|&"))
                part = []
            else:
                part.append(token)
            at += 1
        self._end(part, pipeline, piped=False)

    def _bracket(self, tokens: list[Token], at: int, part: list[Token], pipeline: list[Effects]) -> int:
        """A subshell, or the brackets of a function's name; where it ends."""
        depth, end = 0, at
        for end in range(at, len(tokens)):
            text = tokens[end].text if tokens[end].kind == "operator" else ""
            depth += (text == "(") - (text == ")")
            if depth == 0:
                break
        if depth:
            self.effects.give_up("a quote or bracket has no end")
            return len(tokens)
        if part and end == at + 1:
            part.clear()  # name(): its body follows, and is read where it stands
        elif part and any(token.word is None or token.word.bare not in _KEYWORDS for token in part):
            self.effects.give_up("a bracket stands where none is expected")
        else:
            inside = Effects()
            _Line(self.place.copy(), inside).run(tokens[at + 1 : end])
            pipeline.append(inside)
        return end

    def _end(self, part: list[Token], pipeline: list[Effects], *, piped: bool) -> None:
        """A command ends, and with it perhaps its pipeline."""
        if part:
            command = self._command(part, piped=bool(pipeline))
            for earlier in pipeline:
                if command.passes is not None:
                    earlier.cap(command.passes)
            pipeline.append(command.effects)
            shown = any(_is_shown(path) for stage in pipeline for path in stage.writes)
            if _goes_to_file(part) and not shown:
                for stage in pipeline:
                    stage.hide()
        if not piped:
            for stage in pipeline:
                self.effects.add(stage)
            pipeline.clear()

    def _command(self, part: list[Token], *, piped: bool) -> Command:
        from remit.gate.programs import tell  # late: a part of its own that needs this one

        command = Command(self.place, piped=piped)
        words = [token.word for token in part if token.word is not None]
        keyword = words[0].bare if words else None
        while keyword in _KEYWORDS:
            words.pop(0)
            keyword = words[0].bare if words else None
        for token in part:
            if token.kind == "redirection":
                self._redirect(command, token)
        if keyword in _BEYOND_US:
            command.effects.give_up(f"it has a `{keyword}`")
        elif keyword == "for":
            self._loop(words)
        else:
            args = [arg for word in self._assignments(words) for arg in expand(word, self.place)]
            tell(command, args)
        return command

    def _redirect(self, command: Command, token: Token) -> None:
        arg = expand(token.target, self.place)[0] if token.target is not None else Arg("", known=False)
        if token.text in ("<<", "<<-"):
            command.body, command.has_body = token.body, True
        elif token.text == "<<<":
            command.body, command.has_body = arg.text, arg.known
        elif token.text == "<":
            command.piped = True
            command.read(arg)
        elif not (token.text in (">&", "<&") and (arg.text.isdecimal() or arg.text in ("-", ""))):
            command.write(arg)

    def _loop(self, words: list[Word]) -> None:
        name = words[1].plain if len(words) > 1 else None
        args = [arg for word in words[3:] for arg in expand(word, self.place)]
        if name:
            known = all(arg.known for arg in args) and 0 < len(args) <= _MOST_CHOICES
            self.place.variables[name] = [arg.text for arg in args] if known else []

    def _assignments(self, words: list[Word]) -> list[Word]:
        """The words after `A=b`; alone on a line such a variable is known from then on."""
        at = 0
        found: dict[str, list[str]] = {}
        while at < len(words) and words[at].pieces[0][0] == "text" and not words[at].pieces[0][2]:
            name, sign, _ = words[at].pieces[0][1].partition("=")
            if not sign or not name.rstrip("+").isidentifier():
                break
            args = expand(words[at], self.place)
            known = len(args) == 1 and args[0].known and not name.endswith("+")
            found[name.rstrip("+")] = [args[0].text.partition("=")[2]] if known else []
            at += 1
        if at == len(words):
            self.place.variables.update(found)
        return words[at:]


def _goes_to_file(part: list[Token]) -> bool:
    """Whether the output goes to a file, and surely not to the reader."""
    for token in part:
        if token.kind != "redirection" or token.target is None or token.descriptor not in ("", "1"):
            continue
        if token.text in (">", ">>", ">|", "&>", "&>>"):
            name = token.target.plain
            return name is not None and not _is_shown(name)
    return False


def _is_shown(name: str) -> bool:
    return name.startswith(("/dev/", "/proc/")) and name != "/dev/null"


def expand(word: Word, place: Place) -> list[Arg]:
    """A word as the shell would hand it on, once for each value that its variables may have."""
    choices = [""]
    known = True
    for kind, text, _ in word.pieces:
        if kind == "text":
            values = [text]
        elif kind == "device":
            values = ["/dev/fd/63"]
        elif kind == "variable" and text in ("HOME", "PWD", "TMPDIR") and text not in place.variables:
            values = [{"HOME": "~", "PWD": ".", "TMPDIR": "/tmp"}[text]]  # noqa: S108 - what the shell would put there
        else:
            values = place.variables.get(text, []) if kind == "variable" else []
        known = known and bool(values)
        choices = [choice + value for choice in choices for value in values or [""]][:_MOST_CHOICES]
    return [Arg(choice, known=known) for choice in choices]
