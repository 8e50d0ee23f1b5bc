"""What the command lines of receipts show of files, and which of them only show something.

The shell package splits a line into commands; this module judges them.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from itertools import pairwise

import msgspec

from remit.evidence.model import WHOLE, Span
from remit.lazy import lazy_pattern
from remit.shell import command_list
from remit.shell.interpret import read_command
from remit.shell.programs.lists import LISTING, READERS

#: Programs that show something and change nothing: their success proves nothing.
_VIEWERS = frozenset(
    """
    [ [[ (( : ack ag awk basename bat break cat cd cmp column comm command continue cut date df diff dirname du echo
    egrep env exit export false fd fgrep file find grep head hexdump hostname id jq less ls md5sum more nl od popd
    printenv printf ps pushd pwd read readlink realpath return rg sed seq set sha1sum sha256sum shopt sleep sort
    stat strings tac tail test tr tree true type uname uniq unset wait wc which whoami xxd
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_GIT_VIEWERS = frozenset(
    {"blame", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "rev-parse", "show", "status"}
)
#: With these alone, a program describes itself and does nothing.
_INFORMATION = frozenset({"--help", "--version", "-V", "help", "version"})
#: Programs that show the content of files, and those that only use their names.
_WITH_PATTERN = frozenset({"ack", "ag", "awk", "egrep", "fgrep", "grep", "rg", "sed"})
_READERS = _WITH_PATTERN | READERS | LISTING | {"head", "tail", "tee"}
_NAME_ONLY = frozenset(
    """
    [ [[ (( basename cd chmod command dirname du echo export find ls mkdir printf pushd pwd readlink realpath rm rmdir
    stat test touch tree type which
    """.split()  # noqa: SIM905 (as above)
)
#: A folder that no machine has: the files of a record may be those of another one.
_NO_FOLDER = "\0"
_NO_FILE = frozenset({"-", "/dev/null", "/dev/stderr", "/dev/stdout", "1", "2"})

_IN_PLACE = lazy_pattern(r"^(?:-[A-Za-z]*i|--in-place)")
_SED_SPAN = lazy_pattern(r"^(\d{1,9})(?:,(\d{1,9}))?p;?$")
_HEAD_COUNT = lazy_pattern(r"^-(?:n|-lines=)?(\d{1,9})$")
_TAIL_START = lazy_pattern(r"^(?:-n|--lines=)?\+(\d{1,9})$")
#: A program that runs another one and shortens what it prints, and the programs that it does that for.
_SHORTENER = "rtk"
_SHORTENED = frozenset(
    """
    bun cargo docker dotnet eslint gh git go golangci-lint gradle make mvn mypy npm npx playwright pnpm prettier pytest
    rspec ruff tsc vitest yarn
    """.split()  # noqa: SIM905 (as above)
)
_MAX_COMMAND = 20_000
#: Characters of all different command lines of a record that are read.
MAX_READ = 2_000_000


class ReceiptCommand(msgspec.Struct, frozen=True):
    """One command of a command line."""

    #: The operator between it and the one before: `&&`, `|`, a line break.
    joined: str
    #: Without assignments, reserved words and programs that only start another; with the files of `< file`.
    words: list[str]
    #: Where it runs, relative to where the line runs; None if that is not known.
    folder: str | None
    #: The files that its output goes to.
    writes: list[str]

    @property
    def program(self) -> str:
        """The name of the program."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""

    @property
    def shows(self) -> bool:
        """Whether the program changes nothing. Redirections are not considered."""
        words, program = self.words, self.program
        if program == "git":
            return git_verb(words) in _GIT_VIEWERS | _INFORMATION
        if program == "sed":
            return not any(_IN_PLACE.match(word) for word in words)
        if program == "find":
            runs = [word for option, word in pairwise(words) if option in ("-exec", "-execdir", "-ok")]
            return "-delete" not in words and all(run.rsplit("/", 1)[-1] in _VIEWERS for run in runs)
        return program in _VIEWERS or (len(words) != 1 and all(word in _INFORMATION for word in words[1:]))


def simple_commands(command: str) -> tuple[ReceiptCommand, ...]:
    """Return the commands of a line in order, as far as it can be read."""
    return _read_line(command)[1]


class _Budget(threading.local):
    """What may still be read of the command lines of one record: it may have thousands of lines that are slow."""

    left = MAX_READ
    seen: frozenset[str] | set[str] = frozenset()


_budget = _Budget()


def start_reading() -> None:
    """Start to count the command lines of a record."""
    _budget.left, _budget.seen = MAX_READ, set()


def _may_read(command: str) -> bool:
    """Count a line once, and return whether it may be read."""
    if isinstance(_budget.seen, set) and command not in _budget.seen:
        if _budget.left < len(command[:_MAX_COMMAND]):
            return False
        _budget.left -= len(command[:_MAX_COMMAND])
        _budget.seen.add(command)
    return True


def _read_line(command: str) -> tuple[bool, tuple[ReceiptCommand, ...]]:
    """Return whether all of a line can be read, and its commands. A line that may not be read is not understood."""
    return _read_once(command) if _may_read(command) else (False, ())


@lru_cache(1_024)
def _read_once(command: str) -> tuple[bool, tuple[ReceiptCommand, ...]]:
    """Return whether all of a line can be read, and its commands."""
    is_understood, simple_commands = command_list.read_line(command[:_MAX_COMMAND])
    return is_understood, tuple(
        ReceiptCommand(
            simple.operator,
            _without_shortener(simple.words) + simple.inputs,
            simple.folder,
            [name for name in simple.outputs if name not in _NO_FILE],
        )
        for simple in simple_commands
    )


def _without_shortener(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == [_SHORTENER] and not _SHORTENED.isdisjoint(words[1:2]) else words


def join_folder(folder: str | None, name: str) -> str | None:
    """Return a name relative to where the line runs, or None if that is not known."""
    return command_list.join_folder(folder, name)


def only_reads(command: str) -> bool:
    """Return whether a line only shows things, so that its success proves nothing."""
    is_understood, commands = _read_line(command)
    return is_understood and all(simple.shows and not simple.writes for simple in commands)


def shell_reads(command: str) -> list[tuple[str, Span | None]]:
    """Return the files that a line reads, each with the lines that it shows (None: not known)."""
    shown: list[tuple[str, Span | None]] = []
    commands = simple_commands(command)
    for number, simple in enumerate(commands):
        span = None if simple.writes else _shown_lines(simple)
        for following in commands[number + 1 : number + 9]:
            if span is None or following.joined not in ("|", "|&"):
                break
            span = _narrowed(span, following)
        names = (join_folder(simple.folder, name) for name in _files(simple))
        shown.extend((name, span) for name in names if name)
    return shown


def shell_writes(command: str) -> list[str]:
    """Return the files that a line writes by a redirection, `tee`, `sed -i`, `cp`, `mv` or `touch`."""
    written: list[str | None] = []
    for simple in simple_commands(command):
        edits = simple.program == "tee" or (simple.program in ("sed", "perl") and not simple.shows)
        names = [*simple.writes, *(_files(simple) if edits else ()), *_targets(simple)]
        written.extend(join_folder(simple.folder, name) for name in names)
    return [name for name in written if name]


def changed_names(command: str) -> tuple[str, ...]:
    """Return the files and folders that a line changes, relative to where it runs, as far as it is understood.

    What code in the line may write does not count, because code is not read.
    """
    return _changed_once(command) if _may_read(command) else ()


@lru_cache(1_024)
def _changed_once(command: str) -> tuple[str, ...]:
    effects = read_command(command[:_MAX_COMMAND], _NO_FOLDER)
    names = [name for name in effects.writes if name not in _NO_FILE and name not in effects.guesses]
    undone = undone_changes(command) if "git" in command else ()
    return tuple(dict.fromkeys((*names, *(["."] if undone is None else undone))))


def shell_deletes(command: str) -> list[str]:
    """Return the files that a line deletes or moves away."""
    deleted: list[str | None] = []
    for simple in simple_commands(command):
        operands = [word for word in simple.words[1:] if not word.startswith("-")]
        if simple.program == "git" and git_verb(simple.words) in ("rm", "mv"):
            operands = operands[1:] if git_verb(simple.words) == "rm" else operands[1:-1]
        elif simple.program in ("mv", "Move-Item"):
            operands = operands[:-1]
        elif simple.program not in ("rm", "unlink", "rmdir", "trash", "shred", "del", "Remove-Item"):
            continue
        deleted += [join_folder(simple.folder, name) for name in operands]
    return [name for name in deleted if name]


def undone_changes(command: str) -> list[str] | None:
    """Return the files whose uncommitted changes a line takes back; None: of all files."""
    undone: list[str] = []
    for simple in simple_commands(command):
        if simple.program != "git":
            continue
        verb, words = git_verb(simple.words), simple.words
        operands = [word for word in words[2:] if not word.startswith("-")]
        if (verb == "reset" and "--hard" in words) or (
            verb == "stash" and (not operands or operands[0] in ("push", "save"))
        ):
            return None
        # Without `--`, an operand may be a branch, but not if it has the form of a file name.
        has_files = "--" in words or "." in operands or any("." in word.rsplit("/", 1)[-1] for word in operands)
        is_checkout = verb == "checkout" and "-b" not in words and has_files
        if is_checkout or (verb == "restore" and "--staged" not in words):
            if "." in operands:
                return None
            undone += [name for word in operands if (name := join_folder(simple.folder, word))]
    return undone


def git_verbs(command: str) -> list[str]:
    """Return the subcommands of git that a line runs, in order."""
    return [git_verb(simple.words) for simple in simple_commands(command) if simple.program == "git"]


def _targets(simple: ReceiptCommand) -> list[str]:
    """Return the files that a command creates by their names. A target that is a folder has the name of the source."""
    operands = [word for word in simple.words[1:] if not word.startswith("-")]
    if simple.program == "git" and git_verb(simple.words) == "mv":
        operands = operands[1:]
    elif simple.program == "touch":
        return operands
    elif simple.program not in ("cp", "mv", "install", "ln", "Copy-Item", "Move-Item"):
        return []
    if len(operands) < 2:
        return []
    folder = operands[-1].rstrip("/")
    return [operands[-1], *(f"{folder}/{name.rsplit('/', 1)[-1]}" for name in operands[:-1])]


def git_verb(words: list[str]) -> str:
    """Return the subcommand of git, after options such as `-C folder`."""
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in _INFORMATION:
        rest = rest[2:] if rest[0] in ("-C", "-c") else rest[1:]
    return rest[0] if rest else "help"


def _files(simple: ReceiptCommand) -> list[str]:
    """Return the arguments that name files. For programs that are not known, those that look like a path."""
    if simple.program in _NAME_ONLY:
        return []
    words = [word for word in simple.words[1:] if not word.startswith("-") and len(word) < 1024]
    if simple.program not in _READERS:
        return [word for word in words if "/" in word or "." in word]
    words = [word for word in words if not word.removeprefix("+").isdigit()]
    has_pattern = simple.program in _WITH_PATTERN and not any(word in ("-e", "-f") for word in simple.words)
    return words[1:] if has_pattern else words


def _shown_lines(simple: ReceiptCommand) -> Span | None:
    """Return which lines of its files a command shows, or None if that is not known."""
    words = simple.words[1:]
    match simple.program:
        case "cat" | "nl" | "less" | "more":
            return (1, WHOLE)
        case "head":
            return _first_lines(words)
        case "tail":
            starts = [int(match[1]) for word in words if (match := _TAIL_START.match(word))]
            return (starts[0], WHOLE) if starts else None
        case "sed" if "-n" in words:
            spans = [match for word in words if (match := _SED_SPAN.match(word))]
            return (int(spans[0][1]), int(spans[0][2] or spans[0][1])) if len(spans) == 1 else None
    return None


def _first_lines(words: list[str]) -> Span | None:
    """Return what `head` shows: ten lines by default; None for bytes or a number counted from the end."""
    for word, following in pairwise([*words, ""]):
        if match := _HEAD_COUNT.match(word):
            return (1, int(match[1]))
        if word in ("-n", "--lines"):
            return (1, int(following)) if following.isdecimal() and len(following) < 10 else None
        if word.startswith("-") and word not in ("-q", "-v"):
            return None
    return (1, 10)


def _narrowed(span: Span | None, following: ReceiptCommand) -> Span | None:
    """Return which of the shown lines are left after the next command of a pipeline."""
    if following.writes:
        return None
    if following.program in ("cat", "less", "more", "nl"):
        return span
    return _shown_lines(following) if span == (1, WHOLE) else None
