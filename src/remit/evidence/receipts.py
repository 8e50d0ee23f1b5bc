"""Receipts: one record for each tool call of an agent.

The JSON shape (`remit.receipts/1`): `tool`, `arguments`, `path` and `ranges` (first and last line that was shown),
`hits` of a search, `exit` (a command's status), `failed`, `unknown` (it may have taken effect), `cwd` (the directory of
the call), `digest` of the output, `time`. A file may also contain a `snapshot` of the tree before the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from remit.errors import UsageError
from remit.evidence.commands import (
    changed_names,
    only_reads,
    shell_deletes,
    shell_reads,
    shell_writes,
    simple_commands,
    start_reading,
    undone_changes,
)
from remit.evidence.find_runs import find_runs
from remit.evidence.model import WHOLE, Seen, Span
from remit.lazy import lazy_pattern
from remit.workspace.paths import is_absolute, normalize_path
from remit.workspace.snapshot import Snapshot

Action = Literal["read", "search", "edit", "run", "other"]

_ACTIONS: dict[str, Action] = {
    **dict.fromkeys(("Read", "NotebookRead", "View"), "read"),
    **dict.fromkeys(("Grep", "Glob", "LS", "Search"), "search"),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Bash", "BashOutput", "Shell", "PowerShell"), "run"),
}
#: Endings of files that no test reads.
_PROSE = (".md", ".markdown", ".rst")
#: The tools that start another agent.
AGENT_TOOLS = ("Agent", "Task", "spawn_agent")
#: The tool name of a program of the agent that calls tools, if it is not known which.
SCRIPT = "Script"
#: Folders of files that are built, installed or written at run time.
_BUILT_FOLDERS = frozenset(
    """
    node_modules dist build out target coverage .next .venv venv __pycache__ vendor .cache tmp logs generated
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call."""

    tool: str
    arguments: dict[str, Any] = {}
    path: str | None = None
    ranges: tuple[Span, ...] = ()
    exit: int | None = None
    digest: str | None = None
    time: str | None = None
    #: The files that a search listed, with the lines it showed.
    hits: dict[str, tuple[int, ...]] = {}
    #: Whether the call itself failed (a missing file, a denied call).
    failed: bool = False
    #: Whether a command was started in the background and its end is not known.
    pending: bool = False
    #: Whether a call that failed may have taken effect: its process died before it answered.
    unknown: bool = False
    #: The working directory of the call; relative paths are relative to it.
    cwd: str | None = None
    #: The lines of a command's output that may show an outcome; None: the output was not recorded.
    output: str | None = None
    #: Whether only the beginning of the output was recorded.
    is_cut: bool = False

    @property
    def action(self) -> Action:
        """The kind of call."""
        return _ACTIONS.get(self.tool, "other")

    @property
    def command(self) -> str:
        """The command line of a run."""
        command = self.arguments.get("command", "")
        return command if isinstance(command, str) else ""


#: Tools of other servers that may write files or run programs.
_ACTING = lazy_pattern(
    r"write|edit|create|update|patch|file|exec|run|shell|terminal|command|test|build|apply|replace|insert"
    r"|commit|push|"
    r"bash|python|repl|notebook|deploy|delete|move|rename",
)
#: The first words of the names of tools that only show something.
_READING = frozenset(
    (
        "get",
        "list",
        "read",
        "find",
        "search",
        "query",
        "fetch",
        "show",
        "view",
        "describe",
        "resolve",
        "lookup",
        "check",
    )
)
_WORD = lazy_pattern(r"[a-z]+")


def may_act(receipt: Receipt) -> bool:
    """Return whether a tool of another server may have written a file or run a program, by the words of its name.

    A program whose calls are not known may have done anything.
    """
    if receipt.tool == SCRIPT:
        return not receipt.failed
    if (receipt.failed and not receipt.unknown) or not receipt.tool.startswith("mcp__"):
        return False
    first = _WORD.search(receipt.tool.rpartition("__")[2].lower())
    return (first is None or first[0] not in _READING) and _ACTING.search(receipt.tool.lower()) is not None


class ReceiptFile(msgspec.Struct, frozen=True):
    """A file of receipts."""

    receipts: tuple[Receipt, ...]
    snapshot: Snapshot | None = None
    schema: Literal["remit.receipts/1"] = "remit.receipts/1"
    #: The directory that relative paths and `path` are relative to, if it is not the repository's root.
    root: str | None = None


class Transcript(msgspec.Struct, frozen=True):
    """The receipts of a transcript, which a client has written."""

    #: The file, for messages.
    name: str
    receipts: tuple[Receipt, ...] = ()
    #: The working directories of the agent, in the order of their first use.
    roots: tuple[str, ...] = ()
    #: The number of lines that cannot be read.
    skipped: int = 0
    #: Whether it contains a message of a known client; otherwise it contains nothing about the calls of the agent.
    is_known: bool = True


def read_receipts(data: bytes, name: str) -> ReceiptFile:
    """Read receipts from JSON of the documented shape."""
    try:
        return msgspec.json.decode(data, type=ReceiptFile)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: not a receipts file (remit.receipts/1): {error}") from error


class FileEffects:
    """Which files the calls wrote and deleted, by the ends of their paths: roots and folders may differ."""

    def __init__(self) -> None:
        self.written = FileNames()
        self.deleted = FileNames()

    def add(self, receipt: Receipt, position: int) -> None:
        """Add the effects of a call."""
        if receipt.failed:
            return
        if receipt.action == "edit" and receipt.path:
            self.written.add(receipt.path, position)
        elif receipt.action == "run" and receipt.exit in (0, None):
            for name in shell_writes(receipt.command):
                self.written.add(name, position)
            for name in shell_deletes(receipt.command):
                self.deleted.add(name, position)


class FileNames:
    """Paths that can be found by their end, each with the position of the last call."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, int]] = {}

    def add(self, path: str, position: int) -> None:
        """Add a path."""
        whole = path.replace("\\", "/").removeprefix("./").rstrip("/")
        self._by_name.setdefault(whole.rsplit("/", 1)[-1], {})[whole] = position

    def find(self, path: str) -> str | None:
        """Return the last path that may be this one: one of them is the end of the other."""
        whole = path.replace("\\", "/").removeprefix("./").lstrip("/")
        known = self._by_name.get(whole.rsplit("/", 1)[-1], {})
        matching = [
            known_path
            for known_path in known
            if f"/{known_path}".endswith(f"/{whole}") or f"/{whole}".endswith(f"/{known_path.lstrip('/')}")
        ]
        return max(matching, key=known.__getitem__) if matching else None


