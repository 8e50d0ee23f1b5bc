"""Command lines of a shell: what they run, what of it only shows something, and which files they read and write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from remit.evidence.model import WHOLE, Span
from remit.lazy import lazy_pattern
from remit.workspace.paths import is_absolute

#: Programs that show something and change nothing: their success proves nothing.
_LOOKERS = frozenset(
    """
    [ [[ : ack ag awk basename bat break cat cd cmp column comm command continue cut date df diff dirname du echo
    egrep env exit export false fd fgrep file find grep head hexdump hostname id jq less ls md5sum more nl od popd
    printenv printf ps pushd pwd read readlink realpath return rg sed seq set sha1sum sha256sum shopt sleep sort
    stat strings tac tail test tr tree true type uname uniq unset wait wc which whoami xxd
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_GIT_LOOKERS = frozenset(
    {"blame", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "rev-parse", "show", "status"}
)
#: Asked for these, a program tells about itself and does nothing.
_QUESTIONS = frozenset({"--help", "--version", "-V", "help", "version"})
#: Programs that show what is in files, and those that only speak of their names.
_WITH_PATTERN = frozenset({"ack", "ag", "awk", "egrep", "fgrep", "grep", "rg", "sed"})
_READERS = _WITH_PATTERN | {"bat", "cat", "head", "less", "more", "nl", "tail", "tee", "wc"}
_NAMERS = frozenset(
    """
    [ [[ basename cd chmod command dirname du echo export find ls mkdir printf pushd pwd readlink realpath rm rmdir
    stat test touch tree type which
    """.split()  # noqa: SIM905 (as above)
)
_SHELLS = frozenset({"bash", "dash", "sh", "zsh"})
_WRAPPERS = frozenset({"env", "nice", "nohup", "stdbuf", "sudo", "time", "timeout", "xargs"})
_KEYWORDS = frozenset({"!", "do", "done", "elif", "else", "esac", "fi", "if", "then", "until", "while", "{", "}"})
_HEADS = frozenset({"case", "for", "function", "select"})
_NO_FILE = frozenset({"-", "/dev/null", "/dev/stderr", "/dev/stdout", "1", "2"})

_TOKEN = lazy_pattern(
    r"(?P<space>(?:[ \t\r]|\\\n)++|(?<![^\s;|&()<>])#[^\n]*)"
    r"|(?P<redirect>&>>?|\d*(?:<<<|<<-?|<>|<&|>>|>&|>\||<|>))"
    r"|(?P<operator>&&|\|\||\|&|;;|[;|&()\n])"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s;|&()<>'\"\\]|['\"\\])++)",
    re.DOTALL,
)
_PIECE = lazy_pattern(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.DOTALL)
_ESCAPED = lazy_pattern(r"\\([$`\"\\\n])")
_ASSIGNMENT = lazy_pattern(r"^[A-Za-z_]\w*\+?=")
_IN_PLACE = lazy_pattern(r"^(?:-[A-Za-z]*i|--in-place)")
_SED_SPAN = lazy_pattern(r"^(\d{1,9})(?:,(\d{1,9}))?p;?$")
_HEAD_COUNT = lazy_pattern(r"^-(?:n|-lines=)?(\d{1,9})$")
_TAIL_START = lazy_pattern(r"^(?:-n|--lines=)?\+(\d{1,9})$")
_MAX_COMMAND = 20_000


class SimpleCommand(NamedTuple):
    """One command of a command line."""

    #: The operator between it and the one before: `&&`, `|`, a line break.
    joined: str
    #: Without assignments, keywords and programs that only start another.
    words: list[str]
    #: Where it runs, seen from where the line began; None: that cannot be told.
    folder: str | None
    #: The files that its output goes to.
    writes: list[str]

    @property
    def program(self) -> str:
        """The name of what is run."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""

    @property
    def shows(self) -> bool:
        """Whether it only shows things, wherever its output goes."""
        words, program = self.words, self.program
        if program == "git":
            return _git_verb(words) in _GIT_LOOKERS | _QUESTIONS
        if program == "sed":
            return not any(_IN_PLACE.match(word) for word in words)
        if program == "find":
            runs = [word for option, word in pairwise(words) if option in ("-exec", "-execdir", "-ok")]
            return "-delete" not in words and all(run.rsplit("/", 1)[-1] in _LOOKERS for run in runs)
        return program in _LOOKERS or (len(words) != 1 and all(word in _QUESTIONS for word in words[1:]))


def simple_commands(command: str) -> list[SimpleCommand]:
    """The commands of a shell's command line, in order. A line that is none gives some words, never an error."""
    found: list[SimpleCommand] = []
    folder: str | None = ""
    above: list[str | None] = []
    for joined, words, writes in _pieces(command[:_MAX_COMMAND]):
        if joined == "(":
            above.append(folder)
        elif joined == ")" and above:
            folder = above.pop()
        simple = SimpleCommand(joined, _bare(words), folder, writes)
        if simple.program in _SHELLS and (script := _script(simple.words)) is not None:
            inner = simple_commands(script)
            found.extend(one._replace(folder=is_below(folder, one.folder), writes=one.writes + writes) for one in inner)
        elif simple.words or writes:
            found.append(simple)
        if simple.program in ("cd", "pushd"):
            folder = _moved(folder, simple.words[1:])
    return found


def _pieces(command: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """The words between operators, with the operator before them and the files that the output goes to."""
    joined, redirect = "", ""
    words: list[str] = []
    writes: list[str] = []
    for kind, text in _tokens(command):
        if kind == "operator":
            yield joined, words, writes
            joined, words, writes, redirect = text, [], [], ""
        elif kind == "redirect":
            redirect = text
        elif not redirect or redirect == "<":
            words.append(text)
            redirect = ""
        else:
            writes.extend([text] if ">" in redirect and text not in _NO_FILE else [])
            redirect = ""
    yield joined, words, writes


def _tokens(command: str) -> Iterator[tuple[str, str]]:
    """Operators, redirections and words without their quotes; comments and here-documents are left out."""
    at, document, ends = 0, False, ""
    while at < len(command):
        found = _TOKEN.match(command, at)
        at = found.end() if found else at + 1
        if found is None or found.lastgroup is None or found.lastgroup == "space":
            continue
        text = found.group()
        if found.lastgroup == "word":
            text = _PIECE.sub(_unquoted, text)
            document, ends = False, text if document else ends
        elif found.lastgroup == "redirect":
            document = text.endswith(("<<", "<<-"))
        elif text == "\n" and ends:
            last = re.compile(rf"^[ \t]*{re.escape(ends)}[ \t]*$", re.MULTILINE).search(command, at)
            at, ends = last.end() if last else len(command), ""
        yield found.lastgroup, text


def _unquoted(piece: re.Match[str]) -> str:
    single, double, escaped = piece.groups()
    return _ESCAPED.sub(r"\1", double) if double is not None else str(escaped if single is None else single)


def _bare(words: list[str]) -> list[str]:
    """A command without what only stands before it."""
    wrapped = False
    for start, word in enumerate(words):
        program = word.rsplit("/", 1)[-1]
        option = wrapped and (word[:1] == "-" or word[:1].isdigit() or word == "{}")
        if not option and program not in _WRAPPERS | _KEYWORDS and not _ASSIGNMENT.match(word):
            return words[start:] if program not in _HEADS else []
        wrapped = wrapped or program in _WRAPPERS
    return []


def _script(words: list[str]) -> str | None:
    """What a shell is given to run: `bash -lc 'cat a.py'`."""
    for word, following in pairwise(words):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return following
    return None


def _moved(folder: str | None, words: list[str]) -> str | None:
    targets = [word for word in words if not word.startswith("-")]
    if len(targets) != 1 or any(mark in targets[0] for mark in "$`*~"):
        return None
    return is_below(folder, targets[0])


def is_below(folder: str | None, name: str | None) -> str | None:
    """A name seen from where the command line began; None: that cannot be told."""
    if name is None or is_absolute(name):
        return name
    return None if folder is None else f"{folder}/{name}".rstrip("/") if folder else name


def only_reads(command: str) -> bool:
    """Whether a command line only shows things. Then it proves nothing by having succeeded."""
    return all(simple.shows and not simple.writes for simple in simple_commands(command))


def _git_verb(words: list[str]) -> str:
    """What git is asked to do; options such as `-C folder` may stand before it."""
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in _QUESTIONS:
        rest = rest[2:] if rest[0] in ("-C", "-c") else rest[1:]
    return rest[0] if rest else "help"


def shell_reads(command: str) -> list[tuple[str, Span | None]]:
    """The files a command line shows, each with the lines it shows (None: unknown)."""
    found: list[tuple[str, Span | None]] = []
    commands = simple_commands(command)
    for place, simple in enumerate(commands):
        span = None if simple.writes else _shown(simple)
        for following in commands[place + 1 : place + 9]:
            if span is None or following.joined not in ("|", "|&"):
                break
            span = _narrowed(span, following)
        whole = (is_below(simple.folder, name) for name in _files(simple))
        found.extend((name, span) for name in whole if name)
    return found


def shell_writes(command: str) -> list[str]:
    """The files a command line writes by a redirection, `tee` or `sed -i`."""
    found: list[str | None] = []
    for simple in simple_commands(command):
        edits = simple.program == "tee" or (simple.program == "sed" and not simple.shows)
        found.extend(is_below(simple.folder, name) for name in (*simple.writes, *(_files(simple) if edits else ())))
    return [name for name in found if name]


def _files(simple: SimpleCommand) -> list[str]:
    if simple.program in _NAMERS:
        return []
    words = [word for word in simple.words[1:] if not word.startswith("-") and len(word) < 1024]
    if simple.program not in _READERS:
        return [word for word in words if "/" in word or "." in word]
    words = [word for word in words if not word.removeprefix("+").isdigit()]
    has_pattern = simple.program in _WITH_PATTERN and not any(word in ("-e", "-f") for word in simple.words)
    return words[1:] if has_pattern else words


def _shown(simple: SimpleCommand) -> Span | None:
    """Which lines a reader shows of its files; None: nobody can tell."""
    words = simple.words[1:]
    match simple.program:
        case "cat" | "nl" | "less" | "more":
            return (1, WHOLE)
        case "head":
            return _first_lines(words)
        case "tail":
            starts = [int(found[1]) for word in words if (found := _TAIL_START.match(word))]
            return (starts[0], WHOLE) if starts else None
        case "sed" if "-n" in words:
            spans = [found for word in words if (found := _SED_SPAN.match(word))]
            return (int(spans[0][1]), int(spans[0][2] or spans[0][1])) if len(spans) == 1 else None
    return None


def _first_lines(words: list[str]) -> Span | None:
    """What `head` shows: ten lines unless it is told a number; not known for bytes or a number from the end."""
    for word, following in pairwise([*words, ""]):
        if found := _HEAD_COUNT.match(word):
            return (1, int(found[1]))
        if word in ("-n", "--lines"):
            return (1, int(following)) if following.isdecimal() and len(following) < 10 else None
        if word.startswith("-") and word not in ("-q", "-v"):
            return None
    return (1, 10)


def _narrowed(span: Span | None, following: SimpleCommand) -> Span | None:
    """What is left of shown lines behind a pipe."""
    if following.program in ("cat", "less", "more", "nl"):
        return span
    return _shown(following) if span == (1, WHOLE) and not following.writes else None
