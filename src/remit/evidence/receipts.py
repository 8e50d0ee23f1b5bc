"""Receipts: what an agent really did, one record for each tool call.

The JSON shape (`remit.receipts/1`): `tool`, `arguments`, `path` and `ranges` (first and last line seen),
`hits` of a search, `exit` (a command's status), `failed`, `cwd` (the folder of the call), `digest` of the
output, `time`. A file may also carry a `snapshot` of the tree before the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from remit.errors import UsageError
from remit.evidence.commands import only_reads, shell_reads, shell_writes
from remit.evidence.model import WHOLE, Seen, Span
from remit.workspace.paths import is_absolute, normalize_path
from remit.workspace.snapshot import Snapshot

Action = Literal["read", "search", "edit", "run", "other"]

_ACTIONS: dict[str, Action] = {
    **dict.fromkeys(("Read", "NotebookRead", "View"), "read"),
    **dict.fromkeys(("Grep", "Glob", "LS", "Search"), "search"),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Bash", "BashOutput", "Shell", "PowerShell"), "run"),
}
#: The tool of a receipt that Remit wrote itself: the caller's command, run again.
RERUN = "Rerun"


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call."""

    tool: str
    arguments: dict[str, Any] = {}
    path: str | None = None
    ranges: tuple[Span, ...] = ()
    exit: int | None = None
    digest: str | None = None
    time: str | None = None
    #: Files that a search named, with the lines it showed.
    hits: dict[str, tuple[int, ...]] = {}
    #: Whether the call itself failed (a file that is not there, a denied call).
    failed: bool = False
    #: The folder that the call was made in; relative paths are relative to it.
    cwd: str | None = None

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
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: not receipts of the shape remit.receipts/1: {error}") from error


class ReceiptIndex:
    """What the receipts say of each file and command. Paths are those of the repository."""

    def __init__(self, receipts: Iterable[Receipt], root: str, *, other_roots: Iterable[str] = ()) -> None:
        self._roots = [root, *other_roots]
        self.read: dict[str, list[Span]] = {}
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

    def _touch(self, name: str, cwd: str | None, spans: Iterable[Span] = (), *, edited: bool = False) -> None:
        path = self._normal(name, cwd)
        if path is not None:
            self.touched.add(path)
            if spans:
                self.read.setdefault(path, []).extend(spans)
            if edited:
                self.edited.add(path)

    def _normal(self, written: str, cwd: str | None) -> str | None:
        whole = f"{cwd}/{written}" if cwd and not is_absolute(written) else written
        return next((inside for root in self._roots if (inside := normalize_path(whole, root)) is not None), None)

    def seen(self, path: str, line: int | None, end_line: int | None) -> Seen:
        """Whether the line lay in a range that was read, only its file was touched, or neither."""
        if line is not None and any(first <= line <= last for first, last in self.read.get(path, ())):
            return "line"
        return "file" if path in self.touched else "no"

    @property
    def executed(self) -> bool:
        """Whether a command that does more than look ran and succeeded."""
        return any(run.exit == 0 and not only_reads(run.command) for run in self.runs)