class SessionRecord:
    """The calls of an agent, and what they did to files."""

    def __init__(self) -> None:
        #: Every call, in order.
        self.calls: list[Receipt] = []
        self._files = FileEffects()
        self._effects = 0
        self._first_folder: str | None = None

    def add(self, receipt: Receipt) -> None:
        """Add the next call."""
        self.calls.append(receipt)
        self._first_folder = self._first_folder or receipt.cwd

    def changed_code(self, receipt: Receipt) -> str | None:
        """Return a file or folder of the project that a call changed and tests may read; None if it changed none.

        What a run prints into a file is not code, nor is prose or what is built. "." is the whole project.
        """
        names = [receipt.path or ""] if receipt.action == "edit" else []
        if receipt.action == "run" and not receipt.failed and receipt.exit in (0, None):
            printed = {name for run in find_runs(receipt.command) for name in run.writes}
            names = [name for name in changed_names(receipt.command) if name not in printed]
        return next((name for name in names if name and self._is_code(name, receipt.cwd)), None)

    def _is_code(self, name: str, cwd: str | None) -> bool:
        if name.lower().endswith(_PROSE):
            return False
        full = _full(name, cwd)
        inside = [path for folder in self._folders(cwd) if (path := normalize_path(full, folder)) is not None]
        return bool(inside) and all(_BUILT_FOLDERS.isdisjoint(path.split("/")) for path in inside)

    def _folders(self, cwd: str | None) -> Iterable[str]:
        """Return the folders of the project: those that the first call and this one were made in."""
        return [folder for folder in (self._first_folder, cwd) if folder] or ["/"]

    @property
    def files(self) -> FileEffects:
        """What the commands and edits did to files, inside and outside of the repository."""
        while self._effects < len(self.calls):
            receipt = self.calls[self._effects]
            self._effects += 1
            self._files.add(receipt, self._effects)
        return self._files


def _full(name: str, cwd: str | None) -> str:
    return f"{cwd}/{name}" if cwd and not is_absolute(name) else name


