"""Receipts: what an agent really did, one record for each tool call.

The JSON shape (`remit.receipts/1`): `tool`, `arguments`, `path` and `ranges` (first and last line seen),
`exit` (a command's status), `digest` of the output, `time`. A file may also carry a `snapshot` of the tree
before the run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from remit.errors import UsageError
from remit.evidence.model import Seen
from remit.workspace.paths import normal
from remit.workspace.snapshot import Snapshot

Action = Literal["read", "search", "edit", "run", "other"]

_ACTIONS: dict[str, Action] = {
    **dict.fromkeys(("Read", "NotebookRead", "View"), "read"),
    **dict.fromkeys(("Grep", "Glob", "LS", "Search"), "search"),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Bash", "BashOutput", "Shell", "PowerShell"), "run"),
}
_WHOLE = 1 << 30


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call."""

    tool: str
    arguments: dict[str, Any] = {}
    path: str | None = None
    ranges: tuple[tuple[int, int], ...] = ()
    exit: int | None = None
    digest: str | None = None
    time: str | None = None
    #: Files that a search named, with the lines it showed.
    hits: dict[str, tuple[int, ...]] = {}
    #: Whether the call itself failed (a file that is not there, a denied call).
    failed: bool = False

    @property
    def action(self) -> Action:
        """What kind of call it was."""
        return _ACTIONS.get(self.tool, "other")

    @property
    def command(self) -> str:
        """The command line of a run."""
        command = self.arguments.get("command", "")
        return command if isinstance(command, str) else ""


class ReceiptFile(msgspec.Struct, frozen=True):
    """A file of receipts."""

    receipts: tuple[Receipt, ...]
    snapshot: Snapshot | None = None
    schema: Literal["remit.receipts/1"] = "remit.receipts/1"
    #: The folder that relative paths and `path` are relative to, if it is not the repository's root.
    root: str | None = None


def read_receipts(data: bytes, name: str) -> ReceiptFile:
    """Receipts from JSON of the documented shape."""
    try:
        return msgspec.json.decode(data, type=ReceiptFile)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not receipts of the shape remit.receipts/1: {error}") from error


class Ledger:
    """What the receipts say of each file and command. Paths are those of the repository."""

    def __init__(self, receipts: Iterable[Receipt], root: str, *, other_roots: Iterable[str] = ()) -> None:
        self._roots = [root, *other_roots]
        self.read: dict[str, list[tuple[int, int]]] = {}
        self.touched: set[str] = set()
        self.edited: set[str] = set()
        self.runs: list[Receipt] = []
        self.count = 0
        for receipt in receipts:
            self.count += 1
            if not receipt.failed:
                self._take(receipt)
            elif receipt.action == "run":
                self.runs.append(receipt)

    def _take(self, receipt: Receipt) -> None:
        path = self._normal(receipt.path) if receipt.path else None
        if path is not None:
            self.touched.add(path)
            if receipt.action == "read":
                self.read.setdefault(path, []).extend(receipt.ranges or ((1, _WHOLE),))
            elif receipt.action == "edit":
                self.edited.add(path)
        for name, lines in receipt.hits.items():
            hit = self._normal(name)
            if hit is not None:
                self.touched.add(hit)
                self.read.setdefault(hit, []).extend((line, line) for line in lines) if lines else None
        if receipt.action == "run":
            self.runs.append(receipt)
            for name, span in read_by_shell(receipt.command):
                shown = self._normal(name)
                if shown is not None:
                    self.touched.add(shown)
                    if span is not None and receipt.exit in (0, None):
                        self.read.setdefault(shown, []).append(span)

    def _normal(self, written: str) -> str | None:
        for root in self._roots:
            inside = normal(written, root)
            if inside is not None:
                return inside
        return None

    def seen(self, path: str, line: int | None, end_line: int | None) -> Seen:
        """Whether the line lay in a range that was read, only its file was touched, or neither."""
        if line is not None and any(first <= line <= last for first, last in self.read.get(path, ())):
            return "line"
        return "file" if path in self.touched else "no"

    @property
    def executed(self) -> bool:
        """Whether a command that does more than look ran and succeeded."""
        return any(run.exit == 0 and not is_only_looking(run.command) for run in self.runs)


_LOOKERS = frozenset(
    """
    awk basename cat cd cut date dirname du echo env file find grep head hostname id less ls more nl printf pwd
    realpath rg sed sort stat tail test tree true uniq wc which whoami
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_READERS = frozenset({"cat", "nl", "less", "more", "head", "tail", "sed", "grep", "rg", "awk", "wc", "bat"})
_SEPARATOR = re.compile(r"&&|\|\||[;|\n]")
_SED_SPAN = re.compile(r"^(\d+)(?:,(\d+))?p;?$")
_MAX_COMMAND = 20_000


def _simple_commands(command: str) -> list[list[str]]:
    words = []
    for piece in _SEPARATOR.split(command[:_MAX_COMMAND]):
        try:
            words.append(shlex.split(piece, comments=False))
        except ValueError:
            words.append(piece.split())
    return [parts for parts in words if parts]


def is_only_looking(command: str) -> bool:
    """Whether a command line only shows things. Then it proves nothing by having succeeded."""
    simple = _simple_commands(command)
    return all(parts[0].rsplit("/", 1)[-1] in _LOOKERS for parts in simple) and ">" not in command


def read_by_shell(command: str) -> list[tuple[str, tuple[int, int] | None]]:
    """The files a command line shows, each with the lines it shows (None: unknown)."""
    found: list[tuple[str, tuple[int, int] | None]] = []
    for parts in _simple_commands(command):
        name = parts[0].rsplit("/", 1)[-1]
        files = [word for word in parts[1:] if _may_be_path(word)]
        if name not in _READERS:
            found.extend((file, None) for file in files)
        else:
            found.extend((file, _shown(name, parts)) for file in files)
    return found


def _may_be_path(word: str) -> bool:
    return not word.startswith("-") and ("/" in word or "." in word) and len(word) < 1024


def _shown(name: str, parts: list[str]) -> tuple[int, int] | None:
    """Which lines a reader shows of its files."""
    if name in ("cat", "nl", "less", "more", "bat"):
        return (1, _WHOLE)
    if name == "head":
        return (1, _count(parts))
    if name == "sed" and "-n" in parts:
        spans = [match for word in parts if (match := _SED_SPAN.match(word))]
        return (int(spans[0][1]), int(spans[0][2] or spans[0][1])) if spans else None
    return None


def _count(parts: list[str]) -> int:
    for place, word in enumerate(parts[1:], 1):
        if word == "-n" and place + 1 < len(parts) and parts[place + 1].isdigit():
            return int(parts[place + 1])
        if word.startswith("-") and word.lstrip("-n").isdigit():
            return int(word.lstrip("-n"))
    return 10
