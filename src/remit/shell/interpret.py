"""Reads a command line: which commands run, in which folder, with which names, and where their output goes."""

from __future__ import annotations

import os

from remit.shell.command import Command, Reader
from remit.shell.effects import Effects
from remit.shell.lexer import Lexer, NotShell, Token, Word
from remit.shell.programs.table import apply_effects
from remit.shell.words import MOST_CHOICES, Argument, ShellState, bindings, expand, record_variable

#: Longer lines, deeper nesting and more commands than these are not understood.
_LONGEST, _DEEPEST, _MOST = 100_000, 6, 400
_KEYWORDS_TEXT = """
    if then else elif fi do done while until { } ! time
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
_OPENING = frozenset({"if", "while", "until"})
_CLOSING = frozenset({"fi", "done"})
_BEYOND_US_TEXT = """
    case select function coproc esac
"""
_BEYOND_US = frozenset(_BEYOND_US_TEXT.split())


def read_command(text: str, cwd: str = "") -> Effects:
    """What a command line reads and writes. It does not run anything, and never raises."""
    return _read(text, ShellState(cwd))


def _read(text: str, place: ShellState) -> Effects:
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
    if len(lexer.inner) > _MOST:
        effects.give_up("it has more substitutions than can be looked through")
        return effects
    line = _Line(place, effects)
    line.run(tokens)
    line.substitute([token for token in tokens if not token.is_walked])
    return effects


class _Line:
    """Walks the tokens of a line, one pipeline after the other."""

    def __init__(self, place: ShellState, effects: Effects) -> None:
        self.place = place
        self.effects = effects
        #: How many loops and conditions are open.
        self.blocks = 0
        #: Whether the command comes first in its list, and so runs in any case.
        self.is_first = True
        #: Folders that were left by a `cd` that may not be made.
        self.left: list[str] = []
        #: Such folders of the open block.
        self.left_in_block: list[str] = []

    def run(self, tokens: list[Token]) -> None:
        pipeline: list[Effects] = []
        part: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.kind == "operator" and token.text == "(":
                at = self._bracket(tokens, at, part, pipeline)
            elif token.kind == "operator":
                piped = token.text in ("|", "|&")
                self._end(part, pipeline, piped=piped, alone=token.text not in ("|", "|&", "&"))
                part = []
                self._follow(token.text)
            else:
                part.append(token)
            at += 1
        self._end(part, pipeline, piped=False)

    def substitute(self, part: list[Token]) -> None:
        """Read the substitutions of a command: they run before it, in the folder and with the names of this moment."""
        for token in part:
            token.is_walked = True
            for inner in token.inner:
                self.effects.add(_read(inner, self.place.copy()))

    def _follow(self, operator: str) -> None:
        """After a list of commands, or a block, it is not known whether all of it ran."""
        self.is_first = operator not in ("&&", "|", "|&")
        if self.is_first:
            self.place.others += [folder for folder in self.left if folder not in self.place.others]
            self.left = []
        if not self.blocks:
            self.place.others += [folder for folder in self.left_in_block if folder not in self.place.others]
            self.left_in_block = []

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

    def _end(self, part: list[Token], pipeline: list[Effects], *, piped: bool, alone: bool = True) -> None:
        """A command ends, and with it perhaps its pipeline."""
        if part:
            folder = self.place.folder
            command = self._command(part, piped=bool(pipeline))
            if folder is not None and self.place.folder not in (folder, None):
                there = os.path.isdir(os.path.join(self.place.start, str(self.place.folder)))
                if not (self.is_first and there and alone and not pipeline):
                    self.left.append(folder)
                if self.blocks:
                    self.left_in_block.append(folder)
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
        """A command, once for each combination of values that its variables may have."""
        self.substitute(part)
        whole = Command(self.place, _READER, piped=piped)
        bound = bindings(part, self.place)
        if len(bound) > MOST_CHOICES:
            whole.effects.give_up("a name of a file is made at run time")
            bound = [{}]
        if len(bound) == 1:
            return self.once(part, whole)
        limits: list[int | None] = []
        folders = set()
        for binding in bound:
            place = self.place.copy()
            place.depth = self.place.depth
            place.variables.update({name: [value] for name, value in binding.items()})
            one = _Line(place, self.effects).once(part, Command(place, _READER, piped=piped))
            whole.effects.add(one.effects)
            limits.append(one.passes)
            folders.add(place.folder)
            for name, values in place.variables.items():
                if name not in binding and values != self.place.variables.get(name):
                    self.place.assign(name, values)
        self.place.folder = folders.pop() if len(folders) == 1 else None
        counted = [limit for limit in limits if limit is not None]
        whole.passes = max(counted) if len(counted) == len(limits) else None
        return whole

    def once(self, part: list[Token], command: Command) -> Command:
        """Tell what a command does, with what is known of its variables."""
        words = [token.word for token in part if token.word is not None]
        keyword = words[0].bare if words else None
        while keyword in _KEYWORDS:
            self.blocks += (keyword in _OPENING) - (keyword in _CLOSING)
            words.pop(0)
            keyword = words[0].bare if words else None
        for token in part:
            if token.kind == "redirection":
                self._redirect(command, token)
        if keyword in _BEYOND_US:
            command.effects.give_up(f"it has a `{keyword}`")
        elif keyword == "for":
            self.blocks += 1
            self._loop(words)
        else:
            args = [arg for word in self._assignments(command, words) for arg in expand(word, self.place)]
            command.run_program(args)
        return command

    def _redirect(self, command: Command, token: Token) -> None:
        for arg in expand(token.target, self.place) if token.target is not None else [Argument("", known=False)]:
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
            known = all(arg.known for arg in args) and 0 < len(args) <= MOST_CHOICES
            self.place.assign(name, [arg.text for arg in args] if known else [])

    def _assignments(self, command: Command, words: list[Word]) -> list[Word]:
        """The words after `A=b`; alone on a line such a variable is known from then on."""
        at = 0
        found: dict[str, list[str]] = {}
        while at < len(words) and words[at].pieces[0][0] == "text" and not words[at].pieces[0][2]:
            name, sign, _ = words[at].pieces[0][1].partition("=")
            if not sign or not name.rstrip("+").isidentifier():
                break
            args = expand(words[at], self.place)
            known = len(args) == 1 and args[0].known and not name.endswith("+")
            record_variable(command.effects, name.rstrip("+"), args[0].text.partition("=")[2])
            found[name.rstrip("+")] = [args[0].text.partition("=")[2]] if known else []
            at += 1
        for name, values in found.items() if at == len(words) else ():
            self.place.assign(name, values)
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


_READER = Reader(_read, apply_effects)