class ReceiptIndex(SessionRecord):
    """The receipts by file and command. Paths are relative to the repository."""

    def __init__(self, receipts: Iterable[Receipt], root: str, *, other_roots: Iterable[str] = ()) -> None:
        super().__init__()
        #: Folders of other checkouts that stand for the repository.
        self.other_roots = tuple(other_roots)
        self._roots = [root, *self.other_roots]
        self.read: dict[str, list[Span]] = {}
        self.touched: set[str] = set()
        self.edited: set[str] = set()
        #: Files that a call may have written: nothing shows whether it took effect.
        self.attempted: set[str] = set()
        self.runs: list[Receipt] = []
        start_reading()
        for receipt in receipts:
            self.add(receipt)

    @property
    def count(self) -> int:
        """The number of calls."""
        return len(self.calls)

    def add(self, receipt: Receipt) -> None:
        """Add the next call."""
        super().add(receipt)
        if not receipt.failed:
            self._add(receipt)
        elif receipt.action == "run":
            self.runs.append(receipt)
        elif receipt.unknown and receipt.action == "edit" and receipt.path:
            path = self._repository_path(receipt.path, receipt.cwd)
            self.attempted.update(() if path is None else (path,))

    def _add(self, receipt: Receipt) -> None:
        if receipt.path:
            spans = (receipt.ranges or ((1, WHOLE),)) if receipt.action == "read" else ()
            self._touch(receipt.path, receipt.cwd, spans, edited=receipt.action == "edit")
        for name, lines in receipt.hits.items():
            self._touch(name, receipt.cwd, [(line, line) for line in lines])
        if receipt.action == "run":
            self.runs.append(receipt)
            if receipt.exit in (0, None):
                for name, span in shell_reads(receipt.command):
                    self._touch(name, receipt.cwd, [span] if span is not None else ())
                for name in shell_writes(receipt.command):
                    self._touch(name, receipt.cwd, edited=True)
                self._undo(receipt)

    def _undo(self, receipt: Receipt) -> None:
        """Forget the edits that a line takes back."""
        if "git" not in receipt.command:
            return
        undone = undone_changes(receipt.command)
        if undone is None:
            self.edited.clear()
        for name in undone or ():
            path = self._repository_path(name, receipt.cwd)
            self.edited -= {file for file in self.edited if file == path or file.startswith(f"{path}/")}

    def _touch(self, name: str, cwd: str | None, spans: Iterable[Span] = (), *, edited: bool = False) -> None:
        path = self._repository_path(name, cwd)
        if path is not None:
            self.touched.add(path)
            if spans:
                self.read.setdefault(path, []).extend(spans)
            if edited:
                self.edited.add(path)

    def _repository_path(self, written: str, cwd: str | None) -> str | None:
        full = _full(written, cwd)
        return next((inside for root in self._roots if (inside := normalize_path(full, root)) is not None), None)

    def _folders(self, cwd: str | None) -> Iterable[str]:
        del cwd
        return self._roots

    def how_seen(self, path: str, line: int | None) -> Seen:
        """Return "line" if the line was read, "file" if only its file was read, searched or edited, else "no"."""
        if line is not None and any(first <= line <= last for first, last in self.read.get(path, ())):
            return "line"
        return "file" if path in self.touched else "no"

    @property
    def executed(self) -> bool:
        """Whether a command succeeded that does more than read."""
        return any(run.exit == 0 and not only_reads(run.command) for run in self.runs)


#: How much of a line of git is kept.
_MAX_GIT_LINE = 200
_COMMITTED = lazy_pattern(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\]", 8)
_NOT_COMMITTED = lazy_pattern(
    r"^.*(?:nothing to commit|nothing added to commit|no changes added to commit|Aborting commit|"
    r"hook (?:exited|failed)|husky - .*(?:failed|exited)|not a git repository|Please tell me who you are).*$",
    8,
)
#: Lines of git, but also of other programs: they count only if nothing else can have printed them.
_FAILED = lazy_pattern(r"^(?:fatal: |error: |The following paths are ignored by).*$", 8)
#: ... because there was nothing left to commit.
_ALL_COMMITTED = lazy_pattern(r"nothing to commit")
_NOTHING = lazy_pattern(r"nothing to commit|nothing added to commit|no changes added")
#: A refusal of a commit in a line that also pushes.
_REFUSED = lazy_pattern(
    r"added to commit|hook|husky|Aborting commit|tell me who you are|pathspec|paths are ignored|commit object"
)
_PUSHED = lazy_pattern(r"^(?!\s*!).*(?: -> |Everything up-to-date|set up to track).*$", 8)
_NOT_PUSHED = lazy_pattern(
    r"^.*(?:\[(?:remote )?rejected\]|error: failed to push|[Pp]ermission denied|Authentication failed"
    r"|could not read).*$",
    8,
)
#: Subcommands of git, and other programs, that also make commits or push them.
_COMMITTING = frozenset({"commit", "merge", "cherry-pick", "revert", "am", "rebase", "pull", "commit-tree", "ci"})
#: They bring the commits of others: that they failed shows nothing of the own commit.
_UPDATING = frozenset({"pull", "rebase"})
_OTHER_COMMITS = lazy_pattern(
    r"\b(?:gh (?:pr|repo|release)|npm version|release|jj |hg |gt |svn |glab |commitizen|git-cz|semantic-release)"
)


