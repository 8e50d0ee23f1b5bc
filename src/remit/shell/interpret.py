"""Work out what a command line does: its commands, their folder, their arguments and where their output goes."""

from __future__ import annotations

from remit.shell.command import CALCULATES, RUN_TIME_NAME, Command, Effects, Reader
from remit.shell.programs.table import apply_effects, is_program
from remit.shell.reading_time import READING, NotShell
from remit.shell.syntax import Node, parse
from remit.shell.words import MAX_CHOICES, Argument, ShellState, Token, Word, bindings, expand

#: How deep command lines may be nested in others.
_MAX_DEPTH = 6
_OPENING = frozenset({"if", "while", "until", "case"})
_CLOSING = frozenset({"fi", "done", "esac"})
_PIPES = ("|", "|&")


def read_command(text: str, cwd: str = "") -> Effects:
    """Return what a command line reads, writes and runs. Runs nothing and never raises.

    A line that needs more than a number of steps is not understood; what was found until then is kept.
    """
    effects = Effects()
    READING.start()
    try:
        _read_into(effects, text, ShellState(cwd))
    except (NotShell, RecursionError):
        effects.give_up("it takes too long to read, or is nested too deeply")
    finally:
        READING.stop()
    return effects


def _read(text: str, state: ShellState) -> Effects:
    effects = Effects()
    _read_into(effects, text, state)
    return effects


def _read_into(effects: Effects, text: str, state: ShellState) -> None:
    if state.depth > _MAX_DEPTH:
        effects.give_up("it is too deeply nested")
        return
    script = parse(text)
    if script.problem:
        effects.give_up(script.problem)
    _Line(state, effects).run(script.nodes)


