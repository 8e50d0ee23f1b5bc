"""References: found in the text, looked up in the workspace."""

from __future__ import annotations

from remit.evidence.grammar import references_in
from remit.evidence.model import Place, Reference
from remit.evidence.segments import Segment
from remit.evidence.symbols import REACH, find_symbol, symbol_after, symbols_called
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.paths import ending, normal

#: Misspelt names are compared with all names of the tree; beyond this many, only equal names are suggested.
MAX_GUESSES = 50
_NEAR_NAME = 80
_FOLDER_FILES = ("__init__.py", "index.ts", "index.tsx", "index.js", "mod.rs", "main.py", "README.md")

_WHY = {
    "large": "the file is larger than 10 MB",
    "binary": "the file is not text",
    "special": "it is not a regular file",
    "forbidden": "the file may not be read",
    "submodule": "it lies in a submodule",
}


def find_references(segment: Segment, workspace: Workspace | None) -> list[Reference]:
    """The references in one segment, not yet looked up."""
    exists = workspace.exists if workspace is not None else None
    written = (
        references_in(segment.text, exists, bare=segment.is_place)
        if exists
        else references_in(segment.text, bare=segment.is_place)
    )
    return [
        Reference(
            text=found.text,
            path=shown_path(found.path, workspace),
            line=found.line,
            end_line=found.end_line,
            at=segment.line,
            symbol=symbol_after(segment.text, found.end),
            row=segment.row,
            section=segment.section,
            block=segment.block,
        )
        for found in written
    ]


def shown_path(written: str, workspace: Workspace | None) -> str:
    """A path as the output shows it: relative, with slashes; one that leads outside stays as written."""
    inside = normal(written, str(workspace.root)) if workspace is not None else normal(written, "/")
    return inside if inside is not None else written.replace("\\", "/")


def attach_called(references: list[Reference], row: list[Segment]) -> None:
    """Give the first reference of a row the symbol that stands in it as `name()`."""
    called = [symbol for cell in row for symbol in symbols_called(cell.text)]
    if called and references and not references[0].symbol:
        references[0].symbol = called[0]


class Guesser:
    """Suggests the path that was probably meant."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._left = MAX_GUESSES

    def guess(self, path: str) -> str | None:
        """The most likely path for one that does not exist, or None."""
        names = self._workspace.by_name
        same = names.get(ending(path))
        if same:
            return max(same, key=lambda known: (_common_tail(known, path), -len(known), known))
        inside = path.rstrip("/") + "/"
        below = [known for known in self._workspace.paths if known.startswith(inside)] if self._left > 0 else []
        if below:
            usual = [inside + name for name in _FOLDER_FILES if inside + name in below]
            return (usual or below)[0]
        return self._similar(path, names)

    def _similar(self, path: str, names: dict[str, list[str]]) -> str | None:
        if self._left <= 0:
            return None
        self._left -= 1
        from rapidfuzz import fuzz, process  # late: only a missing file needs it

        near = process.extractOne(ending(path), names.keys(), scorer=fuzz.ratio, score_cutoff=_NEAR_NAME)
        if near is None:
            return None
        return max(names[near[0]], key=lambda known: (_common_tail(known, path), -len(known), known))


def _common_tail(one: str, other: str) -> int:
    """How many last parts two paths share, whatever the case."""
    count = 0
    for a, b in zip(reversed(one.lower().split("/")), reversed(other.lower().split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count


def look_up(reference: Reference, workspace: Workspace, guesser: Guesser, planned: frozenset[str]) -> None:
    """Say what is at a reference."""
    file = workspace.read(reference.path)
    if isinstance(file, Absent):
        _explain_absent(reference, file, workspace, guesser, planned)
    elif (problem := _range_problem(reference, file)) is not None:
        reference.outcome, reference.why = "out-of-range", problem
        nearest = min(max(reference.line or 1, 1), len(file.lines))
        reference.found = Place(file.path, nearest) if file.lines else None
        if reference.symbol and (line := find_symbol(file, reference.symbol, nearest, None)):
            reference.outcome, reference.found = "relocated", Place(file.path, line)
            reference.why = f"{reference.symbol} stands at line {line}"
    else:
        reference.outcome = "verified"
        if reference.symbol:
            _check_symbol(reference, file)


def _explain_absent(
    reference: Reference, absent: Absent, workspace: Workspace, guesser: Guesser, planned: frozenset[str]
) -> None:
    if absent.why == "outside":
        reference.outcome, reference.why = "outside", "the path leads out of the checkout"
    elif absent.why in _WHY:
        reference.outcome, reference.why = "unchecked", _WHY[absent.why]
    elif reference.path in planned:
        reference.outcome, reference.why = "planned", "this design creates it"
    else:
        reference.outcome = "missing-file"
        reference.why = "it is a folder" if absent.why == "folder" else "there is no such file"
        guess = guesser.guess(reference.path)
        if guess is not None:
            reference.found = Place(guess, _line_in(workspace, guess, reference))


def _line_in(workspace: Workspace, path: str, reference: Reference) -> int | None:
    """The line that a suggested file should be opened at: the symbol's, else the cited one if it exists."""
    file = workspace.read(path)
    if not isinstance(file, SourceFile) or reference.line is None:
        return None
    if reference.symbol and (line := find_symbol(file, reference.symbol, reference.line, reference.end_line)):
        return line
    return reference.line if 1 <= reference.line <= len(file.lines) else None


def _range_problem(reference: Reference, file: SourceFile) -> str | None:
    line, last, count = reference.line, reference.end_line, len(file.lines)
    if line is None:
        return None
    if line < 1:
        return "lines are counted from 1"
    if last is not None and last < line:
        return f"the range runs backwards from {line} to {last}"
    if max(line, last or 0) > count:
        return f"the file has {count} line{'s' if count != 1 else ''}"
    return None


def _check_symbol(reference: Reference, file: SourceFile) -> None:
    line = find_symbol(file, reference.symbol, reference.line, reference.end_line)
    if line is None:
        reference.outcome, reference.why = "mismatch", f"{reference.symbol} is nowhere in the file"
    elif reference.line is not None and not (
        reference.line - REACH <= line <= (reference.end_line or reference.line) + REACH
    ):
        reference.outcome, reference.found = "relocated", Place(file.path, line)
        reference.why = f"{reference.symbol} stands at line {line}"