class GitActs:
    """The commits or the pushes of a record: the last that was made, and the last that failed after it."""

    def __init__(self) -> None:
        self.done: tuple[Receipt, str] | None = None
        self.failed: tuple[Receipt, str] | None = None
        #: The last attempt, if git or a hook refused it, with the line that was printed.
        self.refused: tuple[Receipt, str] | None = None

    def add_commit(self, receipt: Receipt, verbs: Iterable[str]) -> None:
        """Add a command that may make a commit."""
        is_done, line = _committed(receipt, verbs)
        only_updates = _COMMITTING.intersection(verbs) <= _UPDATING
        self._add(receipt, (None if is_done is False and only_updates else is_done, line))
        if is_done is False and "commit" in verbs and not _ALL_COMMITTED.search(line):
            shown = line or _last_line(receipt)
            is_own = "push" not in verbs or _REFUSED.search(shown) is not None
            self.refused = (receipt, shown) if shown and is_own else None

    def add_push(self, receipt: Receipt, verbs: Iterable[str]) -> None:
        """Add a command that may push."""
        is_done, line = _pushed(receipt, verbs)
        self._add(receipt, (is_done, line))
        if is_done is False:
            self.refused = (receipt, line) if line and not _PUSHED.search(receipt.output or "") else None

    def _add(self, receipt: Receipt, outcome: tuple[bool | None, str]) -> None:
        is_done, line = outcome
        if is_done:
            self.done, self.failed, self.refused = (receipt, line), None, None
        elif is_done is False and (self.done is None or not _NOTHING.search(line)):
            self.failed = receipt, line
        if receipt.exit in (0, None) and _OTHER_COMMITS.search(receipt.command):
            self.failed = self.refused = None  # it may have done what failed before


def _last_line(receipt: Receipt) -> str:
    """Return the last line that was printed, if git is at the end of it: a hook that refuses a commit prints anything.

    What is before it in a chain of `&&` failed, or git did: either way, it did not make a commit.
    """
    if not _is_at_end(receipt):
        return ""
    lines = [line.strip() for line in (receipt.output or "").split("\n") if line.strip()]
    return lines[-1][:_MAX_GIT_LINE] if lines else ""


def _is_at_end(receipt: Receipt) -> bool:
    """Return whether a line ends with git, and failed before or in it; a pipe replaces the status of git alone."""
    commands = simple_commands(receipt.command)
    own = [simple.program == "git" or (simple.shows and not simple.writes) for simple in commands]
    if all(own):
        return receipt.exit != 0 or any(simple.joined != "&&" for simple in commands[1:])
    first = next((place for place, simple in enumerate(commands) if simple.program == "git"), 0)
    is_chain = all(simple.joined == "&&" for simple in commands[1:])
    return receipt.exit not in (0, None) and first > 0 and all(own[first:]) and is_chain


def _committed(receipt: Receipt, verbs: Iterable[str]) -> tuple[bool | None, str]:
    """Return whether a call made a commit (None: it did not try, or it is not known), and the line that shows it."""
    if _COMMITTING.isdisjoint(verbs):
        return None, ""
    output = receipt.output or ""
    if good := _COMMITTED.search(output):
        return True, good[0].strip()[:_MAX_GIT_LINE]
    bad = [*_NOT_COMMITTED.finditer(output)] or (_is_at_end(receipt) and [*_FAILED.finditer(output)])
    if bad:
        return False, bad[-1][0].strip()[:_MAX_GIT_LINE]
    return (receipt.exit == 0 and not receipt.failed) if receipt.exit is not None else None, ""


def _pushed(receipt: Receipt, verbs: Iterable[str]) -> tuple[bool | None, str]:
    if "push" not in verbs:
        return None, ""
    output = receipt.output or ""
    if bad := _NOT_PUSHED.search(output) or (_is_at_end(receipt) and _FAILED.search(output)):
        return False, bad[0].strip()[:_MAX_GIT_LINE]
    if "commit" in verbs and not _COMMITTED.search(output) and (refused := _NOT_COMMITTED.search(output)):
        return False, refused[0].strip()[:_MAX_GIT_LINE]
    if good := _PUSHED.search(output):
        return True, good[0].strip()[:_MAX_GIT_LINE]
    return (receipt.exit == 0 and not receipt.failed) if receipt.exit is not None else None, ""