class _Line:
    """Walks the commands of a line, one pipeline after the other."""

    def __init__(self, state: ShellState, effects: Effects) -> None:
        self.state = state
        self.effects = effects
        #: The number of open loops and conditions.
        self.blocks = 0
        #: Whether the command is the first of its list, and so runs in any case.
        self.is_first = True
        #: Folders left by a `cd` that may fail or not run.
        self.left: list[str] = []
        #: The same for the open block.
        self.left_in_block: list[str] = []

    def run(self, nodes: list[Node]) -> None:
        pipeline: list[Effects] = []
        for number, node in enumerate(nodes):
            if number:
                self._follow(node.operator)
            self.blocks += sum((word in _OPENING) - (word in _CLOSING) for word in node.keywords)
            self.blocks += node.keyword == "for"
            if node.body is not None:
                inside, state = Effects(), self.state.copy()
                _Line(state, inside).run(node.body)
                pipeline.append(inside)
                if node.is_function:
                    self._define(state, node.name)
            if node.words or node.redirections or node.substitutions:
                self._end(node, pipeline)
            if node.terminator not in _PIPES:
                for stage in pipeline:
                    self.effects.add(stage)
                pipeline.clear()
        for stage in pipeline:
            self.effects.add(stage)

    def _define(self, after: ShellState, function: str) -> None:
        """A function was defined: a later call may leave the folder and the variables as its body does."""
        if is_program(function):
            self.effects.give_up("a function replaces a program")
        self.state.functions.add(function)
        if after.folder is None:
            self.state.folder = None
        elif after.folder != self.state.folder and after.folder not in self.state.others:
            self.state.others.append(after.folder)
        for name, values in after.variables.items():
            if values != self.state.variables.get(name):
                self.state.assign(name, values)

    def _follow(self, operator: str) -> None:
        """After a list or a block, record the folders of which it is not certain that they were left."""
        self.is_first = operator not in ("&&", *_PIPES)
        if self.is_first:
            self.state.others += [folder for folder in self.left if folder not in self.state.others]
            self.left = []
        if not self.blocks:
            self.state.others += [folder for folder in self.left_in_block if folder not in self.state.others]
            self.left_in_block = []

    def _end(self, node: Node, pipeline: list[Effects]) -> None:
        """Add a command to its pipeline."""
        folder = self.state.folder
        command = self._command(node, piped=bool(pipeline))
        moved = self.state.folder
        if moved != folder and (pipeline or node.terminator in (*_PIPES, "&")):
            # A part of a pipeline and a background command run in a subshell, but zsh runs the last part in the shell.
            self.state.folder = folder if moved is not None else None
            if moved is not None and moved not in self.state.others:
                self.state.others.append(moved)
        elif folder is not None and moved not in (folder, None):
            exists = self.state.exists(str(moved), "folder")
            if not (self.is_first and exists):
                self.left.append(folder)
            if self.blocks:
                self.left_in_block.append(folder)
        if command.passes is not None:
            for earlier in pipeline:
                earlier.cap(command.passes)
        pipeline.append(command.effects)
        if _goes_to_file(node.redirections) and not any(_is_shown(path) for stage in pipeline for path in stage.writes):
            for stage in pipeline:
                stage.hide()

    def _command(self, node: Node, *, piped: bool) -> Command:
        """Read a command, once for each combination of values that its variables may have."""
        for line in node.substitutions:  # they run before it, in the same folder and with the same variables
            self.effects.add(_read(line, self.state.copy()))
        whole = Command(self.state, _READER, piped=piped)
        bound = bindings([*node.words, *(token.target for token in node.redirections)], self.state)
        if len(bound) > MAX_CHOICES:
            whole.effects.give_up(RUN_TIME_NAME)
            bound = [{}]
        if len(bound) == 1:
            return self.read_once(node, whole)
        limits: list[int | None] = []
        folders = set()
        for binding in bound:
            state = self.state.copy()
            state.depth = self.state.depth
            state.variables.update({name: [value] for name, value in binding.items()})
            command = _Line(state, self.effects).read_once(node, Command(state, _READER, piped=piped))
            whole.effects.add(command.effects)
            limits.append(command.passes)
            folders.add(state.folder)
            for name, values in state.variables.items():
                if name not in binding and values != self.state.variables.get(name):
                    self.state.assign(name, values)
        self.state.folder = folders.pop() if len(folders) == 1 else None
        counted = [limit for limit in limits if limit is not None]
        whole.passes = max(counted) if len(counted) == len(limits) else None
        return whole

    def read_once(self, node: Node, command: Command) -> Command:
        """Add the effects of a command to it, with one value for each of its variables."""
        READING.spend_command()
        targets = [token.target for token in node.redirections if token.target is not None]
        if any(word.calculates for word in (*node.words, *targets)):
            command.effects.give_up(CALCULATES)
        for token in node.redirections:
            self._redirect(command, token)
        if node.keyword == "for":
            self._loop(node.words)
        elif not node.keyword:
            args = [arg for word in self._assignments(command, node.words) for arg in expand(word, self.state)]
            command.run_program(args)
        return command

    def _redirect(self, command: Command, token: Token) -> None:
        for arg in expand(token.target, self.state) if token.target is not None else [Argument("", is_known=False)]:
            if token.text in ("<<", "<<-"):
                command.body, command.has_body = token.body, True
                is_quoted = token.target is not None and any(piece[2] for piece in token.target.pieces)
                if not is_quoted and ("$((" in token.body or "$[" in token.body):
                    command.effects.give_up(CALCULATES)
            elif token.text == "<<<":
                command.body, command.has_body = arg.text, arg.is_known
            elif token.text == "<":
                command.piped = True
                command.read(arg)
            elif not (token.text in (">&", "<&") and (arg.text.isdecimal() or arg.text in ("-", ""))):
                command.write(arg)

    def _loop(self, words: list[Word]) -> None:
        name = words[1].plain if len(words) > 1 else None
        args = [arg for word in words[3:] for arg in expand(word, self.state)]
        if name:
            is_known = all(arg.is_known for arg in args) and 0 < len(args) <= MAX_CHOICES
            self.state.assign(name, [arg.text for arg in args] if is_known else [])

    def _assignments(self, command: Command, words: list[Word]) -> list[Word]:
        """Return the words after assignments. Without such words, the variables get their values."""
        index = 0
        assigned: dict[str, list[str]] = {}
        while index < len(words) and words[index].pieces[0][0] == "text" and not words[index].pieces[0][2]:
            name, sign, _ = words[index].pieces[0][1].partition("=")
            if not sign or not name.rstrip("+").isidentifier():
                break
            args = expand(words[index], self.state)
            is_known = len(args) == 1 and args[0].is_known and not name.endswith("+")
            command.check_variable(name.rstrip("+"), args[0].text.partition("=")[2])
            assigned[name.rstrip("+")] = [args[0].text.partition("=")[2]] if is_known else []
            index += 1
        for name, values in assigned.items() if index == len(words) else ():
            self.state.assign(name, values)
        return words[index:]


def _goes_to_file(redirections: list[Token]) -> bool:
    """Return whether the output certainly goes to a file."""
    for token in redirections:
        if token.target is None or token.descriptor not in ("", "1"):
            continue
        if token.text in (">", ">>", ">|", "&>", "&>>"):
            name = token.target.plain
            return name is not None and not _is_shown(name)
    return False


def _is_shown(name: str) -> bool:
    return name.startswith(("/dev/", "/proc/")) and name != "/dev/null"


_READER = Reader(_read, apply_effects)
